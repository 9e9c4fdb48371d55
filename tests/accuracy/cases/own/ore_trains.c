/*
 * summary: the spare wagon that is looked at in the siding and coupled to a train is put, although the siding only lent it
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: own
 * build: gcc -O2 -g
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Trains of an ore railway. Wagons are listed in the siding that they belong to, and run in a train for a while; either holds
   them. What is done with a wagon that nobody holds depends on its owner: our own are scrapped, hired ones go back. */

struct wagon;

struct wagon_owner {
    const char *name;
    void (*release)(struct wagon *wagon);
    int released;
};

struct wagon {
    int number;
    int tonnes;
    long kilometres;
    struct wagon_owner *owner;
    unsigned holds;
    bool hot_axle;
};

struct wagon_list {
    struct wagon **items;
    size_t count;
    size_t room;
};

struct train {
    char id[8];
    struct wagon_list wagons;
    long kilometres;
    struct train *next;
};

struct railway {
    struct wagon_list siding;
    struct train *trains;
    int swaps;
    long hauled;
};

static void scrap(struct wagon *wagon);
static void hand_back(struct wagon *wagon);

static struct wagon_owner own_fleet = {"own", scrap, 0};
static struct wagon_owner leasing = {"Northern Leasing", hand_back, 0};

static struct wagon *wagon_build(int number, struct wagon_owner *owner)
{
    struct wagon *wagon = calloc(1, sizeof *wagon);

    if (wagon == NULL)
        abort();
    wagon->number = number;
    wagon->owner = owner;
    wagon->holds = 1;
    return wagon;
}

static struct wagon *wagon_hold(struct wagon *wagon)
{
    wagon->holds++;
    return wagon;
}

static void wagon_release(struct wagon *wagon)
{
    if (--wagon->holds == 0)
        wagon->owner->release(wagon);
}

static void scrap(struct wagon *wagon)
{
    wagon->owner->released++;
    free(wagon);
}

static void hand_back(struct wagon *wagon)
{
    wagon->owner->released++;
    if (wagon->kilometres > 1000)
        printf("wagon %d goes back after %ld km\n", wagon->number, wagon->kilometres);
    free(wagon);
}

/* The list has a hold on each of its wagons. */
static void list_add(struct wagon_list *list, struct wagon *wagon)
{
    if (list->count == list->room) {
        list->room = list->room == 0 ? 8 : 2 * list->room;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        if (list->items == NULL)
            abort();
    }
    list->items[list->count++] = wagon_hold(wagon);
}

/* Takes the wagon at that place out of the list and gives its hold to the caller. */
static struct wagon *list_take(struct wagon_list *list, size_t at)
{
    struct wagon *wagon = list->items[at];

    memmove(&list->items[at], &list->items[at + 1], (list->count - at - 1) * sizeof *list->items);
    list->count--;
    return wagon;
}

static bool list_contains(const struct wagon_list *list, const struct wagon *wagon)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == wagon)
            return true;
    return false;
}

static void list_clear(struct wagon_list *list)
{
    while (list->count > 0)
        wagon_release(list_take(list, list->count - 1));
    free(list->items);
    memset(list, 0, sizeof *list);
}

static struct train *train_make_up(struct railway *railway, const char *id)
{
    struct train *train = calloc(1, sizeof *train);

    if (train == NULL)
        abort();
    snprintf(train->id, sizeof train->id, "%s", id);
    train->next = railway->trains;
    railway->trains = train;
    return train;
}

static bool wagon_in_use(const struct railway *railway, const struct wagon *wagon)
{
    for (const struct train *train = railway->trains; train != NULL; train = train->next)
        if (list_contains(&train->wagons, wagon))
            return true;
    return false;
}

static void railway_enlist(struct railway *railway, int number, struct wagon_owner *owner)
{
    struct wagon *wagon = wagon_build(number, owner);

    list_add(&railway->siding, wagon);
    wagon_release(wagon);
}

