/* summary: the caller puts a fence that the failed job_add_dependency() has already consumed
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * libs: -pthread
 * build: gcc -O3 -g
 */
/* Job scheduler of an accelerator: jobs wait for fences of other timelines and signal their own when they are done. One thread
 * for each ring carries out the jobs in order. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPS 3
#define MAX_SYNCOBJS 16
#define NR_RINGS 2

struct fence {
	pthread_mutex_t lock;
	pthread_cond_t signal;
	bool signaled;
	int error;
	uint32_t context, seqno;
	atomic_int refs;
};

struct job {
	struct job *next;
	uint32_t work;
	struct fence *done;
	struct fence *deps[MAX_DEPS];
	unsigned nr_deps;
};

struct ring {
	uint32_t context, seqno;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job *head, **tail;
	bool stopping;
	unsigned jobs_done;
	uint32_t checksum;
};

/* named places for fences, as user space sees them */
struct syncobjs {
	struct fence *fences[MAX_SYNCOBJS];
};

static struct fence *fence_create(uint32_t context, uint32_t seqno)
{
	struct fence *fence = calloc(1, sizeof(*fence));

	if (!fence)
		return NULL;
	pthread_mutex_init(&fence->lock, NULL);
	pthread_cond_init(&fence->signal, NULL);
	fence->context = context;
	fence->seqno = seqno;
	atomic_init(&fence->refs, 1);
	return fence;
}

static inline struct fence *fence_get(struct fence *fence)
{
	if (fence)
		atomic_fetch_add_explicit(&fence->refs, 1, memory_order_relaxed);
	return fence;
}

static inline void fence_put(struct fence *fence)
{
	if (fence && atomic_fetch_sub_explicit(&fence->refs, 1, memory_order_acq_rel) == 1)
		free(fence);
}

static void fence_signal(struct fence *fence, int error)
{
	pthread_mutex_lock(&fence->lock);
	fence->signaled = true;
	fence->error = error;
	pthread_cond_broadcast(&fence->signal);
	pthread_mutex_unlock(&fence->lock);
}

static int fence_wait(struct fence *fence)
{
	int error;

	pthread_mutex_lock(&fence->lock);
	while (!fence->signaled)
		pthread_cond_wait(&fence->signal, &fence->lock);
	error = fence->error;
	pthread_mutex_unlock(&fence->lock);
	return error;
}

static struct fence *syncobj_fence(struct syncobjs *objs, unsigned handle)
{
	return handle < MAX_SYNCOBJS ? fence_get(objs->fences[handle]) : NULL;
}

static void syncobj_replace(struct syncobjs *objs, unsigned handle, struct fence *fence)
{
	struct fence *old = objs->fences[handle];

	objs->fences[handle] = fence_get(fence);
	fence_put(old);
}

static struct job *job_create(struct ring *ring, uint32_t work)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->work = work;
	job->done = fence_create(ring->context, 0);
	if (!job->done) {
		free(job);
		return NULL;
	}
	return job;
}

static void job_free(struct job *job)
{
	for (unsigned i = 0; i < job->nr_deps; i++)
		fence_put(job->deps[i]);
	fence_put(job->done);
	free(job);
}

/* the reference to the fence goes to the job */
static int job_add_dependency(struct job *job, struct fence *fence)
{
	for (unsigned i = 0; i < job->nr_deps; i++) {
		if (job->deps[i] == fence) {
			fence_put(fence);
			return 0;
		}
	}
	if (job->nr_deps == MAX_DEPS) {
		fence_put(fence);
		return -E2BIG;
	}
	job->deps[job->nr_deps++] = fence;
	return 0;
}

static void ring_push(struct ring *ring, struct job *job)
{
	pthread_mutex_lock(&ring->lock);
	job->done->seqno = ++ring->seqno;
	*ring->tail = job;
	ring->tail = &job->next;
	pthread_cond_signal(&ring->wake);
	pthread_mutex_unlock(&ring->lock);
}

