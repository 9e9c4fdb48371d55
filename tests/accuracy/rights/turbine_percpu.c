/* summary: turbines counted in a slot for each thread: slots go below zero, their sum is the count, and only after the kill is there one counter
 * track: own
 * build: clang -O2 -g -pthread turbine_percpu.c -o OUT
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, TURBINES = 4, ROUNDS = 150, BELT = 32 };

/* While it is alive a reference is a plus in the slot of whoever took it and a minus in that of whoever gave it back.
   turbine_kill gives back the first reference, and moves the slots to `total`. */
struct turbine {
	struct {
		_Alignas(64) atomic_long count;
	} slot[THREADS + 1];
	atomic_long total;
	atomic_bool dying;
	int number;
	atomic_long turns;
	void (*stopped)(struct turbine *);
};

static atomic_int stopped_turbines;
static __thread int me;                                  /* 0 is main */

/* A section in which `dying` may not change its meaning: what RCU does in the kernel. */
static atomic_int in_section[THREADS + 1];

static inline void section_begin(void)
{
	atomic_store(&in_section[me], 1);
}

static inline void section_end(void)
{
	atomic_store_explicit(&in_section[me], 0, memory_order_release);
}

static void wait_for_sections(void)
{
	for (int i = 0; i <= THREADS; i++)
		while (atomic_load(&in_section[i]))
			sched_yield();
}

#define BIAS (1L << 40)

__attribute__((noinline)) struct turbine *turbine_new(int number, void (*stopped)(struct turbine *))
{
	struct turbine *turbine = aligned_alloc(64, (sizeof *turbine + 63) & ~63ul);
	if (!turbine)
		abort();
	for (int i = 0; i <= THREADS; i++)
		atomic_init(&turbine->slot[i].count, 0);
	atomic_init(&turbine->total, 1 + BIAS);          /* the bias keeps it from zero until the slots are in */
	atomic_init(&turbine->dying, false);
	atomic_init(&turbine->turns, 0);
	turbine->number = number;
	turbine->stopped = stopped;
	return turbine;
}

__attribute__((noinline)) void turbine_get(struct turbine *turbine)
{
	section_begin();
	if (!atomic_load(&turbine->dying))
		atomic_fetch_add_explicit(&turbine->slot[me].count, 1, memory_order_relaxed);
	else
		atomic_fetch_add(&turbine->total, 1);
	section_end();
}

/* None any more once it was killed, though others may still have theirs. */
__attribute__((noinline)) bool turbine_tryget_live(struct turbine *turbine)
{
	bool live;
	section_begin();
	live = !atomic_load(&turbine->dying);
	if (live)
		atomic_fetch_add_explicit(&turbine->slot[me].count, 1, memory_order_relaxed);
	section_end();
	return live;
}

__attribute__((noinline)) void turbine_put(struct turbine *turbine)
{
	bool last = false;
	section_begin();
	if (!atomic_load(&turbine->dying))
		atomic_fetch_sub_explicit(&turbine->slot[me].count, 1, memory_order_release);
	else
		last = atomic_fetch_sub(&turbine->total, 1) == 1;
	section_end();
	if (last)
		turbine->stopped(turbine);
}

/* The caller's reference is the first one; it is put when the slots are summed up. */
static void turbine_kill(struct turbine *turbine)
{
	long sum = 0;
	atomic_store(&turbine->dying, true);
	wait_for_sections();
	for (int i = 0; i <= THREADS; i++)
		sum += atomic_load(&turbine->slot[i].count);
	atomic_fetch_add(&turbine->total, sum - BIAS);
	turbine_put(turbine);
}

static void turbine_free(struct turbine *turbine)
{
	atomic_fetch_add(&stopped_turbines, 1);
	free(turbine);
}

/* The belt: references go from one thread to the next, so that one's slot only grows and the other's only falls. */
struct belt {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct turbine *items[BELT];
	unsigned head, tail;
	bool closed;
};

static struct belt belts[THREADS];

static void belt_push(struct belt *belt, struct turbine *turbine)
{
	pthread_mutex_lock(&belt->lock);
	while (belt->tail - belt->head == BELT)
		pthread_cond_wait(&belt->changed, &belt->lock);
	belt->items[belt->tail++ % BELT] = turbine;
	pthread_cond_broadcast(&belt->changed);
	pthread_mutex_unlock(&belt->lock);
}

static struct turbine *belt_pop(struct belt *belt)
{
	struct turbine *turbine = NULL;
	pthread_mutex_lock(&belt->lock);
	while (belt->head == belt->tail && !belt->closed)
		pthread_cond_wait(&belt->changed, &belt->lock);
	if (belt->head != belt->tail)
		turbine = belt->items[belt->head++ % BELT];
	pthread_cond_broadcast(&belt->changed);
	pthread_mutex_unlock(&belt->lock);
	return turbine;
}

static void belt_close(struct belt *belt)
{
	pthread_mutex_lock(&belt->lock);
	belt->closed = true;
	pthread_cond_broadcast(&belt->changed);
	pthread_mutex_unlock(&belt->lock);
}

static void *station(void *data)
{
	me = (int)(long)data + 1;
	struct belt *mine = &belts[me - 1];
	struct belt *next = me < THREADS ? &belts[me] : NULL;
	struct turbine *turbine;
	while ((turbine = belt_pop(mine))) {
		atomic_fetch_add(&turbine->turns, 1);
		if (next)
			belt_push(next, turbine);                /* the reference goes along */
		else
			turbine_put(turbine);
	}
	if (next)
		belt_close(next);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct turbine *turbines[TURBINES];
	long refused = 0;
	for (int i = 0; i < THREADS; i++) {
		pthread_mutex_init(&belts[i].lock, NULL);
		pthread_cond_init(&belts[i].changed, NULL);
	}
	for (int i = 0; i < TURBINES; i++)
		turbines[i] = turbine_new(i, turbine_free);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, station, (void *)i);

	struct turbine *spare = turbines[0];
	turbine_get(spare);                                      /* so that it can be asked when it is dying */
	for (int round = 0; round < ROUNDS; round++) {
		struct turbine *turbine = turbines[round % TURBINES];
		turbine_get(turbine);
		belt_push(&belts[0], turbine);
	}
	/* Killed while references are on the belts. */
	for (int i = 0; i < TURBINES; i++)
		turbine_kill(turbines[i]);
	for (int i = 0; i < 3; i++)
		if (turbine_tryget_live(spare))
			turbine_put(spare);
		else
			refused++;
	turbine_get(spare);                                      /* a get is allowed to whoever has one */
	belt_push(&belts[0], spare);
	belt_close(&belts[0]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("turbine %d: %ld turns, %ld refusals\n", spare->number, atomic_load(&spare->turns), refused);
	turbine_put(spare);
	for (int i = 0; i < THREADS; i++) {
		pthread_mutex_destroy(&belts[i].lock);
		pthread_cond_destroy(&belts[i].changed);
	}
	return atomic_load(&stopped_turbines) != TURBINES || refused != 3;
}
