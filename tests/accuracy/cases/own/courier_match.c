/* summary: best_courier() keeps a better candidate over the one that it has kept before, whose reference nobody gives back
 * kind: overwritten
 * counts: surplus
 * objects: 9
 * track: own
 * build: gcc -O0 -g
 * exit: 0
 */
/*
 * courier_match - hands orders to bicycle couriers. Couriers sign on and off
 * during the day; an order holds its courier until it is delivered, so that
 * one who has signed off can still finish the tour.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct courier {
    unsigned id;
    int x, y;
    unsigned load, capacity;
    bool on_duty;
    unsigned tours;
    uint32_t refs;
    struct courier *next; /* in the list of a district */
} courier_t;

typedef struct {
    courier_t *head; /* the list has a reference to each */
    unsigned count;
} district_t;

typedef struct order {
    unsigned number;
    int x, y;
    unsigned district;
    bool fragile;
    unsigned age;
    courier_t *courier; /* owned, NULL while it waits */
    struct order *next;
} order_t;

#define DISTRICTS 3

typedef struct {
    district_t districts[DISTRICTS];
    order_t *waiting, *on_tour;
    unsigned next_courier, next_order;
    unsigned delivered, given_up, handed_over;
    unsigned long way;
} office_t;

static int couriers_alive;

static courier_t *courier_new(unsigned id, int x, int y)
{
    courier_t *c = calloc(1, sizeof *c);

    if (c == NULL)
        abort();
    c->id = id;
    c->x = x;
    c->y = y;
    c->capacity = 1 + id % 3;
    c->on_duty = true;
    c->refs = 1;
    couriers_alive++;
    return c;
}

static courier_t *courier_ref(courier_t *c)
{
    c->refs++;
    return c;
}

static void courier_unref(courier_t *c)
{
    if (c != NULL && --c->refs == 0) {
        couriers_alive--;
        free(c);
    }
}

/* ------------------------------------------------------ districts */

static void district_add(district_t *d, courier_t *c)
{
    c->next = d->head;
    d->head = courier_ref(c);
    d->count++;
}

/* The list's reference goes to the caller. */
static courier_t *district_remove(district_t *d, unsigned id)
{
    for (courier_t **at = &d->head; *at != NULL; at = &(*at)->next) {
        courier_t *c = *at;

        if (c->id == id) {
            *at = c->next;
            c->next = NULL;
            d->count--;
            return c;
        }
    }
    return NULL;
}

static unsigned distance(const courier_t *c, const order_t *o)
{
    return (unsigned)abs(c->x - o->x) + (unsigned)abs(c->y - o->y);
}

static bool suits(const courier_t *c, const order_t *o)
{
    if (!c->on_duty || c->load >= c->capacity)
        return false;
    return !o->fragile || c->capacity < 3; /* no fragile things on cargo bikes */
}

/* The nearest one that can take the order, with a reference for the caller. */
static courier_t *best_courier(const district_t *d, const order_t *o)
{
    courier_t *best = NULL;
    unsigned nearest = 60;

    for (courier_t *c = d->head; c != NULL; c = c->next) {
        unsigned far = distance(c, o);

        if (far >= nearest || !suits(c, o))
            continue;
        nearest = far;
#ifdef BUG
        best = courier_ref(c); /* GUILTY */
#else
        courier_unref(best);
        best = courier_ref(c);
#endif
        if (far < 5) /* next door, good enough */
            break;
    }
    return best;
}

/* ------------------------------------------------------ the office */

static void sign_on(office_t *of, unsigned district)
{
    unsigned id = of->next_courier++;
    courier_t *c = courier_new(id, (int)(id * 17 % 50), (int)(id * 29 % 50));

    district_add(&of->districts[district], c);
    courier_unref(c);
}

static bool sign_off(office_t *of, unsigned district, unsigned id)
{
    courier_t *c = district_remove(&of->districts[district], id);

    if (c == NULL)
        return false;
    c->on_duty = false;
    courier_unref(c);
    return true;
}

static void order_add(office_t *of)
{
    order_t *o = calloc(1, sizeof *o), **end = &of->waiting;

    if (o == NULL)
        abort();
    o->number = of->next_order++;
    o->district = o->number % 4 % DISTRICTS;
    o->x = (int)(o->number * 31 % 50);
    o->y = (int)(o->number * 7 % 50);
    o->fragile = o->number % 5 == 0;
    while (*end != NULL)
        end = &(*end)->next;
    *end = o;
}

static void order_free(order_t *o)
{
    courier_unref(o->courier);
    free(o);
}

static void assign(office_t *of)
{
    for (order_t **at = &of->waiting; *at != NULL;) {
        order_t *o = *at;

        o->courier = best_courier(&of->districts[o->district], o);
        if (o->courier == NULL && o->age > 2) /* ask the neighbours */
            o->courier = best_courier(&of->districts[(o->district + 1) % DISTRICTS], o);
        if (o->courier == NULL && o->age < 6) {
            o->age++;
            at = &o->next;
            continue;
        }
        *at = o->next;
        if (o->courier == NULL) {
            of->given_up++;
            order_free(o);
            continue;
        }
        of->way += distance(o->courier, o);
        o->courier->load++;
        o->age = 0;
        o->next = of->on_tour;
        of->on_tour = o;
    }
}

/* A courier with a puncture gives an order to a colleague. */
static void hand_over(office_t *of, order_t *o)
{
    courier_t *other;

    o->courier->on_duty = false;
    other = best_courier(&of->districts[o->district], o);
    o->courier->on_duty = true;
    if (other == NULL)
        return;
    o->courier->load--;
    courier_unref(o->courier);
    o->courier = other;
    other->load++;
    of->handed_over++;
}

static void ride(office_t *of, unsigned hour)
{
    for (order_t **at = &of->on_tour; *at != NULL;) {
        order_t *o = *at;

        if (o->age++ < 1 + o->number % 3) {
            if ((o->number + hour) % 13 == 0 && o->courier->on_duty)
                hand_over(of, o);
            at = &o->next;
            continue;
        }
        o->courier->x = o->x;
        o->courier->y = o->y;
        o->courier->load--;
        o->courier->tours++;
        of->delivered++;
        *at = o->next;
        order_free(o);
    }
}

static void office_close(office_t *of)
{
    for (order_t *o; (o = of->waiting) != NULL || (o = of->on_tour) != NULL;) {
        *(o == of->waiting ? &of->waiting : &of->on_tour) = o->next;
        order_free(o);
    }
    for (unsigned i = 0; i < DISTRICTS; i++)
        while (of->districts[i].head != NULL)
            sign_off(of, i, of->districts[i].head->id);
}

int main(void)
{
    office_t of = {0};
    unsigned unknown = 0;

    for (unsigned i = 0; i < 12; i++)
        sign_on(&of, i % DISTRICTS);
    for (unsigned hour = 0; hour < 14; hour++) {
        for (unsigned i = 0; i < 3 + hour % 4; i++)
            order_add(&of);
        assign(&of);
        ride(&of, hour);
        if (hour % 3 == 2)
            unknown += !sign_off(&of, hour % DISTRICTS, hour);
        if (hour % 4 == 1)
            sign_on(&of, hour % DISTRICTS);
    }
    office_close(&of);
    printf("%u couriers, %u orders: %u delivered, %u given up, %u handed over, way %lu, %u unknown\n", of.next_courier,
           of.next_order, of.delivered, of.given_up, of.handed_over, of.way, unknown);
#ifdef TRUTH
    printf("left: %d\n", couriers_alive);
#endif
    return 0;
}
