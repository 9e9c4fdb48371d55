/*
 * summary: zones that vanish with their bus stay in the poll set, which has a reference on each
 * kind: held
 * counts: surplus
 * objects: 2
 * track: own
 * build: clang -O2 -g
 */
/* Thermal zones of a server board: sensors on several buses, fans as cooling devices, a poll loop. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kref.h ---- */
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

struct kref {
	int count;
};

static inline void kref_init(struct kref *k)
{
	__atomic_store_n(&k->count, 1, __ATOMIC_RELAXED);
}

static inline void kref_get(struct kref *k)
{
	__atomic_add_fetch(&k->count, 1, __ATOMIC_RELAXED);
}

static inline int kref_put(struct kref *k, void (*release)(struct kref *k))
{
	if (__atomic_sub_fetch(&k->count, 1, __ATOMIC_ACQ_REL) == 0) {
		release(k);
		return 1;
	}
	return 0;
}

/* ---- fans ---- */
struct fan {
	char name[12];
	unsigned level, max_level;
	struct kref kref;
};

static void fan_release(struct kref *k)
{
	free(container_of(k, struct fan, kref));
}

static struct fan *fan_create(const char *name, unsigned max_level)
{
	struct fan *fan = calloc(1, sizeof(*fan));

	if (!fan)
		return NULL;
	strncpy(fan->name, name, sizeof(fan->name) - 1);
	fan->max_level = max_level;
	kref_init(&fan->kref);
	return fan;
}

static __attribute__((noinline)) struct fan *fan_get(struct fan *fan)
{
	kref_get(&fan->kref);
	return fan;
}

static __attribute__((noinline)) void fan_put(struct fan *fan)
{
	kref_put(&fan->kref, fan_release);
}

/* ---- zones ---- */
#define ZONE_BUCKETS 8
#define POLL_SLOTS 12

struct zone {
	int id, bus;
	char name[16];
	int millidegrees, trip;
	int online;
	struct fan *fan;
	struct zone *hash_next;
	struct kref kref;
};

static struct zone *zone_hash[ZONE_BUCKETS];
static struct zone *poll_set[POLL_SLOTS];
static int zones_alive;

static void zone_release(struct kref *k)
{
	struct zone *zone = container_of(k, struct zone, kref);

	if (zone->fan)
		fan_put(zone->fan);
	zones_alive--;
	free(zone);
}

static __attribute__((noinline)) struct zone *zone_get(struct zone *zone)
{
	kref_get(&zone->kref);
	return zone;
}

static __attribute__((noinline)) void zone_put(struct zone *zone)
{
	kref_put(&zone->kref, zone_release);
}

static struct zone *zone_new(int id, int bus, const char *name, int trip)
{
	struct zone *zone = calloc(1, sizeof(*zone));

	if (!zone)
		return NULL;
	zone->id = id;
	zone->bus = bus;
	zone->trip = trip;
	zone->millidegrees = 35000 + 500 * id;
	zone->online = 1;
	snprintf(zone->name, sizeof(zone->name), "%s", name);
	kref_init(&zone->kref);
	zones_alive++;
	return zone;
}

static int poll_add(struct zone *zone)
{
	for (int i = 0; i < POLL_SLOTS; i++)
		if (!poll_set[i]) {
			poll_set[i] = zone_get(zone);
			return 0;
		}
	return -ENOSPC;
}

static void poll_remove(struct zone *zone)
{
	for (int i = 0; i < POLL_SLOTS; i++)
		if (poll_set[i] == zone) {
			poll_set[i] = NULL;
			zone_put(zone);
		}
}

static int zone_register(int id, int bus, const char *name, int trip, struct fan *fan, int polled)
{
	struct zone *zone = zone_new(id, bus, name, trip);
	int err = 0;

	if (!zone)
		return -ENOMEM;
	if (fan)
		zone->fan = fan_get(fan);
	if (polled)
		err = poll_add(zone);
	if (err) {
		zone_put(zone);
		return err;
	}
	zone->hash_next = zone_hash[id % ZONE_BUCKETS];
	zone_hash[id % ZONE_BUCKETS] = zone;
	return 0;
}

static struct zone *zone_find(int id)
{
	for (struct zone *zone = zone_hash[id % ZONE_BUCKETS]; zone; zone = zone->hash_next)
		if (zone->id == id)
			return zone_get(zone);
	return NULL;
}

static void zone_unhash(struct zone *zone)
{
	struct zone **link = &zone_hash[zone->id % ZONE_BUCKETS];

	while (*link != zone)
		link = &(*link)->hash_next;
	*link = zone->hash_next;
	zone->hash_next = NULL;
}

static int zone_unregister(int id)
{
	struct zone *zone = zone_find(id);

	if (!zone)
		return -ENOENT;
	zone_unhash(zone);
	poll_remove(zone);
	zone_put(zone);		/* of the hash */
	zone_put(zone);
	return 0;
}

/* The bus went away: its sensors do not answer any more. */
static int bus_removed(int bus)
{
	int removed = 0;

	for (int b = 0; b < ZONE_BUCKETS; b++) {
		struct zone *next;

		for (struct zone *zone = zone_hash[b]; zone; zone = next) {
			next = zone->hash_next;
			if (zone->bus != bus)
				continue;
			zone_unhash(zone);
			zone->online = 0; /* GUILTY */
#ifndef BUG
			poll_remove(zone);
#endif
			zone_put(zone); /* ACCEPTED */
			removed++;
		}
	}
	return removed;
}

static int poll_tick(unsigned tick)
{
	int hot = 0;

	for (int i = 0; i < POLL_SLOTS; i++) {
		struct zone *zone = poll_set[i];

		if (!zone || !zone->online)
			continue;
		zone->millidegrees += (int)((tick * 37 + (unsigned)zone->id * 101) % 900) - 300;
		if (zone->millidegrees <= zone->trip)
			continue;
		hot++;
		if (zone->fan && zone->fan->level < zone->fan->max_level)
			zone->fan->level++;
		zone->millidegrees -= 400;
	}
	return hot;
}

static int show(int id)
{
	struct zone *zone = zone_find(id);

	if (!zone)
		return -ENOENT;
	printf("%2d %-10s %6d m°C, %s\n", zone->id, zone->name, zone->millidegrees,
	       zone->fan ? zone->fan->name : "passive");
	zone_put(zone);
	return 0;
}

int main(void)
{
	struct fan *front = fan_create("front", 6), *rear = fan_create("rear", 4);
	int hot = 0;
	if (!front || !rear)
		return 1;
	zone_register(1, 0, "cpu0", 40000, front, 1);
	zone_register(2, 0, "cpu1", 40000, front, 1);
	zone_register(3, 0, "vrm", 60000, NULL, 1);
	zone_register(9, 1, "riser-top", 40000, rear, 1);
	zone_register(10, 1, "riser-low", 40000, NULL, 1);
	zone_register(11, 1, "riser-id", 90000, NULL, 0);
	zone_register(17, 2, "backplane", 39000, rear, 1);
	zone_register(18, 2, "inlet", 30000, NULL, 0);

	for (unsigned tick = 0; tick < 50; tick++) {
		hot += poll_tick(tick);
		if (tick == 30)
			printf("%d zones of the riser removed\n", bus_removed(1));
	}
	printf("%d trips, fans at %u and %u\n", hot, front->level, rear->level);
	for (int id = 1; id < 20; id++)
		show(id);

	for (int id = 1; id < 20; id++)
		zone_unregister(id);
	fan_put(front);
	if (!zones_alive)
		puts("all zones gone");
	fan_put(rear);
	return 0;
}
