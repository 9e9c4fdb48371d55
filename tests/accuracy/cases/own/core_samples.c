/* summary: a contaminated sample is entered in the reject book after the last reference to it was put
 * kind: use-after-put
 * counts: none
 * objects: 1
 * track: own
 * libs: -pthread
 * build: gcc -O1 -g
 */
/* Core store of a drilling project: samples come in from the rig, two benches log them, some go to the archive. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READINGS 24
#define BOOK_MAX 16

struct sample {
	struct sample *next;      /* in the tray of a bench */
	char hole[12];
	double from_m, to_m;
	double moisture;
	atomic_uint refs;
	unsigned readings;
	double gamma[READINGS];
};

struct tray {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct sample *first, **last;
	bool shut;
};

struct entry {
	char hole[12];
	double from_m;
	double value;
};

struct store {
	pthread_mutex_t lock;
	struct sample *archive[BOOK_MAX];
	unsigned archived;
	struct entry rejects[BOOK_MAX];
	unsigned rejected;
	double logged_m;
};

struct bench {
	struct tray *tray;
	struct store *store;
	pthread_t thread;
};

static inline struct sample *sample_ref(struct sample *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

static inline void sample_unref(struct sample *s)
{
	if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
		free(s);
}

static struct sample *sample_new(const char *hole, double from, double to)
{
	struct sample *s = calloc(1, sizeof *s);

	if (!s)
		abort();
	atomic_init(&s->refs, 1);
	snprintf(s->hole, sizeof s->hole, "%s", hole);
	s->from_m = from;
	s->to_m = to;
	return s;
}

static void sample_measure(struct sample *s, double base, double moisture)
{
	s->moisture = moisture;
	for (s->readings = 0; s->readings < READINGS; s->readings++)
		s->gamma[s->readings] = base + (double)(s->readings * 7 % 5);
}

static double sample_mean(const struct sample *s)
{
	double sum = 0;

	for (unsigned i = 0; i < s->readings; i++)
		sum += s->gamma[i];
	return s->readings ? sum / s->readings : 0;
}

static void tray_init(struct tray *tray)
{
	pthread_mutex_init(&tray->lock, NULL);
	pthread_cond_init(&tray->more, NULL);
	tray->first = NULL;
	tray->last = &tray->first;
	tray->shut = false;
}

/* The tray takes the reference over. */
static void tray_put_in(struct tray *tray, struct sample *s)
{
	pthread_mutex_lock(&tray->lock);
	s->next = NULL;
	*tray->last = s;
	tray->last = &s->next;
	pthread_cond_signal(&tray->more);
	pthread_mutex_unlock(&tray->lock);
}

static struct sample *tray_take(struct tray *tray)
{
	struct sample *s;

	pthread_mutex_lock(&tray->lock);
	while (!tray->first && !tray->shut)
		pthread_cond_wait(&tray->more, &tray->lock);
	s = tray->first;
	if (s) {
		tray->first = s->next;
		if (!tray->first)
			tray->last = &tray->first;
		s->next = NULL;
	}
	pthread_mutex_unlock(&tray->lock);
	return s;
}

static void tray_shut(struct tray *tray)
{
	pthread_mutex_lock(&tray->lock);
	tray->shut = true;
	pthread_cond_broadcast(&tray->more);
	pthread_mutex_unlock(&tray->lock);
}

static void store_archive(struct store *store, struct sample *s)
{
	pthread_mutex_lock(&store->lock);
	if (store->archived < BOOK_MAX)
		store->archive[store->archived++] = sample_ref(s);
	pthread_mutex_unlock(&store->lock);
}

static void store_book_reject(struct store *store, const struct sample *s)
{
	struct entry *e;

	pthread_mutex_lock(&store->lock);
	if (store->rejected < BOOK_MAX) {
		e = &store->rejects[store->rejected++];
		memcpy(e->hole, s->hole, sizeof e->hole);
		e->from_m = s->from_m;
		e->value = s->moisture;
	}
	pthread_mutex_unlock(&store->lock);
}

static void bench_log(struct bench *bench, struct sample *s)
{
	double mean = sample_mean(s);
	double length = s->to_m - s->from_m;

	if (mean > 80)
		store_archive(bench->store, s);
	pthread_mutex_lock(&bench->store->lock);
	bench->store->logged_m += length;
	pthread_mutex_unlock(&bench->store->lock);
	sample_unref(s);
}

static void bench_reject(struct bench *bench, struct sample *s)
{
#ifdef BUG
	sample_unref(s); /* GUILTY */
	store_book_reject(bench->store, s); /* ACCEPTED */
#else
	store_book_reject(bench->store, s);
	sample_unref(s);
#endif
}

static void *bench_main(void *arg)
{
	struct bench *bench = arg;
	struct sample *s;

	while ((s = tray_take(bench->tray))) {
		if (s->moisture > 0.30)
			bench_reject(bench, s);
		else
			bench_log(bench, s);
	}
	return NULL;
}

static void rig_deliver(struct tray *tray, struct sample **kept, unsigned *kept_count)
{
	static const struct { const char *hole; double from, base, moisture; bool keep; } run[] = {
		{ "DH-07", 12.0, 61, 0.08, false }, { "DH-07", 13.5, 83, 0.11, false },
		{ "DH-07", 15.0, 90, 0.34, true },  { "DH-09", 40.0, 55, 0.12, false },
		{ "DH-09", 41.5, 58, 0.41, false }, { "DH-09", 43.0, 88, 0.09, true },
		{ "DH-11", 7.5, 64, 0.10, false },  { "DH-11", 9.0, 99, 0.05, false },
		{ "DH-11", 10.5, 71, 0.22, true },  { "DH-12", 3.0, 50, 0.18, false },
	};

	for (unsigned i = 0; i < sizeof run / sizeof *run; i++) {
		struct sample *s = sample_new(run[i].hole, run[i].from, run[i].from + 1.5);

		sample_measure(s, run[i].base, run[i].moisture);
		if (run[i].keep)
			kept[(*kept_count)++] = sample_ref(s);
		tray_put_in(tray, s);
	}
}

static void store_print(struct store *store)
{
	printf("%.1f m logged, %u archived, %u rejected\n", store->logged_m, store->archived, store->rejected);
	for (unsigned i = 0; i < store->rejected; i++)
		printf("  reject %s at %.1f m: moisture %.2f\n", store->rejects[i].hole, store->rejects[i].from_m,
		       store->rejects[i].value);
	while (store->archived) {
		struct sample *s = store->archive[--store->archived];

		printf("  archive %s at %.1f m: %.1f API\n", s->hole, s->from_m, sample_mean(s));
		sample_unref(s);
	}
}

int main(void)
{
	struct sample *duplicates[BOOK_MAX];
	unsigned duplicate_count = 0;
	struct store store = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct bench benches[2];
	struct tray tray;

	tray_init(&tray);
	for (unsigned i = 0; i < 2; i++) {
		benches[i].tray = &tray;
		benches[i].store = &store;
		if (pthread_create(&benches[i].thread, NULL, bench_main, &benches[i]))
			return 1;
	}
	rig_deliver(&tray, duplicates, &duplicate_count);
	tray_shut(&tray);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(benches[i].thread, NULL);
	while (duplicate_count) {
		struct sample *s = duplicates[--duplicate_count];

		printf("duplicate of %s %.1f-%.1f m sent to the lab\n", s->hole, s->from_m, s->to_m);
		sample_unref(s);
	}
	store_print(&store);
	return store.rejected == 2 ? 0 : 1;
}
