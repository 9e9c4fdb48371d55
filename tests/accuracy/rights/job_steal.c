/* summary: work stealing between growing rings of pointers, free lists per thread with objects freed by others, references on other threads' stacks, the process ends while workers run
 * track: own
 * build: gcc -O2 -g -o OUT job_steal.c -pthread
 */
/*
 * job_steal: a work-stealing job system.
 *
 * Jobs are counted.  A reference is held by each of: the deque a job waits
 * in, its unfinished children (to the parent), whoever waits for it, and the
 * worker that runs it.  Workers recycle jobs on lists of their own; the
 * process leaves without stopping the workers, as many programs do.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_WORKERS 3
#define DEQUE_INITIAL 8
#define FREE_MAX 32

struct job;
typedef void job_fn(struct job *job, void *arg);

struct job {
	atomic_int refs;
	atomic_int unfinished;		/* itself and its children */
	struct job *parent;		/* counted; free list link when dead */
	job_fn *fn;
	union {
		char bytes[48];
		void *ptr;
	} arg;
};

struct deque {				/* a growing ring of job pointers */
	pthread_mutex_t lock;
	struct job **ring;
	unsigned size, head, tail;
};

struct worker {
	pthread_t thread;
	struct deque deque;
	struct job *free;		/* touched by its own thread only */
	int n_free;
	unsigned seed;
};

static struct worker workers[N_WORKERS + 1];	/* the last is the main thread */
static _Thread_local struct worker *self;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle_cond = PTHREAD_COND_INITIALIZER;
static atomic_int queued;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;

/* ---- jobs ---------------------------------------------------------------- */

static inline struct job *
job_get(struct job *job)
{
	atomic_fetch_add_explicit(&job->refs, 1, memory_order_relaxed);
	return job;
}

static void
job_put(struct job *job)
{
	while (job != NULL && atomic_fetch_sub_explicit(&job->refs, 1, memory_order_release) == 1) {
		struct job *parent = job->parent;

		atomic_thread_fence(memory_order_acquire);
		if (self->n_free < FREE_MAX) {
			job->parent = self->free;
			self->free = job;
			self->n_free++;
		} else {
			free(job);
		}
		job = parent;		/* the reference it held */
	}
}

static struct job *
job_create(job_fn *fn, struct job *parent, const void *arg, size_t size)
{
	struct job *job = self->free;

	if (job != NULL) {
		self->free = job->parent;
		self->n_free--;
	} else if ((job = malloc(sizeof *job)) == NULL) {
		abort();
	}
	atomic_init(&job->refs, 1);
	atomic_init(&job->unfinished, 1);
	job->fn = fn;
	job->parent = parent ? job_get(parent) : NULL;
	if (parent)
		atomic_fetch_add(&parent->unfinished, 1);
	if (size > sizeof job->arg.bytes)
		abort();
	memcpy(job->arg.bytes, arg, size);
	return job;
}

/* ---- deques --------------------------------------------------------------- */

static void
deque_push(struct deque *deque, struct job *job)
{
	pthread_mutex_lock(&deque->lock);
	if (deque->tail - deque->head == deque->size) {
		unsigned old = deque->size, new = old ? old * 2 : DEQUE_INITIAL;
		struct job **ring = realloc(deque->ring, new * sizeof *ring);

		if (ring == NULL)
			abort();
		/* unroll what wrapped around */
		for (unsigned i = 0; i < old; i++)
			if ((deque->head + i) % new != (deque->head + i) % old)
				ring[(deque->head + i) % new] = ring[(deque->head + i) % old];
		deque->ring = ring;
		deque->size = new;
	}
	deque->ring[deque->tail++ % deque->size] = job;
	pthread_mutex_unlock(&deque->lock);

	atomic_fetch_add(&queued, 1);
	pthread_mutex_lock(&idle_lock);
	pthread_cond_signal(&idle_cond);
	pthread_mutex_unlock(&idle_lock);
}

static struct job *
deque_take(struct deque *deque, int own)
{
	struct job *job = NULL;

	pthread_mutex_lock(&deque->lock);
	if (deque->tail != deque->head)
		job = own ? deque->ring[--deque->tail % deque->size] : deque->ring[deque->head++ % deque->size];
	pthread_mutex_unlock(&deque->lock);
	if (job != NULL)
		atomic_fetch_sub(&queued, 1);
	return job;
}

/* Takes over the caller's reference. */
static void
job_submit(struct job *job)
{
	deque_push(&self->deque, job);
}

static struct job *
find_work(void)
{
	struct job *job = deque_take(&self->deque, 1);

	for (int i = 0; job == NULL && i < 2 * (N_WORKERS + 1); i++) {
		struct worker *victim = &workers[rand_r(&self->seed) % (N_WORKERS + 1)];

		if (victim != self)
			job = deque_take(&victim->deque, 0);
	}
	return job;
}

