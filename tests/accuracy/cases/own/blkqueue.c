/* summary: a queued block request that is cancelled (superseded by a newer write) never gives back the reference the queue held on it
 * kind: missing-put
 * counts: surplus
 * objects: 16
 * track: own
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * blkqueue - a small block request queue.  Requests are submitted to a plugged queue, a newer write to the same
 * sector supersedes the older one while it is still waiting, and a worker
 * thread carries the rest out once the queue is unplugged.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define noinline __attribute__((noinline))
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

struct kref {
	atomic_int refcount;
};

static void kref_init(struct kref *k)
{
	atomic_init(&k->refcount, 1);
}

static void kref_get(struct kref *k)
{
	int old = atomic_fetch_add_explicit(&k->refcount, 1, memory_order_relaxed);
	assert(old > 0);
	(void)old;
}

static bool kref_put(struct kref *k, void (*release)(struct kref *))
{
	int old = atomic_fetch_sub_explicit(&k->refcount, 1, memory_order_acq_rel);
	assert(old > 0);
	if (old != 1)
		return false;
	release(k);
	return true;
}

#define DISKS       3
#define SECTORS     64
#define SECTOR_SIZE 32

static unsigned char media[DISKS][SECTORS][SECTOR_SIZE];

enum rq_op { RQ_READ, RQ_WRITE };
enum rq_state { RQ_NEW, RQ_QUEUED, RQ_RUNNING, RQ_DONE };

struct request {
	struct request *next, *prev;    /* queue linkage, under queue lock */
	enum rq_op op;
	enum rq_state state;            /* under queue lock */
	int error;
	unsigned disk, sector;
	struct kref kref;
	unsigned char data[SECTOR_SIZE];
};

static noinline struct request *request_new(enum rq_op op, unsigned disk, unsigned sector)
{
	struct request *rq = calloc(1, sizeof(*rq));
	if (!rq)
		abort();
	kref_init(&rq->kref);
	rq->op = op;
	rq->sector = sector;
	rq->disk = disk;
	return rq;
}

static void request_release(struct kref *k)
{
	struct request *rq = container_of(k, struct request, kref);
	assert(!rq->next && !rq->prev);
	free(rq);
}

static noinline struct request *request_get(struct request *rq)
{
	kref_get(&rq->kref);
	return rq;
}

static noinline void request_put(struct request *rq)
{
	if (rq)
		kref_put(&rq->kref, request_release);
}

static struct queue {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct request head;            /* list head only */
	bool plugged, stopping;
	int depth;                      /* queued or running */
} q = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static void unlink_locked(struct request *rq)
{
	rq->prev->next = rq->next;
	rq->next->prev = rq->prev;
	rq->next = rq->prev = NULL;
}

static void finish_locked(struct request *rq, int error)
{
	rq->state = RQ_DONE;
	rq->error = error;
	q.depth--;
	pthread_cond_broadcast(&q.done);
}

static void queue_submit(struct request *rq)
{
	pthread_mutex_lock(&q.lock);
	request_get(rq);                /* ACCEPTED: the queue's own */
	rq->prev = q.head.prev;
	rq->next = &q.head;
	q.head.prev->next = rq;
	q.head.prev = rq;
	rq->state = RQ_QUEUED;
	q.depth++;
	pthread_cond_signal(&q.work);
	pthread_mutex_unlock(&q.lock);
}

/* Take a request off the queue again; false if the worker was faster. */
static bool queue_cancel(struct request *rq)
{
	bool waiting;
	pthread_mutex_lock(&q.lock);
	waiting = rq->state == RQ_QUEUED;
	if (waiting) {
		unlink_locked(rq);
		finish_locked(rq, -ECANCELED);
	}
	pthread_mutex_unlock(&q.lock);
#ifdef BUG
	return waiting;                 /* GUILTY */
#else
	if (waiting)
		request_put(rq);
	return waiting;
#endif
}

static struct request *queue_find_write(unsigned disk, unsigned sector)
{
	struct request *rq, *found = NULL;
	pthread_mutex_lock(&q.lock);
	for (rq = q.head.next; rq != &q.head && !found; rq = rq->next)
		if (rq->op == RQ_WRITE && rq->disk == disk && rq->sector == sector)
			found = request_get(rq);
	pthread_mutex_unlock(&q.lock);
	return found;
}

static void execute(struct request *rq)
{
	unsigned char *where = media[rq->disk][rq->sector];
	if (rq->op == RQ_WRITE)
		memcpy(where, rq->data, SECTOR_SIZE);
	else
		memcpy(rq->data, where, SECTOR_SIZE);
}

static void *worker(void *arg)
{
	pthread_mutex_lock(&q.lock);
	for (;;) {
		while (!q.stopping && (q.plugged || q.head.next == &q.head))
			pthread_cond_wait(&q.work, &q.lock);
		if (q.stopping)
			break;
		struct request *rq = q.head.next;
		unlink_locked(rq);
		rq->state = RQ_RUNNING;
		pthread_mutex_unlock(&q.lock);

		execute(rq);

		pthread_mutex_lock(&q.lock);
		finish_locked(rq, 0);
		pthread_mutex_unlock(&q.lock);
		request_put(rq);
		pthread_mutex_lock(&q.lock);
	}
	pthread_mutex_unlock(&q.lock);
	return arg;
}

static void queue_plug(bool plug)
{
	pthread_mutex_lock(&q.lock);
	q.plugged = plug;
	pthread_cond_broadcast(&q.work);
	while (!plug && q.depth)
		pthread_cond_wait(&q.done, &q.lock);
	pthread_mutex_unlock(&q.lock);
}

#define BATCH 24

static int superseded;

static unsigned rnd(unsigned n)
{
	static unsigned rnd_state = 4711;
	rnd_state = rnd_state * 1103515245u + 12345u;
	return (rnd_state >> 16) % n;
}

static struct request *issue(enum rq_op op, unsigned disk, unsigned sector)
{
	struct request *rq = request_new(op, disk, sector), *old;
	if (op == RQ_WRITE) {
		memset(rq->data, rnd(256), SECTOR_SIZE);
		old = queue_find_write(disk, sector);
		if (old && queue_cancel(old))
			superseded++;
		request_put(old);
	}
	queue_submit(rq);
	return rq;
}

int main(void)
{
	struct request *batch[BATCH];
	pthread_t tid;
	unsigned sum = 0, ok = 0;

	q.head.next = q.head.prev = &q.head;
	for (int d = 0; d < DISKS; d++)
		for (int s = 0; s < SECTORS; s++)
			memset(media[d][s], s * 3 + d, SECTOR_SIZE);
	pthread_create(&tid, NULL, worker, NULL);

	for (int round = 0; round < 12; round++) {
		queue_plug(true);
		for (int i = 0; i < BATCH; i++) {
			unsigned d = rnd(DISKS);
			/* the upper half of each disk is only ever read */
			if (rnd(3) == 0)
				batch[i] = issue(RQ_READ, d, SECTORS / 2 + rnd(SECTORS / 2));
			else
				batch[i] = issue(RQ_WRITE, d, rnd(SECTORS / 2));
		}
		queue_plug(false);
		for (int i = 0; i < BATCH; i++) {
			ok += !batch[i]->error;
			sum = sum * 31 + batch[i]->data[0];
			request_put(batch[i]);
		}
	}

	pthread_mutex_lock(&q.lock);
	q.stopping = true;
	pthread_cond_signal(&q.work);
	pthread_mutex_unlock(&q.lock);
	pthread_join(tid, NULL);
	printf("%u done, %d superseded, checksum %08x\n", ok, superseded, sum);
	return 0;
}
