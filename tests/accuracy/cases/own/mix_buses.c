/*
 * summary: removing a strip reads the level of its bus after the strip's reference, which may be the last, was given back
 * kind: use-after-put
 * counts: none
 * objects: 2
 * track: own
 * build: gcc -O3 -g
 * libs: -pthread -lm
 */
/* Mixing desk: strips play into buses, the render thread walks over a snapshot of them. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD 64
#define MAX_STRIPS 16
#define MAX_BUSES 8

/* ---- bus.h ---- */
struct bus {
	char name[24];
	atomic_uint_fast64_t refs;
	float gain;
	float peak;
	unsigned periods;
	float mix[PERIOD];
};

static struct bus *bus_new(const char *name, float gain)
{
	struct bus *bus = calloc(1, sizeof(*bus));

	if (!bus)
		return NULL;
	strncpy(bus->name, name, sizeof(bus->name) - 1);
	bus->gain = gain;
	atomic_init(&bus->refs, 1);
	return bus;
}

static struct bus *bus_ref(struct bus *bus)
{
	atomic_fetch_add_explicit(&bus->refs, 1, memory_order_relaxed);
	return bus;
}

static void bus_unref(struct bus *bus)
{
	if (atomic_fetch_sub_explicit(&bus->refs, 1, memory_order_acq_rel) == 1)
		free(bus);
}

static void bus_add(struct bus *bus, const float *samples)
{
	for (int i = 0; i < PERIOD; i++)
		bus->mix[i] += samples[i];
}

static void bus_finish(struct bus *bus)
{
	for (int i = 0; i < PERIOD; i++) {
		float level = fabsf(bus->mix[i] * bus->gain);

		if (level > bus->peak)
			bus->peak = level;
		bus->mix[i] = 0;
	}
	bus->periods++;
}

/* ---- desk ---- */
struct strip {
	char name[24];
	struct bus *bus;
	float phase, step, volume;
};

struct desk {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	unsigned requested, rendered;
	bool quit;
	struct strip *strips[MAX_STRIPS];
	unsigned nstrips;
	float loudest_removed;
};

static struct strip *desk_add_strip(struct desk *desk, const char *name, struct bus *bus, float hertz)
{
	struct strip *strip = calloc(1, sizeof(*strip));

	if (!strip)
		return NULL;
	strncpy(strip->name, name, sizeof(strip->name) - 1);
	strip->step = hertz / 48000.0f * 6.2831853f;
	strip->volume = 0.4f;
	strip->bus = bus_ref(bus);
	pthread_mutex_lock(&desk->lock);
	if (desk->nstrips == MAX_STRIPS) {
		pthread_mutex_unlock(&desk->lock);
		bus_unref(strip->bus);
		free(strip);
		return NULL;
	}
	desk->strips[desk->nstrips++] = strip;
	pthread_mutex_unlock(&desk->lock);
	return strip;
}

static bool desk_remove_strip(struct desk *desk, const char *name)
{
	struct strip *strip = NULL;
	struct bus *bus;
	float peak;

	pthread_mutex_lock(&desk->lock);
	for (unsigned i = 0; i < desk->nstrips && !strip; i++)
		if (strcmp(desk->strips[i]->name, name) == 0) {
			strip = desk->strips[i];
			desk->strips[i] = desk->strips[--desk->nstrips];
		}
	pthread_mutex_unlock(&desk->lock);
	if (!strip)
		return false;

	bus = strip->bus;
	free(strip);
#ifdef BUG
	bus_unref(bus); /* ACCEPTED */
	peak = bus->peak; /* GUILTY */
#else
	peak = bus->peak;
	bus_unref(bus);
#endif
	if (peak > desk->loudest_removed)
		desk->loudest_removed = peak;
	return true;
}

static bool desk_route(struct desk *desk, const char *name, struct bus *bus)
{
	struct bus *old = NULL;

	pthread_mutex_lock(&desk->lock);
	for (unsigned i = 0; i < desk->nstrips; i++) {
		struct strip *strip = desk->strips[i];

		if (strcmp(strip->name, name) == 0) {
			old = strip->bus;
			strip->bus = bus_ref(bus);
			break;
		}
	}
	pthread_mutex_unlock(&desk->lock);
	if (!old)
		return false;
	bus_unref(old);
	return true;
}