static void
job_finish(struct job *job)
{
	while (job != NULL && atomic_fetch_sub(&job->unfinished, 1) == 1) {
		if (job->parent == NULL) {
			pthread_mutex_lock(&done_lock);
			pthread_cond_broadcast(&done_cond);
			pthread_mutex_unlock(&done_lock);
		}
		job = job->parent;
	}
}

static void
run_job(struct job *job)
{
	job->fn(job, job->arg.bytes);
	job_finish(job);
	job_put(job);
}

static void *
worker_main(void *arg)
{
	self = arg;
	for (;;) {
		struct job *job = find_work();

		if (job != NULL) {
			run_job(job);
			continue;
		}
		pthread_mutex_lock(&idle_lock);
		while (atomic_load(&queued) <= 0)
			pthread_cond_wait(&idle_cond, &idle_lock);
		pthread_mutex_unlock(&idle_lock);
	}
	return NULL;
}

/* Helps until the job and all below it are through, then drops it. */
static void
job_wait(struct job *job)
{
	while (atomic_load(&job->unfinished) > 0) {
		struct job *other = find_work();

		if (other != NULL) {
			run_job(other);
			continue;
		}
		pthread_mutex_lock(&done_lock);
		if (atomic_load(&job->unfinished) > 0 && atomic_load(&queued) <= 0 && job->parent == NULL)
			pthread_cond_wait(&done_cond, &done_lock);
		pthread_mutex_unlock(&done_lock);
	}
	job_put(job);
}

/* ---- things to do ---------------------------------------------------------- */

struct image {
	int width, height;
	unsigned char *pixels;
	atomic_long sum;
};

struct rows {
	struct image *image;
	int from, to;
};

static void
shade_rows(struct job *job, void *arg)
{
	struct rows rows = *(struct rows *)arg;
	long sum = 0;

	if (rows.to - rows.from > 4) {		/* split, as children of this one */
		struct rows lower = { rows.image, rows.from, (rows.from + rows.to) / 2 };
		struct rows upper = { rows.image, lower.to, rows.to };

		job_submit(job_create(shade_rows, job, &lower, sizeof lower));
		job_submit(job_create(shade_rows, job, &upper, sizeof upper));
		return;
	}
	for (int y = rows.from; y < rows.to; y++)
		for (int x = 0; x < rows.image->width; x++) {
			unsigned char *p = &rows.image->pixels[y * rows.image->width + x];

			*p = (unsigned char)(*p * 3 + x * y);
			sum += *p;
		}
	atomic_fetch_add(&rows.image->sum, sum);
}

static void
fib(struct job *job, void *arg)
{
	struct { long n; long *out; } in, sub[2];
	long value[2];
	struct job *children[2];

	memcpy(&in, arg, sizeof in);
	if (in.n < 2) {
		*in.out = in.n;
		return;
	}
	for (int i = 0; i < 2; i++) {
		sub[i].n = in.n - 1 - i;
		sub[i].out = &value[i];
		children[i] = job_create(fib, job, &sub[i], sizeof sub[i]);
		job_submit(job_get(children[i]));	/* one for the deque, one for us */
	}
	for (int i = 0; i < 2; i++)
		job_wait(children[i]);
	*in.out = value[0] + value[1];
}

static void
heartbeat(struct job *job, void *arg)
{
	usleep(200);
	job_submit(job_create(heartbeat, NULL, arg, 0));	/* for ever */
}

int
main(void)
{
	struct { long n; long *out; } ask;
	long result = 0;
	struct image image = { 64, 96, calloc(64, 96), 0 };

	for (int i = 0; i <= N_WORKERS; i++) {
		pthread_mutex_init(&workers[i].deque.lock, NULL);
		workers[i].seed = 17u * (unsigned)i + 1;
	}
	self = &workers[N_WORKERS];
	for (int i = 0; i < N_WORKERS; i++)
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			return 1;

	job_submit(job_create(heartbeat, NULL, "", 0));
	for (int frame = 0; frame < 4; frame++) {
		struct rows all = { &image, 0, image.height };
		struct job *root = job_create(shade_rows, NULL, &all, sizeof all);

		job_submit(job_get(root));
		job_wait(root);
		printf("frame %d: %ld\n", frame, atomic_exchange(&image.sum, 0));
	}
	ask.n = 13;
	ask.out = &result;
	struct job *root = job_create(fib, NULL, &ask, sizeof ask);
	job_submit(job_get(root));
	job_wait(root);
	printf("fib(13) = %ld\n", result);
	free(image.pixels);
	return 0;		/* the workers and the heartbeat go with the process */
}
