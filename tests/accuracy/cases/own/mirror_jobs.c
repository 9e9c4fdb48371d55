/* summary: job_start() gives the verifying thread of a big job the job without a hold of its own, which that thread lets go of at its end as the others do
 * kind: missing-get
 * counts: deficit
 * objects: 7
 * track: own
 * build: clang-14 -O2 -g -pthread
 * exit: 0
 */
/*
 * Mirroring of files to two sites. A job is worked on by one thread for each
 * site, and a big one is verified by a third thread meanwhile. Whoever holds
 * a job lets go of it, the last one puts it back into the pool.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITES	2
#define BIG	6000
#define BATCH	4

typedef struct mjob {
	char	mj_name[24];
	size_t	mj_size;
	uint32_t mj_sum[SITES];
	uint32_t mj_verified;
	pthread_t mj_thread[SITES + 1];
	int	mj_nthreads;
	pthread_mutex_t mj_lock;
	int	mj_holds;
	struct mjob *mj_free;
} mjob_t;

typedef struct {
	mjob_t	*job;
	int	site;
} ticket_t;

static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t stats_bytes;
static int stats_verified;

static mjob_t pool[BATCH * 2];
static mjob_t *pool_free;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static void
pool_put(mjob_t *mj)
{
	(void) pthread_mutex_lock(&pool_lock);
	mj->mj_free = pool_free;
	pool_free = mj;
	(void) pthread_mutex_unlock(&pool_lock);
}

__attribute__((noinline)) static mjob_t *
mjob_alloc(int n)
{
	mjob_t *mj;

	(void) pthread_mutex_lock(&pool_lock);
	if ((mj = pool_free) == NULL)
		abort();
	pool_free = mj->mj_free;
	(void) pthread_mutex_unlock(&pool_lock);
	(void) memset(mj, 0, sizeof (*mj));
	(void) snprintf(mj->mj_name, sizeof (mj->mj_name), "vol0/file%03d", n);
	mj->mj_size = 1000 + (size_t)n * 977 % 7000;
	(void) pthread_mutex_init(&mj->mj_lock, NULL);
	mj->mj_holds = 1;
	return (mj);
}

__attribute__((noinline)) static void
mjob_hold(mjob_t *mj)
{
	(void) pthread_mutex_lock(&mj->mj_lock);
	mj->mj_holds++;
	(void) pthread_mutex_unlock(&mj->mj_lock);
}

__attribute__((noinline)) static void
mjob_rele(mjob_t *mj)
{
	int left;

	(void) pthread_mutex_lock(&mj->mj_lock);
	left = --mj->mj_holds;
	(void) pthread_mutex_unlock(&mj->mj_lock);
	if (left == 0)
		pool_put(mj);
}

static uint32_t
checksum(const mjob_t *mj)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < mj->mj_size; i++) {
		a = (a + (uint8_t)(i * 31 + (size_t)mj->mj_name[11])) % 65521;
		b = (b + a) % 65521;
	}
	return (b << 16 | a);
}

static void *
mirror_thread(void *arg)
{
	ticket_t *t = arg;
	mjob_t *mj = t->job;

	mj->mj_sum[t->site] = checksum(mj);
	(void) pthread_mutex_lock(&stats_lock);
	stats_bytes += mj->mj_size;
	(void) pthread_mutex_unlock(&stats_lock);
	mjob_rele(mj);
	free(t);
	return (NULL);
}

static void *
verify_thread(void *arg)
{
	mjob_t *mj = arg;

	mj->mj_verified = checksum(mj);
	(void) pthread_mutex_lock(&stats_lock);
	stats_verified++;
	(void) pthread_mutex_unlock(&stats_lock);
	mjob_rele(mj);			/* ACCEPTED */
	return (NULL);
}

static void
job_spawn(mjob_t *mj, void *(*func)(void *), void *arg)
{
	if (pthread_create(&mj->mj_thread[mj->mj_nthreads], NULL, func, arg) != 0)
		abort();
	mj->mj_nthreads++;
}

static void
job_start(mjob_t *mj)
{
	for (int site = 0; site < SITES; site++) {
		ticket_t *t = malloc(sizeof (*t));

		if (t == NULL)
			abort();
		mjob_hold(mj);
		t->job = mj;
		t->site = site;
		job_spawn(mj, mirror_thread, t);
	}
	if (mj->mj_size < BIG)
		return;
#ifndef BUG
	mjob_hold(mj);
#endif
	job_spawn(mj, verify_thread, mj);	/* GUILTY */
}

/* Waits for the threads; the caller's hold is over then. */
static int
job_finish(mjob_t *mj)
{
	pthread_t thread[SITES + 1];
	int n = mj->mj_nthreads, equal;

	memcpy(thread, mj->mj_thread, sizeof (thread));
	for (int i = 0; i < n; i++)
		(void) pthread_join(thread[i], NULL);
	equal = mj->mj_sum[0] == mj->mj_sum[1];
	mjob_rele(mj);
	return (equal);
}

int
main(void)
{
	mjob_t *batch[BATCH];
	int equal = 0;

	for (size_t i = 0; i < BATCH * 2; i++)
		pool_put(&pool[i]);
	for (int round = 0; round < 7; round++) {
		for (int i = 0; i < BATCH; i++)
			batch[i] = mjob_alloc(round * BATCH + i);
		for (int i = 0; i < BATCH; i++)
			job_start(batch[i]);
		for (int i = 0; i < BATCH; i++)
			equal += job_finish(batch[i]);
	}
	printf("%zu bytes mirrored, %d verified\n", stats_bytes, stats_verified);
	return (equal > 7 * BATCH);
}
