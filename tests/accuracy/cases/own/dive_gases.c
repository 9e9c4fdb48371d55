/*
 * summary: a copied dive plan takes the original's bailout gas over without holding it
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * libs: -lm
 * build: gcc -O2 -g
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Planner of a dive club: gases are mixed once and lie in the rack, plans refer to them from every stop. A plan that was
   approved is copied and varied (three metres deeper, five minutes longer) for the slate that the divers take along. */

#define MOST_PLANS 16

struct gas {
    char label[16];
    int oxygen, helium; /* percent */
    int refs;
    double switch_depth;
};

struct stop {
    double depth;
    int minutes;
    struct gas *gas;
};

struct plan {
    char name[32];
    struct stop *stops;
    int count, room;
    struct gas *bottom;
    struct gas *bailout;
    struct plan *origin;
    double reserve; /* bar */
};

struct rack {
    struct gas *gases[12];
    int count;
};

static struct plan *plans[MOST_PLANS];
static int plan_count;

static struct gas *gas_mix(const char *label, int oxygen, int helium)
{
    struct gas *gas = calloc(1, sizeof *gas);
    if (!gas)
        abort();
    snprintf(gas->label, sizeof gas->label, "%s", label);
    gas->oxygen = oxygen;
    gas->helium = helium;
    gas->switch_depth = floor((1.6 / (oxygen / 100.0) - 1) * 10);
    gas->refs = 1;
    return gas;
}

static struct gas *gas_hold(struct gas *gas)
{
    __atomic_add_fetch(&gas->refs, 1, __ATOMIC_RELAXED);
    return gas;
}

static void gas_drop(struct gas *gas)
{
    if (gas && __atomic_sub_fetch(&gas->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(gas);
}

static void rack_fill(struct rack *rack)
{
    static const struct { const char *label; int oxygen, helium; } mixes[] = {
        {"air", 21, 0}, {"ean32", 32, 0}, {"ean50", 50, 0}, {"oxygen", 100, 0},
        {"tx18/45", 18, 45}, {"tx21/35", 21, 35}, {"tx35/25", 35, 25},
    };
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
        rack->gases[rack->count++] = gas_mix(mixes[i].label, mixes[i].oxygen, mixes[i].helium);
}

/* The caller drops what it gets. */
static struct gas *rack_take(struct rack *rack, const char *label)
{
    for (int i = 0; i < rack->count; i++)
        if (!strcmp(rack->gases[i]->label, label))
            return gas_hold(rack->gases[i]);
    return NULL;
}

static void rack_empty(struct rack *rack)
{
    while (rack->count > 0)
        gas_drop(rack->gases[--rack->count]);
}

static struct plan *plan_new(const char *name, struct gas *bottom, struct gas *bailout)
{
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        abort();
    snprintf(plan->name, sizeof plan->name, "%s", name);
    plan->bottom = gas_hold(bottom);
    if (bailout)
        plan->bailout = gas_hold(bailout);
    plan->reserve = 50;
    return plan;
}

static void plan_stop(struct plan *plan, double depth, int minutes, struct gas *gas)
{
    if (plan->count == plan->room) {
        plan->room = plan->room ? plan->room * 2 : 4;
        plan->stops = realloc(plan->stops, plan->room * sizeof *plan->stops);
        if (!plan->stops)
            abort();
    }
    plan->stops[plan->count++] = (struct stop){depth, minutes, gas_hold(gas)};
}

static struct plan *plan_copy(struct plan *from, const char *suffix)
{
    struct plan *copy = malloc(sizeof *copy);
    if (!copy)
        abort();
    *copy = *from;                                              /* GUILTY */
    snprintf(copy->name, sizeof copy->name, "%.20s %s", from->name, suffix);
    copy->origin = from;
    gas_hold(copy->bottom);
#ifndef BUG
    if (copy->bailout)
        gas_hold(copy->bailout);
#endif
    copy->room = from->count;
    copy->stops = calloc(copy->room ? copy->room : 1, sizeof *copy->stops);
    if (!copy->stops)
        abort();
    for (int i = 0; i < from->count; i++) {
        copy->stops[i] = from->stops[i];
        gas_hold(copy->stops[i].gas);
    }
    return copy;
}

static void plan_free(struct plan *plan)
{
    for (int i = 0; i < plan->count; i++)
        gas_drop(plan->stops[i].gas);
    free(plan->stops);
    gas_drop(plan->bailout);
    gas_drop(plan->bottom);
    free(plan);
}

static void plan_deeper(struct plan *plan, double metres)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->stops[i].gas == plan->bottom)
            plan->stops[i].depth += metres;
}

