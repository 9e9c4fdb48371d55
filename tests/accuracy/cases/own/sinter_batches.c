/* summary: the quality thread puts the batch that belt_peek() only lends
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 */
/* Sinter plant: batches of mixed ore travel over a belt to the furnace. A mixer thread makes them, the quality control looks at
 * what lies in front of the furnace, the furnace takes the batches in their order, and a ledger keeps all of them for the day. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BELT_LENGTH 8
#define DAY 24

struct ref {
	atomic_int count;
};

struct batch {
	unsigned number;
	int ore, coke, lime;		/* kg */
	int moisture;			/* per mille */
	bool sampled;
	char recipe[40];
	struct ref ref;
	int strength;
};

struct belt {
	pthread_mutex_t lock;
	struct batch *slots[BELT_LENGTH];
	unsigned first, length;
};

struct ledger {
	struct batch *entries[DAY];
	unsigned nr_entries;
	int tons;
};

struct quality {
	struct belt *belt;
	unsigned samples, wet, idle;
	int worst;
	struct batch *reserve;		/* the wettest batch of the shift, for the laboratory */
};

struct mixer {
	struct belt *belt;
	struct ledger *ledger;
	unsigned first, batches, rejected;
};

static inline void ref_init(struct ref *ref)
{
	atomic_init(&ref->count, 1);
}

static inline void ref_get(struct ref *ref)
{
	atomic_fetch_add_explicit(&ref->count, 1, memory_order_relaxed);
}

static inline bool ref_put(struct ref *ref)
{
	return atomic_fetch_sub_explicit(&ref->count, 1, memory_order_acq_rel) == 1;
}

static struct batch *batch_mix(unsigned number, const char *recipe, int ore, int coke, int lime)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		abort();
	batch->number = number;
	batch->ore = ore;
	batch->coke = coke;
	batch->lime = lime;
	batch->moisture = 40 + (int)(number * 37 % 50);
	snprintf(batch->recipe, sizeof(batch->recipe), "%s", recipe);
	ref_init(&batch->ref);
	return batch;
}

static inline struct batch *batch_get(struct batch *batch)
{
	ref_get(&batch->ref);
	return batch;
}

static inline void batch_put(struct batch *batch)
{
	if (ref_put(&batch->ref))
		free(batch);
}

/* takes over the caller's reference if there is room */
static bool belt_push(struct belt *belt, struct batch *batch)
{
	bool room;

	pthread_mutex_lock(&belt->lock);
	room = belt->length < BELT_LENGTH;
	if (room)
		belt->slots[(belt->first + belt->length++) % BELT_LENGTH] = batch;
	pthread_mutex_unlock(&belt->lock);
	return room;
}

/* gives the belt's reference to the caller */
static struct batch *belt_pop(struct belt *belt)
{
	struct batch *batch = NULL;

	pthread_mutex_lock(&belt->lock);
	if (belt->length) {
		batch = belt->slots[belt->first];
		belt->slots[belt->first] = NULL;
		belt->first = (belt->first + 1) % BELT_LENGTH;
		belt->length--;
	}
	pthread_mutex_unlock(&belt->lock);
	return batch;
}

/* The batch at the given distance from the furnace, still the belt's. Call it with the lock. */
static struct batch *belt_peek(struct belt *belt, unsigned distance)
{
	if (distance >= belt->length)
		return NULL;
	return belt->slots[(belt->first + distance) % BELT_LENGTH];
}

static void ledger_enter(struct ledger *ledger, struct batch *batch)
{
	if (ledger->nr_entries == DAY)
		return;
	ledger->entries[ledger->nr_entries++] = batch_get(batch);
	ledger->tons += batch->ore / 1000;
}