static void ring_run(struct ring *ring, struct job *job)
{
	int error = 0;

	for (unsigned i = 0; i < job->nr_deps; i++)
		if (fence_wait(job->deps[i]) != 0)
			error = -ECANCELED;
	if (!error)
		ring->checksum = ring->checksum * 31 + job->work;
	ring->jobs_done++;
	fence_signal(job->done, job->work ? error : -EIO);
	job_free(job);
}

static void *ring_main(void *arg)
{
	struct ring *ring = arg;

	pthread_mutex_lock(&ring->lock);
	for (;;) {
		struct job *job;

		while (!ring->head && !ring->stopping)
			pthread_cond_wait(&ring->wake, &ring->lock);
		job = ring->head;
		if (!job)
			break;
		ring->head = job->next;
		if (!ring->head)
			ring->tail = &ring->head;
		pthread_mutex_unlock(&ring->lock);
		ring_run(ring, job);
		pthread_mutex_lock(&ring->lock);
	}
	pthread_mutex_unlock(&ring->lock);
	return NULL;
}

static void ring_stop(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->stopping = true;
	pthread_cond_signal(&ring->wake);
	pthread_mutex_unlock(&ring->lock);
	pthread_join(ring->thread, NULL);
}

struct request {
	unsigned ring, work, signal;
	unsigned waits[5];
	unsigned nr_waits;
};

static int submit(struct ring *rings, struct syncobjs *objs, const struct request *request)
{
	struct ring *ring = &rings[request->ring];
	struct job *job = job_create(ring, request->work);
	int err;

	if (!job)
		return -ENOMEM;
	for (unsigned i = 0; i < request->nr_waits; i++) {
		struct fence *fence = syncobj_fence(objs, request->waits[i]);

		if (!fence) {
			err = -ENOENT;
			goto fail;
		}
		err = job_add_dependency(job, fence);
		if (err) {
#ifdef BUG
			fence_put(fence); /* GUILTY */
#endif
			goto fail;
		}
	}
	syncobj_replace(objs, request->signal, job->done);
	ring_push(ring, job);
	return 0;

fail:
	job_free(job);
	return err;
}

int main(void)
{
	static const struct request requests[] = {
		{ 0, 11, 0, { 0 }, 0 },          { 1, 12, 1, { 0 }, 1 },       { 0, 13, 2, { 0, 1 }, 2 },
		{ 1, 14, 3, { 2, 2 }, 2 },       { 0, 0, 4, { 3 }, 1 },        { 1, 15, 5, { 4, 0 }, 2 },
		{ 0, 16, 6, { 1, 2, 3 }, 3 },    { 1, 17, 7, { 9 }, 1 },       { 1, 18, 1, { 6, 1 }, 2 },
		{ 0, 19, 8, { 0, 1, 2, 3 }, 4 }, { 1, 20, 8, { 6, 5, 6, 2, 4 }, 5 },
	};
	static struct syncobjs objs;
	struct ring rings[NR_RINGS];

	setvbuf(stdout, NULL, _IONBF, 0);
	memset(rings, 0, sizeof(rings));
	for (uint32_t i = 0; i < NR_RINGS; i++) {
		rings[i].context = 100 + i;
		rings[i].tail = &rings[i].head;
		pthread_mutex_init(&rings[i].lock, NULL);
		pthread_cond_init(&rings[i].wake, NULL);
		pthread_create(&rings[i].thread, NULL, ring_main, &rings[i]);
	}
	for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		int err = submit(rings, &objs, &requests[i]);

		if (err)
			printf("request %u: error %d\n", i, -err);
	}
	for (int i = 0; i < NR_RINGS; i++) {
		ring_stop(&rings[i]);
		printf("ring %d: %u jobs, checksum %08x\n", i, rings[i].jobs_done, rings[i].checksum);
	}
	for (unsigned handle = 0; handle < MAX_SYNCOBJS; handle++)
		syncobj_replace(&objs, handle, NULL);
	return 0;
}
