/* summary: a follow-up job is given its predecessor's truck without a reference of its own, but puts it when it is closed
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: own
 * libs: -lm
 * build: gcc -O2 -g
 */
/* Dispatch desk of a breakdown service: trucks, the calls that they are sent to, and the end of the shift. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLEET_MAX 8
#define BOARD_MAX 16

enum truck_kind { TRUCK_FLATBED, TRUCK_HOOK, TRUCK_CRANE };

struct truck {
	char plate[16];
	enum truck_kind kind;
	int capacity_kg;
	int refs;
	int busy;
	double x, y;
	double km;
	unsigned tows;
	char driver[24];
};

struct call {
	int number;
	int weight_kg;
	double from_x, from_y;
	double to_x, to_y;
	int trailer_kg;            /* a trailer is fetched in a second trip */
	struct truck *truck;
	struct call *next;
};

struct desk {
	struct truck *fleet[FLEET_MAX];
	unsigned fleet_size;
	struct call *open;
	struct truck *log[BOARD_MAX];
	unsigned logged;
	int next_number;
};

static inline struct truck *truck_get(struct truck *truck)
{
	truck->refs++;
	return truck;
}

static void truck_sign_off(struct truck *truck)
{
	printf("%s: %s signs off after %.1f km\n", truck->plate, truck->driver, truck->km);
	free(truck);
}

static inline void truck_put(struct truck *truck)
{
	if (truck && --truck->refs == 0)
		truck_sign_off(truck);
}

static struct truck *truck_new(const char *plate, enum truck_kind kind, int capacity, const char *driver)
{
	struct truck *truck = calloc(1, sizeof *truck);

	if (!truck)
		return NULL;
	truck->refs = 1;
	truck->kind = kind;
	truck->capacity_kg = capacity;
	snprintf(truck->plate, sizeof truck->plate, "%s", plate);
	snprintf(truck->driver, sizeof truck->driver, "%s", driver);
	return truck;
}

static int desk_enlist(struct desk *desk, struct truck *truck, double x, double y)
{
	if (!truck)
		return -ENOMEM;
	if (desk->fleet_size == FLEET_MAX) {
		truck_put(truck);
		return -ENOSPC;
	}
	truck->x = x;
	truck->y = y;
	desk->fleet[desk->fleet_size++] = truck;
	return 0;
}

static double distance(double ax, double ay, double bx, double by)
{
	double dx = ax - bx, dy = ay - by;

	return sqrt(dx * dx + dy * dy);
}

/* The nearest idle truck that can carry the weight; the fleet keeps it. */
static struct truck *desk_nearest(struct desk *desk, double x, double y, int weight)
{
	struct truck *best = NULL;
	double best_km = HUGE_VAL;

	for (unsigned i = 0; i < desk->fleet_size; i++) {
		struct truck *truck = desk->fleet[i];
		double km = distance(truck->x, truck->y, x, y);

		if (truck->busy || truck->capacity_kg < weight || km >= best_km)
			continue;
		best = truck;
		best_km = km;
	}
	return best;
}

static struct call *call_new(struct desk *desk, int weight, double fx, double fy, double tx, double ty)
{
	struct call *call = calloc(1, sizeof *call);

	if (!call)
		return NULL;
	call->number = ++desk->next_number;
	call->weight_kg = weight;
	call->from_x = fx;
	call->from_y = fy;
	call->to_x = tx;
	call->to_y = ty;
	return call;
}

static void desk_post(struct desk *desk, struct call *call)
{
	struct call **tail = &desk->open;

	while (*tail)
		tail = &(*tail)->next;
	*tail = call;
}

static int desk_take_call(struct desk *desk, int weight, int trailer, double fx, double fy, double tx, double ty)
{
	struct truck *truck = desk_nearest(desk, fx, fy, weight > trailer ? weight : trailer);
	struct call *call;

	if (!truck)
		return -EBUSY;
	call = call_new(desk, weight, fx, fy, tx, ty);
	if (!call)
		return -ENOMEM;
	call->trailer_kg = trailer;
	call->truck = truck_get(truck);
	truck->busy = 1;
	desk_post(desk, call);
	return call->number;
}

