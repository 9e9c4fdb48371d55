/*
 * summary: when a nearer vessel takes the place in an alert, the alert stores its pointer without a reference
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: own
 * libs: -lm
 * build: gcc -O2 -g
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLEET_SLOTS 32
#define ALERT_MILES 2.0

struct vessel {
	unsigned mmsi;
	char callsign[12];
	double x, y; /* nautical miles from the tower */
	unsigned refs;
	unsigned last_seen;
	char name[24];
};

struct fleet {
	struct vessel *slots[FLEET_SLOTS];
	unsigned length;
};

/* Two vessels too near to each other, as the tower's screen lists them. */
struct alert {
	struct alert *next;
	struct vessel *own, *other;
	double miles;
	unsigned raised, updates;
};

struct tower {
	struct fleet fleet;
	struct alert *alerts;
	struct vessel *guided; /* whom the pilot talks to */
	unsigned clock;
	unsigned closed_alerts;
};

static struct vessel *vessel_create(unsigned mmsi, const char *callsign, const char *name)
{
	struct vessel *vessel = calloc(1, sizeof *vessel);

	if (!vessel)
		abort();
	vessel->mmsi = mmsi;
	vessel->refs = 1;
	snprintf(vessel->callsign, sizeof vessel->callsign, "%s", callsign);
	snprintf(vessel->name, sizeof vessel->name, "%s", name);
	return vessel;
}

static struct vessel *vessel_get(struct vessel *vessel)
{
	__atomic_fetch_add(&vessel->refs, 1, __ATOMIC_RELAXED);
	return vessel;
}