/* Looks for a wagon of the siding that is sound and in no train. */
static struct wagon *railway_idle_wagon(const struct railway *railway)
{
    for (size_t i = 0; i < railway->siding.count; i++) {
        struct wagon *wagon = railway->siding.items[i];

        if (!wagon->hot_axle && !wagon_in_use(railway, wagon))
            return wagon;
    }
    return NULL;
}

static size_t couple(struct railway *railway, struct train *train, size_t wanted)
{
    size_t coupled = 0;

    while (coupled < wanted) {
        struct wagon *wagon = railway_idle_wagon(railway);

        if (wagon == NULL)
            break;
        list_add(&train->wagons, wagon);
        coupled++;
    }
    return coupled;
}

/* Replaces the wagons with a hot axle by others, as far as there are any. */
static void inspect(struct railway *railway, struct train *train)
{
    size_t at = 0;

    while (at < train->wagons.count) {
        struct wagon *hot, *spare;

        if (!train->wagons.items[at]->hot_axle) {
            at++;
            continue;
        }
        hot = list_take(&train->wagons, at);
        spare = railway_idle_wagon(railway);
        if (spare != NULL) {
            printf("%s: wagon %d for %d\n", train->id, spare->number, hot->number);
            list_add(&train->wagons, spare);
#ifdef BUG
            wagon_release(spare); /* GUILTY */
#endif
            railway->swaps++;
        } else {
            printf("%s: without wagon %d\n", train->id, hot->number);
        }
        wagon_release(hot);
    }
}

static void run(struct railway *railway, struct train *train, long kilometres, int tonnes_each)
{
    train->kilometres += kilometres;
    for (size_t i = 0; i < train->wagons.count; i++) {
        struct wagon *wagon = train->wagons.items[i];

        wagon->kilometres += kilometres;
        wagon->tonnes += tonnes_each;
        railway->hauled += tonnes_each;
    }
}

static void split_up(struct railway *railway, struct train *train)
{
    struct train **link = &railway->trains;

    while (*link != train)
        link = &(*link)->next;
    *link = train->next;
    printf("%s split up after %ld km, %zu wagons\n", train->id, train->kilometres, train->wagons.count);
    list_clear(&train->wagons);
    free(train);
}

static void retire(struct railway *railway, int number)
{
    for (size_t i = 0; i < railway->siding.count; i++) {
        if (railway->siding.items[i]->number == number) {
            wagon_release(list_take(&railway->siding, i));
            return;
        }
    }
}

static void report_axle(struct railway *railway, int number)
{
    for (size_t i = 0; i < railway->siding.count; i++)
        if (railway->siding.items[i]->number == number)
            railway->siding.items[i]->hot_axle = true;
}

int main(void)
{
    struct railway railway = {0};
    struct train *north, *coast;

    for (int number = 301; number <= 306; number++)
        railway_enlist(&railway, number, &own_fleet);
    railway_enlist(&railway, 911, &leasing);
    railway_enlist(&railway, 912, &leasing);

    north = train_make_up(&railway, "N1");
    coast = train_make_up(&railway, "C4");
    printf("%zu wagons for %s\n", couple(&railway, north, 4), north->id);
    printf("%zu wagons for %s\n", couple(&railway, coast, 3), coast->id);
    run(&railway, north, 620, 80);
    run(&railway, coast, 180, 75);
    retire(&railway, 305);
    report_axle(&railway, 306);
    inspect(&railway, coast);
    run(&railway, north, 620, 80);
    report_axle(&railway, 302);
    inspect(&railway, north);
    run(&railway, north, 310, 80);
    split_up(&railway, north);
    split_up(&railway, coast);
    list_clear(&railway.siding);
    printf("%d swaps, %ld tonnes, %d scrapped, %d handed back\n", railway.swaps, railway.hauled, own_fleet.released, leasing.released);
    return 0;
}
