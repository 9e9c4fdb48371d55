/* summary: the lookup's short cut for the last flight returns the seat map without a reference
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O2 -g
 */
/* Check-in desk: seat maps of flights in a hash table, bookings that hold on to the map of their flight, seat assignment and the
 * hand-over of a flight to the gate. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_BUCKETS 16
#define MAX_ROWS 12
#define SEATS_ABREAST 4

struct refcount {
	atomic_uint value;
};

static inline void refcount_set(struct refcount *refs, unsigned value)
{
	atomic_store_explicit(&refs->value, value, memory_order_relaxed);
}

static inline void refcount_inc(struct refcount *refs)
{
	atomic_fetch_add_explicit(&refs->value, 1, memory_order_relaxed);
}

static inline bool refcount_dec_and_test(struct refcount *refs)
{
	return atomic_fetch_sub_explicit(&refs->value, 1, memory_order_acq_rel) == 1;
}

struct seat_map {
	struct seat_map *next;		/* of the bucket */
	char flight[12];
	int rows;
	int taken;
	bool closed;
	struct refcount refs;
	uint8_t seats[MAX_ROWS][SEATS_ABREAST];
};

struct booking {
	struct booking *next;
	char locator[8];
	struct seat_map *map;
	int row, seat;
};

struct desk {
	struct seat_map *buckets[NR_BUCKETS];
	struct seat_map *last;		/* found by the last lookup; the table's reference keeps it */
	struct booking *bookings;
	unsigned lookups, short_cuts;
	unsigned refused;
};

static struct seat_map *seat_map_create(const char *flight, int rows)
{
	struct seat_map *map;

	if (rows < 1 || rows > MAX_ROWS)
		return NULL;
	map = calloc(1, sizeof(*map));
	if (!map)
		abort();
	refcount_set(&map->refs, 1);
	snprintf(map->flight, sizeof(map->flight), "%s", flight);
	map->rows = rows;
	return map;
}

static inline struct seat_map *seat_map_get(struct seat_map *map)
{
	if (map)
		refcount_inc(&map->refs);
	return map;
}

static inline void seat_map_put(struct seat_map *map)
{
	if (map && refcount_dec_and_test(&map->refs))
		free(map);
}

static unsigned bucket_of(const char *flight)
{
	unsigned hash = 5381;

	while (*flight)
		hash = hash * 33 + (unsigned char)*flight++;
	return hash % NR_BUCKETS;
}

static int desk_open_flight(struct desk *desk, const char *flight, int rows)
{
	struct seat_map **bucket = &desk->buckets[bucket_of(flight)];
	struct seat_map *map;

	for (map = *bucket; map; map = map->next) {
		if (!strcmp(map->flight, flight))
			return -EEXIST;
	}
	map = seat_map_create(flight, rows);
	if (!map)
		return -EINVAL;
	map->next = *bucket;
	*bucket = map;
	return 0;
}

/* Returns a reference, or NULL. */
static struct seat_map *desk_lookup(struct desk *desk, const char *flight)
{
	struct seat_map *map;

	desk->lookups++;
	/* passengers of one flight tend to come one after the other */
	if (desk->last && !strcmp(desk->last->flight, flight)) {
		desk->short_cuts++;
#ifdef BUG
		return desk->last; /* GUILTY */
#else
		return seat_map_get(desk->last);
#endif
	}
	for (map = desk->buckets[bucket_of(flight)]; map; map = map->next) {
		if (!strcmp(map->flight, flight)) {
			desk->last = map;
			return seat_map_get(map);
		}
	}
	return NULL;
}

static bool seat_map_assign(struct seat_map *map, bool window, int *row, int *seat)
{
	if (map->closed)
		return false;
	for (int r = 0; r < map->rows; r++) {
		for (int s = 0; s < SEATS_ABREAST; s++) {
			if (map->seats[r][s])
				continue;
			if (window && s != 0 && s != SEATS_ABREAST - 1)
				continue;
			map->seats[r][s] = 1;
			map->taken++;
			*row = r;
			*seat = s;
			return true;
		}
	}
	return false;
}

