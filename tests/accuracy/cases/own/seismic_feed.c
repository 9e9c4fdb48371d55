/* summary: station_append() takes the caller's reference over in any case, but returns for a segment out of order without giving it back
 * kind: missing-put
 * counts: surplus
 * objects: 9
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * seismic_feed - receives segments of ground motion from the lines of a
 * network of stations, one thread a line, and files them. A segment may be
 * filed with its station and stand in the list of triggers as well.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES 3
#define STATIONS 9
#define SEGMENTS 48
#define SAMPLES 25
#define QUEUE 16

struct segment {
	unsigned station;
	unsigned sequence;
	int peak;
	atomic_int refs;
	unsigned nsamples;
	int samples[];
};

static atomic_int segments_live, segments_made;

static struct segment *segment_new(unsigned station, unsigned sequence)
{
	struct segment *s = malloc(sizeof *s + SAMPLES * sizeof(int));

	if (!s)
		abort();
	s->station = station;
	s->sequence = sequence;
	s->peak = 0;
	s->nsamples = 0;
	atomic_init(&s->refs, 1);
	atomic_fetch_add(&segments_live, 1);
	atomic_fetch_add(&segments_made, 1);
	return s;
}

static struct segment *segment_get(struct segment *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

static void segment_put(struct segment *s)
{
	if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
		atomic_fetch_sub(&segments_live, 1);
		free(s);
	}
}

/* ------------------------------------------------------------ queue */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more, room;
	struct segment *slots[QUEUE];
	unsigned head, count, writers;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .room = PTHREAD_COND_INITIALIZER };

/* Takes the reference over. */
static void queue_push(struct segment *s)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.count == QUEUE)
		pthread_cond_wait(&queue.room, &queue.lock);
	queue.slots[(queue.head + queue.count++) % QUEUE] = s;
	pthread_cond_signal(&queue.more);
	pthread_mutex_unlock(&queue.lock);
}

/* The reference goes to the caller; NULL: all lines are closed. */
static struct segment *queue_pop(void)
{
	struct segment *s = NULL;

	pthread_mutex_lock(&queue.lock);
	while (queue.count == 0 && queue.writers > 0)
		pthread_cond_wait(&queue.more, &queue.lock);
	if (queue.count > 0) {
		s = queue.slots[queue.head];
		queue.head = (queue.head + 1) % QUEUE;
		queue.count--;
		pthread_cond_signal(&queue.room);
	}
	pthread_mutex_unlock(&queue.lock);
	return s;
}

static void queue_done(void)
{
	pthread_mutex_lock(&queue.lock);
	queue.writers--;
	pthread_cond_broadcast(&queue.more);
	pthread_mutex_unlock(&queue.lock);
}

/* ------------------------------------------------------------ stations */

struct station {
	struct segment *filed[SEGMENTS];
	unsigned nfiled;
	unsigned next;		/* sequence number that is expected */
	unsigned gaps, repeated;
	long energy;
};

/* Takes the reference over, whatever it returns. */
static int station_append(struct station *st, struct segment *s)
{
	if (s->nsamples == 0) {
		segment_put(s);
		return -ENODATA;
	}
	if (s->sequence < st->next) {
		struct segment *last = st->nfiled ? st->filed[st->nfiled - 1] : NULL;

		if (last && last->sequence == s->sequence) {
			st->repeated++;
			segment_put(s);
			return 0;
		}
#ifdef BUG
		return -ESTALE;			/* GUILTY */
#else
		segment_put(s);
		return -ESTALE;
#endif
	}
	if (s->sequence > st->next)
		st->gaps++;
	if (st->nfiled == SEGMENTS) {
		segment_put(s);
		return -ENOSPC;
	}
	for (unsigned i = 0; i < s->nsamples; i++)
		st->energy += (long)s->samples[i] * s->samples[i];
	st->next = s->sequence + 1;
	st->filed[st->nfiled++] = s;
	return 0;
}

static void station_clear(struct station *st)
{
	for (unsigned i = 0; i < st->nfiled; i++)
		segment_put(st->filed[i]);
	st->nfiled = 0;
}

/* ------------------------------------------------------------ lines */

static void segment_fill(struct segment *s)
{
	unsigned x = s->station * 7919 + s->sequence * 104729;

	for (unsigned i = 0; i < SAMPLES; i++) {
		x = x * 1103515245u + 12345u;
		s->samples[i] = (int)(x >> 20) % 400 - 200;
		if (abs(s->samples[i]) > s->peak)
			s->peak = abs(s->samples[i]);
	}
	s->nsamples = SAMPLES;
}

/* Radio lines repeat segments, lose them, and bring some late. */
static void *line_run(void *arg)
{
	unsigned line = (unsigned)(size_t)arg;

	for (unsigned seq = 0; seq < SEGMENTS; seq++) {
		for (unsigned st = line; st < STATIONS; st += LINES) {
			unsigned n = seq * STATIONS + st;
			struct segment *s;

			if (n % 31 == 17)
				continue;
			s = segment_new(st, n % 43 == 25 && seq > 4 ? seq - 4 : seq);
			if (n % 37 != 11)
				segment_fill(s);
			if (n % 29 == 3)
				queue_push(segment_get(s));	/* sent twice */
			queue_push(s);
		}
	}
	queue_done();
	return NULL;
}

/* ------------------------------------------------------------ archive */

struct archive {
	struct station stations[STATIONS];
	struct segment *triggers[64];
	unsigned ntriggers, refused;
};

static void archive_run(struct archive *a)
{
	struct segment *s;

	while ((s = queue_pop()) != NULL) {
		struct segment *strong = s->peak > 199 ? segment_get(s) : NULL;

		if (station_append(&a->stations[s->station], s) < 0) {	/* ACCEPTED */
			a->refused++;
			if (strong)
				segment_put(strong);
			continue;
		}
		if (strong && a->ntriggers < 64)
			a->triggers[a->ntriggers++] = strong;
		else if (strong)
			segment_put(strong);
	}
}

int main(void)
{
	static struct archive a;
	pthread_t lines[LINES];
	unsigned filed = 0, gaps = 0, repeated = 0;
	long energy = 0;

	queue.writers = LINES;
	for (unsigned i = 0; i < LINES; i++)
		if (pthread_create(&lines[i], NULL, line_run, (void *)(size_t)i))
			abort();
	archive_run(&a);
	for (unsigned i = 0; i < LINES; i++)
		pthread_join(lines[i], NULL);
	for (unsigned i = 0; i < STATIONS; i++) {
		filed += a.stations[i].nfiled;
		gaps += a.stations[i].gaps;
		repeated += a.stations[i].repeated;
		energy += a.stations[i].energy;
		station_clear(&a.stations[i]);
	}
	for (unsigned i = 0; i < a.ntriggers; i++)
		segment_put(a.triggers[i]);
	printf("%d segments, %u filed, %u gaps, %u repeated, %u refused, %u triggers, energy %ld\n",
	       atomic_load(&segments_made), filed, gaps, repeated, a.refused, a.ntriggers, energy);
#ifdef TRUTH
	printf("left: %d\n", atomic_load(&segments_live));
#endif
	return 0;
}
