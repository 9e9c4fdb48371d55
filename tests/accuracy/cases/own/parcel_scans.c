/*
 * summary: a doubtful scan is parked for the operator over the one that is still parked there
 * kind: overwritten
 * counts: surplus
 * objects: 2
 * track: own
 * libs: -pthread
 * build: gcc -O0 -g
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES 2
#define SURE 80

struct scan {
    atomic_int refs;
    struct scan *next; /* in a lane's queue */
    char barcode[20];
    unsigned lane;
    unsigned confidence;
    unsigned chute;
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct scan *head, **tail;
    bool closed;
};

struct lane {
    unsigned number;
    pthread_t thread;
    struct queue queue;
    pthread_mutex_t lock; /* of what follows */
    struct scan *latest;  /* for the display */
    struct scan *parked;  /* for the operator */
    unsigned sorted, doubtful;
};

static struct scan *scan_new(unsigned lane, const char *barcode, unsigned confidence)
{
    struct scan *scan = calloc(1, sizeof *scan);
    if (!scan)
        abort();
    atomic_init(&scan->refs, 1);
    snprintf(scan->barcode, sizeof scan->barcode, "%s", barcode);
    scan->lane = lane;
    scan->confidence = confidence;
    return scan;
}

static struct scan *scan_ref(struct scan *scan)
{
    atomic_fetch_add_explicit(&scan->refs, 1, memory_order_relaxed);
    return scan;
}

static void scan_unref(struct scan *scan)
{
    if (scan && atomic_fetch_sub_explicit(&scan->refs, 1, memory_order_acq_rel) == 1)
        free(scan);
}

static void queue_init(struct queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
    queue->head = NULL;
    queue->tail = &queue->head;
    queue->closed = false;
}

/* The queue takes the reference over, also when it is closed. */
static bool queue_push(struct queue *queue, struct scan *scan)
{
    pthread_mutex_lock(&queue->lock);
    bool open = !queue->closed;
    if (open) {
        scan->next = NULL;
        *queue->tail = scan;
        queue->tail = &scan->next;
        pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->lock);
    if (!open)
        scan_unref(scan);
    return open;
}

/* NULL when the queue is closed and empty. */
static struct scan *queue_pop(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->head && !queue->closed)
        pthread_cond_wait(&queue->filled, &queue->lock);
    struct scan *scan = queue->head;
    if (scan) {
        queue->head = scan->next;
        if (!queue->head)
            queue->tail = &queue->head;
        scan->next = NULL;
    }
    pthread_mutex_unlock(&queue->lock);
    return scan;
}

static void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

static void queue_destroy(struct queue *queue)
{
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
}

static unsigned chute_of(const char *barcode)
{
    unsigned sum = 0;
    for (const char *at = barcode; *at; at++)
        sum += (unsigned char) *at;
    return sum % 12 + 1;
}

static void lane_display(struct lane *lane, struct scan *scan)
{
    struct scan *before = lane->latest;
    lane->latest = scan_ref(scan);
    scan_unref(before);
}

static void lane_park(struct lane *lane, struct scan *scan)
{
#ifndef BUG
    scan_unref(lane->parked);
#endif
    lane->parked = scan_ref(scan); /* GUILTY */
    lane->doubtful++;
}

static void lane_handle(struct lane *lane, struct scan *scan)
{
    pthread_mutex_lock(&lane->lock);
    lane_display(lane, scan);
    if (scan->confidence < SURE) {
        lane_park(lane, scan);
    } else {
        scan->chute = chute_of(scan->barcode);
        lane->sorted++;
        if (lane->parked && !strcmp(lane->parked->barcode, scan->barcode)) {
            scan_unref(lane->parked);
            lane->parked = NULL;
        }
    }
    pthread_mutex_unlock(&lane->lock);
}

static void *lane_run(void *data)
{
    struct lane *lane = data;
    struct scan *scan;

    while ((scan = queue_pop(&lane->queue))) {
        lane_handle(lane, scan);
        scan_unref(scan);
    }
    return NULL;
}

static void lane_open(struct lane *lane, unsigned number)
{
    memset(lane, 0, sizeof *lane);
    lane->number = number;
    pthread_mutex_init(&lane->lock, NULL);
    queue_init(&lane->queue);
    if (pthread_create(&lane->thread, NULL, lane_run, lane))
        abort();
}

/* The operator's keyboard: what is parked is keyed in by hand. */
static bool lane_key_in(struct lane *lane, unsigned chute)
{
    pthread_mutex_lock(&lane->lock);
    struct scan *scan = lane->parked;
    lane->parked = NULL;
    pthread_mutex_unlock(&lane->lock);
    if (!scan)
        return false;
    scan->chute = chute;
    printf("lane %u: %s by hand to chute %u\n", lane->number, scan->barcode, scan->chute);
    scan_unref(scan);
    return true;
}

static void lane_close(struct lane *lane)
{
    scan_unref(lane->latest);
    scan_unref(lane->parked);
    lane->latest = lane->parked = NULL;
    queue_destroy(&lane->queue);
    pthread_mutex_destroy(&lane->lock);
}

int main(void)
{
    static const struct { unsigned lane; const char *barcode; unsigned confidence; } camera[] = {
        { 0, "3S00417", 97 }, { 1, "JJD0148", 91 }, { 0, "3S00418", 44 }, { 1, "JJD0150", 99 },
        { 0, "3S00419", 88 }, { 0, "3S00420", 61 }, { 1, "JJD0163", 52 }, { 0, "3S00420", 93 },
        { 1, "JJD0163", 95 }, { 1, "JJD0170", 83 }, { 1, "JJD0171", 12 }, { 0, "3S00433", 85 },
        { 1, "JJD0172", 71 }, { 0, "3S00434", 90 },
    };
    static struct lane lanes[LANES];
    unsigned lost = 0, by_hand = 0;

    for (unsigned i = 0; i < LANES; i++)
        lane_open(&lanes[i], i + 1);
    for (size_t i = 0; i < sizeof camera / sizeof *camera; i++) {
        struct scan *scan = scan_new(camera[i].lane, camera[i].barcode, camera[i].confidence);
        queue_push(&lanes[scan->lane].queue, scan);
    }
    for (unsigned i = 0; i < LANES; i++)
        queue_close(&lanes[i].queue);
    lost += !queue_push(&lanes[0].queue, scan_new(0, "3S00500", 99));
    for (unsigned i = 0; i < LANES; i++)
        pthread_join(lanes[i].thread, NULL);

    for (unsigned i = 0; i < LANES; i++) {
        struct lane *lane = &lanes[i];
        by_hand += lane_key_in(lane, 12);
        printf("lane %u: %u sorted, %u doubtful, last %s\n", lane->number, lane->sorted, lane->doubtful,
               lane->latest ? lane->latest->barcode : "-");
        lane_close(lane);
    }
    printf("%u by hand, %u too late\n", by_hand, lost);
    return 0;
}