static void *mixer_main(void *arg)
{
	static const struct {
		const char *name;
		int ore, coke, lime;
	} recipes[] = {
		{ "hematite-a", 9200, 420, 800 },
		{ "magnetite", 8700, 390, 950 },
		{ "returns", 6100, 510, 400 },
	};
	struct mixer *mixer = arg;

	for (unsigned i = 0; i < mixer->batches; i++) {
		unsigned number = mixer->first + i;
		unsigned which = number % 3;
		struct batch *batch = batch_mix(number, recipes[which].name, recipes[which].ore, recipes[which].coke,
						recipes[which].lime);

		ledger_enter(mixer->ledger, batch);
		if (!belt_push(mixer->belt, batch)) {
			mixer->rejected++;
			batch_put(batch);
		}
	}
	return NULL;
}

static void sample(struct quality *quality, struct batch *batch)
{
	batch->sampled = true;
	quality->samples++;
	if (batch->moisture > 75)
		quality->wet++;
	if (batch->moisture > quality->worst) {
		quality->worst = batch->moisture;
		if (quality->reserve)
			batch_put(quality->reserve);
		quality->reserve = batch_get(batch);
	}
}

static void *quality_main(void *arg)
{
	static const unsigned distances[] = { 0, 3, 7 };
	struct quality *quality = arg;

	for (unsigned i = 0; i < sizeof(distances) / sizeof(*distances); i++) {
		struct batch *batch;

		pthread_mutex_lock(&quality->belt->lock);
		batch = belt_peek(quality->belt, distances[i]);
		if (!batch) {
			quality->idle++;
			pthread_mutex_unlock(&quality->belt->lock);
			continue;
		}
		sample(quality, batch);
#ifdef BUG
		batch_put(batch); /* GUILTY */
#endif
		pthread_mutex_unlock(&quality->belt->lock);
	}
	return NULL;
}

static unsigned furnace_run(struct belt *belt, unsigned most)
{
	struct batch *batch;
	unsigned burnt = 0;

	while (burnt < most && (batch = belt_pop(belt))) {
		batch->strength = 1000 - batch->moisture * 3 + batch->coke / 2 - (batch->sampled ? 5 : 0);
		batch_put(batch);
		burnt++;
	}
	return burnt;
}

static void shift(struct mixer *mixer, struct quality *quality, void *(*work)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, work == mixer_main ? (void *)mixer : (void *)quality))
		abort();
	pthread_join(thread, NULL);
}

static void ledger_print(const struct ledger *ledger)
{
	for (unsigned i = 0; i < ledger->nr_entries; i++) {
		const struct batch *batch = ledger->entries[i];

		printf("%u %-10s %2d.%d%% %4d%s\n", batch->number, batch->recipe, batch->moisture / 10, batch->moisture % 10,
		       batch->strength, batch->sampled ? " sampled" : "");
	}
}

static void ledger_close(struct ledger *ledger)
{
	for (unsigned i = 0; i < ledger->nr_entries; i++)
		batch_put(ledger->entries[i]);
	ledger->nr_entries = 0;
}

int main(void)
{
	static struct belt belt = { .lock = PTHREAD_MUTEX_INITIALIZER };
	static struct ledger ledger;
	struct mixer mixer = { .belt = &belt, .ledger = &ledger, .first = 300, .batches = 7 };
	struct quality quality = { .belt = &belt };
	unsigned burnt = 0;

	shift(&mixer, &quality, mixer_main);
	burnt += furnace_run(&belt, 5);

	mixer.first = 310;
	mixer.batches = 8;
	shift(&mixer, &quality, mixer_main);
	shift(&mixer, &quality, quality_main);
	burnt += furnace_run(&belt, DAY);

	ledger_print(&ledger);
	printf("%u burnt, %u rejected, %d t\n", burnt, mixer.rejected, ledger.tons);
	printf("%u samples, %u wet, %u without a batch\n", quality.samples, quality.wet, quality.idle);
	if (quality.reserve) {
		printf("laboratory: %u\n", quality.reserve->number);
		batch_put(quality.reserve);
	}
	ledger_close(&ledger);
	pthread_mutex_destroy(&belt.lock);
	return 0;
}
