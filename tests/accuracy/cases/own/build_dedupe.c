/* summary: a job that is withdrawn by its last client leaves the queue but not the index of digests
 * kind: held
 * counts: surplus
 * objects: 3
 * track: own
 * libs: -pthread
 * build: clang -O2 -g
 */

/* The build server's queue. Requests for the same inputs share one job: an index by digest finds the job that is under way.
 * Clients hold a job until they have its result or lose interest. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 16
#define WORKERS 2
#define CLIENTS 12

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_WITHDRAWN };

struct job {
    struct job *next_queued;
    struct job *next_indexed;
    atomic_int refs;
    uint32_t digest;
    enum job_state state;
    int clients;
    int result;
    char target[40];
};

struct client {
    const char *name;
    struct job *job;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static struct job *queue_head, **queue_tail = &queue_head;
static struct job *by_digest[BUCKETS];
static int running, paused = 1, stopping;
static int built, shared, withdrawn;

static uint32_t digest_of(const char *target, const char *flags)
{
    uint32_t h = 2166136261u;

    for (; *target; target++)
        h = (h ^ (unsigned char)*target) * 16777619u;
    for (; *flags; flags++)
        h = (h ^ (unsigned char)*flags) * 16777619u;
    return h;
}

static struct job *job_new(const char *target, uint32_t digest)
{
    struct job *j = calloc(1, sizeof *j);

    if (!j)
        abort();
    atomic_init(&j->refs, 1);
    j->digest = digest;
    j->state = JOB_QUEUED;
    snprintf(j->target, sizeof j->target, "%s", target);
    return j;
}

static struct job *job_get(struct job *j)
{
    atomic_fetch_add_explicit(&j->refs, 1, memory_order_relaxed);
    return j;
}

static void job_put(struct job *j)
{
    if (atomic_fetch_sub_explicit(&j->refs, 1, memory_order_acq_rel) == 1)
        free(j);
}

static struct job *index_find(uint32_t digest)
{
    struct job *j = by_digest[digest % BUCKETS];

    while (j && (j->digest != digest || j->state == JOB_WITHDRAWN))
        j = j->next_indexed;
    return j;
}

static void index_add(struct job *j)
{
    struct job **bucket = &by_digest[j->digest % BUCKETS];

    j->next_indexed = *bucket;
    *bucket = job_get(j);
}

static void index_remove(struct job *j)
{
    struct job **at = &by_digest[j->digest % BUCKETS];

    while (*at && *at != j)
        at = &(*at)->next_indexed;
    if (*at) {
        *at = j->next_indexed;
        j->next_indexed = NULL;
        job_put(j);
    }
}

static void queue_append(struct job *j)
{
    j->next_queued = NULL;
    *queue_tail = job_get(j);
    queue_tail = &j->next_queued;
    pthread_cond_signal(&work);
}

/* The queue's reference goes to the caller. */
static struct job *queue_pop(void)
{
    struct job *j = queue_head;

    queue_head = j->next_queued;
    if (!queue_head)
        queue_tail = &queue_head;
    j->next_queued = NULL;
    return j;
}

static int queue_unlink(struct job *j)
{
    struct job **at = &queue_head;

    while (*at && *at != j)
        at = &(*at)->next_queued;
    if (!*at)
        return -1;
    *at = j->next_queued;
    if (queue_tail == &j->next_queued)
        queue_tail = at;
    j->next_queued = NULL;
    job_put(j);
    return 0;
}

/* Returns a job for the client, who holds it until client_leave(). */
static struct job *request_build(const char *target, const char *flags)
{
    uint32_t digest = digest_of(target, flags);
    struct job *j;

    pthread_mutex_lock(&lock);
    j = index_find(digest);
    if (j) {
        job_get(j);
        shared++;
    } else {
        j = job_new(target, digest);
        index_add(j);
        queue_append(j);
    }
    j->clients++;
    pthread_mutex_unlock(&lock);
    return j;
}

static void client_leave(struct client *c)
{
    struct job *j = c->job;

    if (!j)
        return;
    c->job = NULL;
    pthread_mutex_lock(&lock);
    if (--j->clients == 0 && j->state == JOB_QUEUED && queue_unlink(j) == 0) {  /* ACCEPTED */
        j->state = JOB_WITHDRAWN;                                               /* GUILTY */
#ifndef BUG
        index_remove(j);
#endif
        withdrawn++;
    }
    pthread_mutex_unlock(&lock);
    job_put(j);
}

static int compile(const struct job *j)
{
    int n = 0;

    for (const char *p = j->target; *p; p++)
        n = n * 31 + *p;
    return (int)(((unsigned)n ^ j->digest) & 0xff);
}

static void *worker(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        struct job *j;
        int result;

        while (!stopping && (paused || !queue_head))
            pthread_cond_wait(&work, &lock);
        if (!queue_head)
            break;
        j = queue_pop();
        j->state = JOB_RUNNING;
        running++;
        pthread_mutex_unlock(&lock);

        result = compile(j);

        pthread_mutex_lock(&lock);
        j->result = result;
        j->state = JOB_DONE;
        index_remove(j);
        running--;
        built++;
        if (!running && !queue_head)
            pthread_cond_broadcast(&idle);
        job_put(j);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void run_queue(void)
{
    pthread_mutex_lock(&lock);
    paused = 0;
    pthread_cond_broadcast(&work);
    while (running || queue_head)
        pthread_cond_wait(&idle, &lock);
    paused = 1;
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    static const char *const wanted[CLIENTS][2] = {
        { "libnet.so", "-O2" }, { "libnet.so", "-O2" }, { "libnet.so", "-O0" }, { "frontd", "-O2" },
        { "frontd", "-O2" },    { "docs.html", "" },    { "docs.pdf", "" },     { "ctl", "-O2 -static" },
        { "ctl", "-O2" },       { "libdb.so", "-O3" },  { "libdb.so", "-O3" },  { "tests", "-O1" },
    };
    static const int leaving[] = { 2, 4, 5, 7, 9 };
    struct client clients[CLIENTS];
    pthread_t threads[WORKERS];
    int sum = 0;

    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i].name = wanted[i][0];
        clients[i].job = request_build(wanted[i][0], wanted[i][1]);
    }
    for (size_t i = 0; i < sizeof leaving / sizeof leaving[0]; i++)
        client_leave(&clients[leaving[i]]);
    clients[5].job = request_build("docs.html", "");
    run_queue();
    for (int i = 0; i < CLIENTS; i++) {
        if (clients[i].job)
            sum += clients[i].job->result;
        client_leave(&clients[i]);
    }
    pthread_mutex_lock(&lock);
    stopping = 1;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    printf("%d built, %d shared, %d withdrawn, results %d\n", built, shared, withdrawn, sum);
    return 0;
}