static void vessel_put(struct vessel *vessel)
{
	if (vessel && __atomic_sub_fetch(&vessel->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(vessel);
}

static struct vessel **fleet_slot(struct fleet *fleet, unsigned mmsi)
{
	unsigned at = mmsi * 2654435761u >> 27;

	while (fleet->slots[at] && fleet->slots[at]->mmsi != mmsi)
		at = (at + 1) % FLEET_SLOTS;
	return &fleet->slots[at];
}

static bool fleet_register(struct fleet *fleet, unsigned mmsi, const char *callsign, const char *name)
{
	struct vessel **slot = fleet_slot(fleet, mmsi);

	if (*slot || fleet->length > FLEET_SLOTS / 2)
		return false;
	*slot = vessel_create(mmsi, callsign, name);
	fleet->length++;
	return true;
}

static void fleet_close(struct fleet *fleet)
{
	for (unsigned i = 0; i < FLEET_SLOTS; i++) {
		vessel_put(fleet->slots[i]);
		fleet->slots[i] = NULL;
	}
	fleet->length = 0;
}

static double vessel_distance(const struct vessel *a, const struct vessel *b)
{
	return hypot(a->x - b->x, a->y - b->y);
}

static struct alert *tower_alert_of(struct tower *tower, const struct vessel *own)
{
	struct alert *alert = tower->alerts;

	while (alert && alert->own != own)
		alert = alert->next;
	return alert;
}

static bool tower_has_pair(struct tower *tower, const struct vessel *a, const struct vessel *b)
{
	for (struct alert *alert = tower->alerts; alert; alert = alert->next) {
		if ((alert->own == a && alert->other == b) || (alert->own == b && alert->other == a))
			return true;
	}
	return false;
}

static void tower_raise(struct tower *tower, struct vessel *own, struct vessel *other, double miles)
{
	struct alert *alert = tower_alert_of(tower, own);

	if (alert) {
		if (miles >= alert->miles)
			return;
		vessel_put(alert->other);
#ifdef BUG
		alert->other = other; /* GUILTY */
#else
		alert->other = vessel_get(other);
#endif
		alert->miles = miles;
		alert->updates++;
		return;
	}

	alert = calloc(1, sizeof *alert);
	if (!alert)
		abort();
	alert->own = vessel_get(own);
	alert->other = vessel_get(other);
	alert->miles = miles;
	alert->raised = tower->clock;
	alert->next = tower->alerts;
	tower->alerts = alert;
}

static void alert_close(struct alert *alert)
{
	vessel_put(alert->own);
	vessel_put(alert->other);
	free(alert);
}

/* Pairs that have parted leave the list. */
static void tower_review(struct tower *tower)
{
	struct alert **at = &tower->alerts;

	while (*at) {
		struct alert *alert = *at;

		alert->miles = vessel_distance(alert->own, alert->other);
		if (alert->miles <= ALERT_MILES) {
			at = &alert->next;
			continue;
		}
		printf("%u: %s and %s are clear after %u min\n", tower->clock, alert->own->callsign,
		       alert->other->callsign, tower->clock - alert->raised);
		*at = alert->next;
		alert_close(alert);
		tower->closed_alerts++;
	}
}

static bool tower_report(struct tower *tower, unsigned mmsi, double x, double y)
{
	struct vessel *vessel = *fleet_slot(&tower->fleet, mmsi);

	if (!vessel)
		return false;
	vessel->x = x;
	vessel->y = y;
	vessel->last_seen = tower->clock;

	for (unsigned i = 0; i < FLEET_SLOTS; i++) {
		struct vessel *near = tower->fleet.slots[i];
		double miles;

		if (!near || near == vessel || near->last_seen == 0)
			continue;
		miles = vessel_distance(vessel, near);
		if (miles <= ALERT_MILES && !tower_has_pair(tower, vessel, near))
			tower_raise(tower, vessel, near, miles);
	}
	return true;
}

static void tower_guide(struct tower *tower, unsigned mmsi)
{
	struct vessel *vessel = mmsi ? *fleet_slot(&tower->fleet, mmsi) : NULL;
	struct vessel *before = tower->guided;

	tower->guided = vessel ? vessel_get(vessel) : NULL;
	vessel_put(before);
}

static void tower_close(struct tower *tower)
{
	tower_guide(tower, 0);
	while (tower->alerts) {
		struct alert *alert = tower->alerts;

		tower->alerts = alert->next;
		alert_close(alert);
	}
	fleet_close(&tower->fleet);
}

int main(void)
{
	static const struct { unsigned minute, mmsi; double x, y; } reports[] = {
		{ 1, 211300100, 0.0, 0.0 }, { 1, 219400220, 9.0, 1.0 }, { 1, 244710330, 1.0, 1.2 },
		{ 2, 265500440, 8.0, 9.0 }, { 2, 230900550, -6.0, 4.0 }, { 3, 219400220, 3.1, 0.6 },
		{ 4, 211300100, 2.2, 0.9 }, { 4, 273100660, 8.4, 9.8 }, { 5, 244710330, -4.8, 4.2 },
		{ 6, 219400220, 7.7, 6.0 }, { 7, 211300100, 2.4, 4.9 }, { 8, 230900550, -9.9, 9.0 },
	};
	struct tower tower = { .clock = 0 };
	unsigned unknown = 0;

	fleet_register(&tower.fleet, 211300100, "DBAA", "Elbe Trader");
	fleet_register(&tower.fleet, 219400220, "OXQR", "Kattegat");
	fleet_register(&tower.fleet, 244710330, "PCKL", "Ijssel");
	fleet_register(&tower.fleet, 265500440, "SFVT", "Vinga");
	fleet_register(&tower.fleet, 230900550, "OJMN", "Aura");
	fleet_register(&tower.fleet, 273100660, "UBXX", "Neva Star");

	tower_guide(&tower, 265500440);
	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
		if (reports[i].minute != tower.clock) {
			tower.clock = reports[i].minute;
			tower_review(&tower);
		}
		if (!tower_report(&tower, reports[i].mmsi, reports[i].x, reports[i].y))
			unknown++;
		if (i == 6)
			tower_guide(&tower, 211300100);
	}
	tower.clock++;
	tower_review(&tower);

	for (struct alert *alert = tower.alerts; alert; alert = alert->next)
		printf("open: %s, %s %.2f nm, %u updates\n", alert->own->name, alert->other->name, alert->miles, alert->updates);
	printf("%u closed, %u unknown, %u vessels\n", tower.closed_alerts, unknown, tower.fleet.length);
	tower_close(&tower);
	return 0;
}