/* Mixes one period and collects the buses that got something; the caller owns their references. */
static unsigned desk_mix(struct desk *desk, struct bus *touched[MAX_BUSES])
{
	float samples[PERIOD];
	unsigned n = 0;

	for (unsigned i = 0; i < desk->nstrips; i++) {
		struct strip *strip = desk->strips[i];
		unsigned b = 0;

		for (int s = 0; s < PERIOD; s++) {
			samples[s] = strip->volume * sinf(strip->phase);
			strip->phase += strip->step;
		}
		while (b < n && touched[b] != strip->bus)
			b++;
		if (b == n) {
			if (n == MAX_BUSES)
				continue;
			touched[n++] = bus_ref(strip->bus);
		}
		bus_add(strip->bus, samples);
	}
	return n;
}

static void *render(void *arg)
{
	struct desk *desk = arg;
	struct bus *touched[MAX_BUSES];

	pthread_mutex_lock(&desk->lock);
	for (;;) {
		while (!desk->quit && desk->rendered == desk->requested)
			pthread_cond_wait(&desk->turn, &desk->lock);
		if (desk->rendered == desk->requested)
			break;
		unsigned n = desk_mix(desk, touched);

		for (unsigned b = 0; b < n; b++) {
			bus_finish(touched[b]);
			bus_unref(touched[b]);
		}
		desk->rendered++;
		pthread_cond_broadcast(&desk->turn);
	}
	pthread_mutex_unlock(&desk->lock);
	return NULL;
}

static void desk_play(struct desk *desk, unsigned periods)
{
	pthread_mutex_lock(&desk->lock);
	desk->requested += periods;
	pthread_cond_broadcast(&desk->turn);
	while (desk->rendered != desk->requested)
		pthread_cond_wait(&desk->turn, &desk->lock);
	pthread_mutex_unlock(&desk->lock);
}

int main(void)
{
	static const char *const bus_names[] = { "drums", "strings", "voices", "effects", "monitor", "talkback" };
	static const char *const strip_names[] = { "kick", "snare", "violin", "cello", "lead", "choir", "echo", "wedge", "desk mic" };
	static const int routes[] = { 0, 0, 1, 1, 2, 2, 3, 4, 5 };
	struct desk desk = { .lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER };
	struct bus *buses[6];
	pthread_t thread;

	for (int i = 0; i < 6; i++) {
		buses[i] = bus_new(bus_names[i], 0.5f + 0.1f * (float)i);
		if (!buses[i])
			return 1;
	}
	for (int i = 0; i < 9; i++)
		if (!desk_add_strip(&desk, strip_names[i], buses[routes[i]], 110.0f * (float)(i + 2)))
			return 1;
	pthread_create(&thread, NULL, render, &desk);
	desk_play(&desk, 20);

	/* Buses without a fader live as long as something plays into them. */
	bus_unref(buses[3]);
	bus_unref(buses[4]);
	bus_unref(buses[5]);
	desk_route(&desk, "desk mic", buses[2]);
	desk_play(&desk, 10);
	desk_remove_strip(&desk, "snare");
	desk_remove_strip(&desk, "echo");
	desk_play(&desk, 10);
	desk_remove_strip(&desk, "wedge");
	printf("loudest bus of a removed strip: %.3f\n", (double)desk.loudest_removed);
	for (int i = 0; i < 3; i++)
		printf("%-8s peak %.3f in %u periods\n", buses[i]->name, (double)buses[i]->peak, buses[i]->periods);

	pthread_mutex_lock(&desk.lock);
	desk.quit = true;
	pthread_cond_broadcast(&desk.turn);
	pthread_mutex_unlock(&desk.lock);
	pthread_join(thread, NULL);
	for (int i = 0; i < 9; i++)
		desk_remove_strip(&desk, strip_names[i]);
	for (int i = 0; i < 3; i++)
		bus_unref(buses[i]);
	return 0;
}
