/*
 * summary: a worker that queues a job for one more run gives its own reference to the queue and then puts it as well
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: own
 * build: gcc -O2 -g -pthread
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ventilation of a road tunnel. Commands to the jet fans are jobs: workers take them from a queue, talk to the fan, and
   repeat what a fan has not confirmed. The control room keeps all jobs of the shift for its log. */

#define FANS 5
#define MOST_JOBS 16
#define WORKERS 2

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_FAILED };

struct fan {
    pthread_mutex_t lock;
    int speed;
    int stubborn; /* so many commands it does not confirm */
    int commands;
};

struct fan_job {
    struct fan_job *next; /* in the queue */
    long number;
    char purpose[24];
    struct fan *fan;
    int target;
    int attempts;
    int most_attempts;
    enum job_state state;
    atomic_uint holders;
};

struct job_queue {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    pthread_cond_t idle;
    struct fan_job *head;
    struct fan_job **tail;
    int open; /* queued or running */
    bool closed;
};

struct control_room {
    struct fan fans[FANS];
    struct job_queue queue;
    struct fan_job *shift[MOST_JOBS];
    int jobs;
    pthread_t workers[WORKERS];
};

static atomic_int jobs_destroyed;

static struct fan_job *fan_job_new(long number, const char *purpose, struct fan *fan, int target, int most_attempts)
{
    struct fan_job *job = calloc(1, sizeof *job);

    if (job == NULL)
        abort();
    job->number = number;
    strncpy(job->purpose, purpose, sizeof job->purpose - 1);
    job->fan = fan;
    job->target = target;
    job->most_attempts = most_attempts;
    atomic_init(&job->holders, 1);
    return job;
}

static struct fan_job *fan_job_hold(struct fan_job *job)
{
    atomic_fetch_add_explicit(&job->holders, 1, memory_order_relaxed);
    return job;
}

static void fan_job_drop(struct fan_job *job)
{
    if (atomic_fetch_sub_explicit(&job->holders, 1, memory_order_acq_rel) != 1)
        return;
    atomic_fetch_add(&jobs_destroyed, 1);
    free(job);
}

static void queue_init(struct job_queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->arrived, NULL);
    pthread_cond_init(&queue->idle, NULL);
    queue->head = NULL;
    queue->tail = &queue->head;
    queue->open = 0;
    queue->closed = false;
}

/* Takes over the caller's reference. False: the queue is closed, and the reference is still the caller's. */
static bool queue_push(struct job_queue *queue, struct fan_job *job)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->closed) {
        pthread_mutex_unlock(&queue->lock);
        return false;
    }
    job->next = NULL;
    job->state = JOB_QUEUED;
    *queue->tail = job;
    queue->tail = &job->next;
    queue->open++;
    pthread_cond_signal(&queue->arrived);
    pthread_mutex_unlock(&queue->lock);
    return true;
}

/* Waits for a job and gives its reference to the caller; NULL when the queue is closed and empty. */
static struct fan_job *queue_pop(struct job_queue *queue)
{
    struct fan_job *job;

    pthread_mutex_lock(&queue->lock);
    while (queue->head == NULL && !queue->closed)
        pthread_cond_wait(&queue->arrived, &queue->lock);
    job = queue->head;
    if (job != NULL) {
        queue->head = job->next;
        if (queue->head == NULL)
            queue->tail = &queue->head;
    }
    pthread_mutex_unlock(&queue->lock);
    return job;
}

static void queue_finished(struct job_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    if (--queue->open == 0)
        pthread_cond_broadcast(&queue->idle);
    pthread_mutex_unlock(&queue->lock);
}

static void queue_wait_idle(struct job_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->open > 0)
        pthread_cond_wait(&queue->idle, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

static void queue_close(struct job_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->arrived);
    pthread_mutex_unlock(&queue->lock);
}

/* Sends the command; true when the fan has confirmed it. */
static bool fan_command(struct fan *fan, int target)
{
    bool confirmed = true;

    pthread_mutex_lock(&fan->lock);
    fan->commands++;
    if (fan->stubborn > 0) {
        fan->stubborn--;
        confirmed = false;
    } else {
        fan->speed = target;
    }
    pthread_mutex_unlock(&fan->lock);
    return confirmed;
}

static void *worker_main(void *argument)
{
    struct control_room *room = argument;
    struct fan_job *job;

    while ((job = queue_pop(&room->queue)) != NULL) {
        job->state = JOB_RUNNING;
        job->attempts++;
        if (fan_command(job->fan, job->target)) {
            job->state = JOB_DONE;
        } else if (job->attempts >= job->most_attempts) {
            job->state = JOB_FAILED;
        } else {
#ifndef BUG
            fan_job_hold(job);
#endif
            if (!queue_push(&room->queue, job)) { /* GUILTY */
                job->state = JOB_FAILED;
                fan_job_drop(job);
            }
        }
        fan_job_drop(job); /* ACCEPTED */
        queue_finished(&room->queue);
    }
    return NULL;
}

static void room_open(struct control_room *room)
{
    memset(room, 0, sizeof *room);
    queue_init(&room->queue);
    for (int i = 0; i < FANS; i++)
        pthread_mutex_init(&room->fans[i].lock, NULL);
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&room->workers[i], NULL, worker_main, room) != 0)
            abort();
}

static struct fan_job *room_order(struct control_room *room, const char *purpose, int fan, int target, int most_attempts)
{
    struct fan_job *job;

    if (room->jobs == MOST_JOBS)
        return NULL;
    job = fan_job_new(room->jobs + 1, purpose, &room->fans[fan], target, most_attempts);
    if (!queue_push(&room->queue, fan_job_hold(job))) {
        fprintf(stderr, "job %ld comes too late\n", job->number);
        fan_job_drop(job);
        fan_job_drop(job);
        return NULL;
    }
    room->shift[room->jobs++] = job;
    return job;
}

static void room_print(struct control_room *room)
{
    static const char *const states[] = {"queued", "running", "done", "failed"};

    for (int i = 0; i < room->jobs; i++) {
        const struct fan_job *job = room->shift[i];

        printf("%-12s fan %d to %4d: %s after %d\n", job->purpose, (int)(job->fan - room->fans), job->target,
               states[job->state], job->attempts);
    }
}

static void room_close(struct control_room *room)
{
    queue_close(&room->queue);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(room->workers[i], NULL);
    for (int i = 0; i < room->jobs; i++)
        fan_job_drop(room->shift[i]);
    room->jobs = 0;
    for (int i = 0; i < FANS; i++)
        pthread_mutex_destroy(&room->fans[i].lock);
    pthread_cond_destroy(&room->queue.idle);
    pthread_cond_destroy(&room->queue.arrived);
    pthread_mutex_destroy(&room->queue.lock);
}

int main(void)
{
    static struct control_room room;

    room_open(&room);
    room_order(&room, "morning", 0, 30, 2);
    room_order(&room, "morning", 3, 30, 2);
    queue_wait_idle(&room.queue);

    room.fans[4].stubborn = 1;
    for (int fan = 0; fan < FANS; fan++)
        room_order(&room, "smoke", fan, fan < 2 ? -100 : 100, 3);
    queue_wait_idle(&room.queue);

    room.fans[1].stubborn = 1;
    room_order(&room, "test run", 1, 10, 1);
    room_order(&room, "standstill", 2, 0, 2);
    queue_wait_idle(&room.queue);

    room_print(&room);
    room_close(&room);
    printf("%d jobs\n", atomic_load(&jobs_destroyed));
    return 0;
}