static int desk_check_in(struct desk *desk, const char *flight, const char *locator, bool window)
{
	struct seat_map *map = desk_lookup(desk, flight);
	struct booking *booking;
	int row, seat;

	if (!map) {
		desk->refused++;
		return -ENOENT;
	}
	if (!seat_map_assign(map, window, &row, &seat)) {
		desk->refused++;
		seat_map_put(map);
		return -EBUSY;
	}
	booking = calloc(1, sizeof(*booking));
	if (!booking)
		abort();
	snprintf(booking->locator, sizeof(booking->locator), "%s", locator);
	booking->map = map;
	booking->row = row;
	booking->seat = seat;
	booking->next = desk->bookings;
	desk->bookings = booking;
	return 0;
}

static bool desk_cancel(struct desk *desk, const char *locator)
{
	for (struct booking **at = &desk->bookings; *at; at = &(*at)->next) {
		struct booking *booking = *at;

		if (strcmp(booking->locator, locator))
			continue;
		booking->map->seats[booking->row][booking->seat] = 0;
		booking->map->taken--;
		seat_map_put(booking->map);
		*at = booking->next;
		free(booking);
		return true;
	}
	return false;
}

/* The desk takes no more passengers; the table lets go of the flight. */
static void desk_close(struct desk *desk)
{
	desk->last = NULL;
	for (unsigned i = 0; i < NR_BUCKETS; i++) {
		struct seat_map *map;

		while ((map = desk->buckets[i])) {
			desk->buckets[i] = map->next;
			map->next = NULL;
			map->closed = true;
			printf("%s closed with %d of %d\n", map->flight, map->taken, map->rows * SEATS_ABREAST);
			seat_map_put(map);
		}
	}
}

static int desk_print(const struct desk *desk)
{
	int passengers = 0;

	for (const struct booking *booking = desk->bookings; booking; booking = booking->next) {
		printf("%s %s %d%c\n", booking->locator, booking->map->flight, booking->row + 1, 'A' + booking->seat);
		passengers++;
	}
	return passengers;
}

static int gate_hand_over(struct desk *desk)
{
	struct booking *booking;
	int boarded = 0;

	while ((booking = desk->bookings)) {
		desk->bookings = booking->next;
		boarded++;
		seat_map_put(booking->map);
		free(booking);
	}
	return boarded;
}

static const struct {
	const char *flight, *locator;
	bool window;
} queue[] = {
	{ "QX101", "KDLA3", true },  { "QX233", "PPW81", false }, { "QX101", "ZB44T", true },
	{ "QX310", "MNE2X", false }, { "QX310", "MNE2Y", true },  { "QX415", "R7TTA", true },
	{ "QX101", "LOS9C", false }, { "QX522", "AAB1D", false }, { "QX707", "CCD2E", true },
	{ "QX233", "FHJ45", false }, { "QX999", "WRONG", false }, { "QX233", "YY6K2", true },
};

int main(void)
{
	static struct desk desk;
	int opened = 0, cancelled = 0, passengers, boarded;

	opened += desk_open_flight(&desk, "QX101", 5) == 0;
	opened += desk_open_flight(&desk, "QX233", 12) == 0;
	opened += desk_open_flight(&desk, "QX310", 3) == 0;
	opened += desk_open_flight(&desk, "QX415", 8) == 0;
	opened += desk_open_flight(&desk, "QX522", 1) == 0;
	opened += desk_open_flight(&desk, "QX707", 6) == 0;
	opened += desk_open_flight(&desk, "QX310", 9) == 0;
	opened += desk_open_flight(&desk, "QX880", 40) == 0;

	for (size_t i = 0; i < sizeof(queue) / sizeof(*queue); i++)
		desk_check_in(&desk, queue[i].flight, queue[i].locator, queue[i].window);
	cancelled += desk_cancel(&desk, "ZB44T");
	cancelled += desk_cancel(&desk, "NOONE");
	passengers = desk_print(&desk);
	desk_close(&desk);
	boarded = gate_hand_over(&desk);
	printf("%d flights, %d passengers, %d cancelled, %d boarded\n", opened, passengers, cancelled, boarded);
	printf("%u lookups, %u short cuts, %u refused\n", desk.lookups, desk.short_cuts, desk.refused);
	return 0;
}