/* The trailer stays at the roadside: the same truck goes back for it. */
static int desk_second_trip(struct desk *desk, struct call *done)
{
	struct call *again = call_new(desk, done->trailer_kg, done->from_x, done->from_y, done->to_x, done->to_y);

	if (!again)
		return -ENOMEM;
#ifdef BUG
	again->truck = done->truck; /* GUILTY */
#else
	again->truck = truck_get(done->truck);
#endif
	again->truck->busy = 1;
	desk_post(desk, again);
	return again->number;
}

static void desk_log(struct desk *desk, struct truck *truck)
{
	for (unsigned i = 0; i < desk->logged; i++)
		if (desk->log[i] == truck)
			return;
	if (desk->logged < BOARD_MAX && truck->kind != TRUCK_HOOK)
		desk->log[desk->logged++] = truck_get(truck);
}

static void desk_close_first(struct desk *desk)
{
	struct call *call = desk->open;
	struct truck *truck;

	if (!call)
		return;
	desk->open = call->next;
	truck = call->truck;
	truck->km += distance(truck->x, truck->y, call->from_x, call->from_y);
	truck->km += distance(call->from_x, call->from_y, call->to_x, call->to_y);
	truck->x = call->to_x;
	truck->y = call->to_y;
	truck->tows++;
	truck->busy = 0;
	printf("call %d: %s, %d kg, now %.1f km\n", call->number, truck->plate, call->weight_kg, truck->km);
	if (call->trailer_kg)
		desk_second_trip(desk, call);
	desk_log(desk, truck);
	truck_put(call->truck);
	free(call);
}

/* A driver goes home: no further calls for the truck, those under way are finished. */
static int desk_retire(struct desk *desk, const char *plate)
{
	for (unsigned i = 0; i < desk->fleet_size; i++) {
		struct truck *truck = desk->fleet[i];

		if (strcmp(truck->plate, plate))
			continue;
		desk->fleet[i] = desk->fleet[--desk->fleet_size];
		truck_put(truck);
		return 0;
	}
	return -ENOENT;
}

static void desk_end_shift(struct desk *desk)
{
	while (desk->open)
		desk_close_first(desk);
	for (unsigned i = 0; i < desk->logged; i++) {
		printf("log: %s (%s) %u tows, %.1f km\n", desk->log[i]->plate, desk->log[i]->driver, desk->log[i]->tows,
		       desk->log[i]->km);
		truck_put(desk->log[i]);
	}
	desk->logged = 0;
	while (desk->fleet_size)
		truck_put(desk->fleet[--desk->fleet_size]);
}

int main(void)
{
	struct desk desk = { 0 };

	desk_enlist(&desk, truck_new("KA-T 101", TRUCK_FLATBED, 2800, "Oezdemir"), 0, 0);
	desk_enlist(&desk, truck_new("KA-T 102", TRUCK_HOOK, 2200, "Brandt"), 6, 1);
	desk_enlist(&desk, truck_new("KA-T 103", TRUCK_CRANE, 7500, "Lindqvist"), 12, 9);
	desk_enlist(&desk, truck_new("KA-T 104", TRUCK_FLATBED, 3500, "Moreau"), -4, 3);
	desk_enlist(&desk, truck_new("KA-T 105", TRUCK_HOOK, 2000, "Nowak"), -9, -2);
	desk_enlist(&desk, truck_new("KA-T 106", TRUCK_CRANE, 9000, "Hale"), 2, -8);

	desk_take_call(&desk, 1400, 0, 1, 1, 4, 4);
	desk_take_call(&desk, 1900, 750, 7, 2, 3, 8);
	desk_take_call(&desk, 6200, 0, 10, 10, 0, 0);
	desk_close_first(&desk);
	desk_take_call(&desk, 1100, 0, -9, -3, 1, 1);
	desk_retire(&desk, "KA-T 102");
	desk_close_first(&desk);
	desk_take_call(&desk, 3000, 0, -5, 4, 2, 2);
	if (desk_retire(&desk, "KA-T 999") != -ENOENT)
		return 1;
	desk_end_shift(&desk);
	return 0;
}
