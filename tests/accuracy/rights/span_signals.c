/* summary: gets inside a signal handler that runs on an alternate stack and interrupts anything, also gets and puts; references handed to a thread as the value of a queued signal, whose handler puts them (the last put there only lists the span as dead); single-producer rings; parents die in a loop
 * track: own
 * build: gcc -O1 -g -o OUT span_signals.c -pthread
 */
/*
 * span_signals: a sampling profiler for spans.  A thread is always in a span;
 * spans have parents and are counted.  The sampler's signal takes a reference
 * to the span that it finds and puts it into the thread's ring; the collector
 * takes them out.  Spans that were seen often are sent back to their thread by
 * a queued signal, as a hint.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 2
#define RING 64
#define SAMPLE SIGUSR1

struct span {
	char name[20];
	atomic_int refs;
	int depth;
	struct span *parent;		/* counted */
	struct span *next_dead;
	atomic_long seen;
};

static atomic_long spans_made, spans_freed;
static _Atomic(struct span *) dead;	/* their last put was in a handler */

static struct span *
span_get(struct span *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

static struct span *
span_new(const char *name, int nr, struct span *parent)
{
	struct span *s = calloc(1, sizeof *s);

	if (s == NULL)
		abort();
	snprintf(s->name, sizeof s->name, "%s %d", name, nr);
	atomic_init(&s->refs, 1);
	if (parent != NULL) {
		s->parent = span_get(parent);
		s->depth = parent->depth + 1;
	}
	atomic_fetch_add(&spans_made, 1);
	return s;
}

static struct span *
span_free(struct span *s)
{
	struct span *parent = s->parent;

	atomic_fetch_add(&spans_freed, 1);
	free(s);
	return parent;
}

static void
span_put(struct span *s)
{
	while (s != NULL && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
		s = span_free(s);
}

/* For handlers, which must not free. */
static void
span_put_async(struct span *s)
{
	if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	s->next_dead = atomic_load(&dead);
	while (!atomic_compare_exchange_weak(&dead, &s->next_dead, s))
		;
}

static int
reap(void)
{
	struct span *s = atomic_exchange(&dead, NULL), *next;
	int n = 0;

	for (; s != NULL; s = next, n++) {
		next = s->next_dead;
		span_put(span_free(s));
	}
	return n;
}

/* ---- threads and their handlers ----------------------------------------------- */

struct state {
	pthread_t thread;
	struct span *volatile current;
	struct span *ring[RING];
	atomic_uint head, tail;
	atomic_int finished, leave;
	atomic_long hints_sent, hints_got;
	volatile sig_atomic_t dropped;
	unsigned sum;
};

static struct state states[THREADS];
static _Thread_local struct state *volatile me;

static void
on_sample(int sig)
{
	struct state *st = me;
	unsigned head;

	(void)sig;
	if (st == NULL || st->current == NULL)
		return;
	head = atomic_load_explicit(&st->head, memory_order_relaxed);
	if (head - atomic_load_explicit(&st->tail, memory_order_acquire) == RING) {
		st->dropped++;
		return;
	}
	st->ring[head % RING] = span_get(st->current);
	atomic_store_explicit(&st->head, head + 1, memory_order_release);
}

static void
on_hint(int sig, siginfo_t *info, void *context)
{
	struct span *s = info->si_value.sival_ptr;

	(void)sig;
	(void)context;
	atomic_fetch_add(&s->seen, 100);
	span_put_async(s);
	atomic_fetch_add(&me->hints_got, 1);
}

static void
enter(struct span *s)
{
	me->current = s;
}

/* The span is not the current one any more before its reference goes. */
static void
leave(void)
{
	struct span *s = me->current;

	me->current = s->parent;
	span_put(s);
}

static void
work(struct state *st, int nr, int depth)
{
	enter(span_new(depth ? "step" : "request", nr, st->current));
	for (int i = 0; i < 200; i++)
		st->sum = st->sum * 33 + (unsigned)(i ^ nr);
	if ((nr + depth) % 3 == 0)
		raise(SAMPLE);
	for (int i = 0; i < 1 + nr % 3 && depth < 3; i++)
		work(st, nr + i, depth + 1);
	if ((nr + depth) % 5 == 1)
		raise(SAMPLE);
	leave();
}

static void *
worker(void *arg)
{
	struct state *st = arg;
	stack_t alt = { .ss_size = 64 * 1024 }, old;
	struct span *root = span_new("thread", (int)(st - states), NULL);

	alt.ss_sp = malloc(alt.ss_size);
	if (alt.ss_sp == NULL || sigaltstack(&alt, &old) != 0)
		abort();
	me = st;
	enter(root);
	for (int nr = 0; nr < 16; nr++) {
		work(st, nr, 0);
		while (atomic_load(&st->head) - atomic_load(&st->tail) > RING / 4)
			sched_yield();
	}
	me->current = NULL;
	span_put(root);
	atomic_store(&st->finished, 1);
	while (!atomic_load(&st->leave) || atomic_load(&st->hints_got) != atomic_load(&st->hints_sent))
		sched_yield();
	old.ss_flags = SS_DISABLE;
	sigaltstack(&old, NULL);
	free(alt.ss_sp);
	return NULL;
}

/* ---- the collector --------------------------------------------------------------- */

struct totals { long samples, depth, hints; int reaped; };

static void
collect(struct state *st, struct totals *t)
{
	unsigned tail = atomic_load(&st->tail);

	while (tail != atomic_load_explicit(&st->head, memory_order_acquire)) {
		struct span *s = st->ring[tail % RING];

		atomic_store_explicit(&st->tail, ++tail, memory_order_release);
		t->samples++;
		t->depth += s->depth;
		if (atomic_fetch_add(&s->seen, 1) + s->depth >= 2) {
			union sigval v = { .sival_ptr = s };	/* the reference goes along */

			atomic_fetch_add(&st->hints_sent, 1);
			if (pthread_sigqueue(st->thread, SIGRTMIN, v) == 0) {
				t->hints++;
				continue;
			}
			atomic_fetch_sub(&st->hints_sent, 1);
		}
		span_put(s);
	}
}

int
main(void)
{
	struct sigaction sample = { .sa_handler = on_sample, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct sigaction hint = { .sa_sigaction = on_hint, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	struct totals t = { 0, 0, 0, 0 };
	int running = THREADS, extra = 0;

	sigfillset(&hint.sa_mask);
	if (sigaction(SAMPLE, &sample, NULL) != 0 || sigaction(SIGRTMIN, &hint, NULL) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&states[i].thread, NULL, worker, &states[i]) != 0)
			return 1;
	while (running > 0) {
		running = 0;
		for (int i = 0; i < THREADS; i++) {
			running += !atomic_load(&states[i].finished);
			collect(&states[i], &t);
			if (extra < 40) {		/* at any moment, besides the regular ones */
				pthread_kill(states[i].thread, SAMPLE);
				extra++;
			}
		}
		t.reaped += reap();
		sched_yield();
	}
	for (int i = 0; i < THREADS; i++) {
		collect(&states[i], &t);
		atomic_store(&states[i].leave, 1);
		pthread_join(states[i].thread, NULL);
		printf("thread %d: sum %08x, %s\n", i, states[i].sum, states[i].dropped ? "samples lost" : "nothing lost");
	}
	t.reaped += reap();
	printf("%s samples, %s hints\n", t.samples >= 150 && t.depth > t.samples ? "enough" : "few", t.hints > 20 ? "enough" : "few");
	printf("%ld spans, %s\n", atomic_load(&spans_made), atomic_load(&spans_made) == atomic_load(&spans_freed) ? "all gone" : "some left");
	return 0;
}