static void plan_longer(struct plan *plan, int minutes)
{
    if (plan->count > 0)
        plan->stops[0].minutes += minutes;
    for (int i = 1; i < plan->count; i++)
        plan->stops[i].minutes += (minutes + 3) / 4;
}

/* Where a richer gas may be breathed at a stop, it is. */
static void plan_enrich(struct plan *plan, struct gas *richer)
{
    for (int i = 1; i < plan->count; i++) {
        struct stop *stop = &plan->stops[i];
        if (stop->depth > richer->switch_depth || stop->gas->oxygen >= richer->oxygen)
            continue;
        struct gas *before = stop->gas;
        stop->gas = gas_hold(richer);
        gas_drop(before);
    }
}

static int plan_minutes(const struct plan *plan)
{
    int minutes = 0;
    for (int i = 0; i < plan->count; i++)
        minutes += plan->stops[i].minutes;
    return minutes;
}

static double plan_litres(const struct plan *plan, const struct gas *gas)
{
    double litres = 0;
    for (int i = 0; i < plan->count; i++)
        if (plan->stops[i].gas == gas)
            litres += plan->stops[i].minutes * 18.0 * (1 + plan->stops[i].depth / 10);
    return litres;
}

static void slate(const struct plan *plan)
{
    printf("%-26s %3d min, %5.0f l of %s", plan->name, plan_minutes(plan), plan_litres(plan, plan->bottom),
           plan->bottom->label);
    if (plan->bailout)
        printf(", bailout %s to %.0f m", plan->bailout->label, plan->bailout->switch_depth);
    if (plan->origin)
        printf(", after \"%s\"", plan->origin->name);
    putchar('\n');
}

static struct plan *file_plan(struct plan *plan)
{
    if (plan_count == MOST_PLANS)
        abort();
    return plans[plan_count++] = plan;
}

static struct plan *approve(struct rack *rack, const char *name, const char *bottom, const char *bailout, double depth,
                            int minutes)
{
    struct gas *deep = rack_take(rack, bottom);
    struct gas *escape = bailout ? rack_take(rack, bailout) : NULL;
    struct gas *deco = rack_take(rack, "ean50");
    struct plan *plan = NULL;
    if (!deep || !deco || (bailout && !escape))
        goto out;
    plan = file_plan(plan_new(name, deep, escape));
    plan_stop(plan, depth, minutes, deep);
    for (double at = 3 * floor(depth / 9); at > 0; at -= 6)
        plan_stop(plan, at, 2 + (int)(30 / (at + 3)), deep);
    plan_enrich(plan, deco);
out:
    gas_drop(deco);
    gas_drop(escape);
    gas_drop(deep);
    return plan;
}

int main(void)
{
    struct rack rack = {.count = 0};
    rack_fill(&rack);

    struct plan *reef = approve(&rack, "reef", "ean32", NULL, 28, 40);
    struct plan *wreck = approve(&rack, "wreck", "tx21/35", "tx35/25", 51, 22);
    struct plan *wall = approve(&rack, "wall", "tx18/45", "tx21/35", 63, 16);
    if (approve(&rack, "cave", "heliox", NULL, 80, 10))
        return 1;

    plan_longer(file_plan(plan_copy(reef, "+5 min")), 5);
    plan_deeper(file_plan(plan_copy(wreck, "+3 m")), 3);
    plan_longer(file_plan(plan_copy(wreck, "+5 min")), 5);
    plan_deeper(file_plan(plan_copy(wall, "+3 m")), 3);

    struct gas *oxygen = rack_take(&rack, "oxygen");
    for (int i = 0; i < plan_count; i++)
        plan_enrich(plans[i], oxygen);
    gas_drop(oxygen);

    for (int i = 0; i < plan_count; i++)
        slate(plans[i]);
    rack_empty(&rack);
    while (plan_count > 0)
        plan_free(plans[--plan_count]);
    return 0;
}
