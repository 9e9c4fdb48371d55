/*
 * summary: a hold's table of power sockets keeps the containers plugged in without getting them, and unplugging puts them
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O3 -g
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loading of a container ship: the yard knows containers by code, bays are stacks of them, the crane carries one at a time, the
   manifest lists them by port. Refrigerated ones hang on a socket of their hold as well. */

#define BUCKETS 8
#define BAYS 4
#define TIERS 5
#define SOCKETS 3

struct container {
    char code[12];
    char port[4];
    bool reefer;
    uint32_t refs;
    uint32_t moves;
    double tonnes;
};

struct slot {
    struct slot *next;
    struct container *container;
};

struct table {
    struct slot *buckets[BUCKETS];
    int count;
    unsigned (*hash)(const struct container *);
};

struct ship {
    struct container *bays[BAYS][TIERS];
    int height[BAYS];
    struct container *sockets[BAYS][SOCKETS];
    struct container *hook;
};

static unsigned hash_text(const char *text)
{
    unsigned hash = 5381;
    for (; *text; text++)
        hash = hash * 33 ^ (unsigned char)*text;
    return hash;
}

static unsigned hash_code(const struct container *container)
{
    return hash_text(container->code);
}

static unsigned hash_port(const struct container *container)
{
    return hash_text(container->port);
}

static struct container *container_new(const char *code, const char *port, double tonnes, bool reefer)
{
    struct container *container = calloc(1, sizeof *container);
    if (!container)
        abort();
    snprintf(container->code, sizeof container->code, "%s", code);
    snprintf(container->port, sizeof container->port, "%s", port);
    container->tonnes = tonnes;
    container->reefer = reefer;
    container->refs = 1;
    return container;
}

static struct container *container_get(struct container *container)
{
    __atomic_fetch_add(&container->refs, 1, __ATOMIC_RELAXED);
    return container;
}

static void container_put(struct container *container)
{
    if (container && __atomic_fetch_sub(&container->refs, 1, __ATOMIC_ACQ_REL) == 1)
        free(container);
}

static void table_add(struct table *table, struct container *container)
{
    struct slot *slot = malloc(sizeof *slot);
    if (!slot)
        abort();
    struct slot **bucket = &table->buckets[table->hash(container) % BUCKETS];
    slot->container = container_get(container);
    slot->next = *bucket;
    *bucket = slot;
    table->count++;
}

static bool table_remove(struct table *table, struct container *container)
{
    struct slot **at = &table->buckets[table->hash(container) % BUCKETS];
    for (; *at; at = &(*at)->next)
        if ((*at)->container == container) {
            struct slot *slot = *at;
            *at = slot->next;
            free(slot);
            table->count--;
            container_put(container);
            return true;
        }
    return false;
}

static struct container *table_find(struct table *table, const char *code)
{
    for (struct slot *slot = table->buckets[hash_text(code) % BUCKETS]; slot; slot = slot->next)
        if (!strcmp(slot->container->code, code))
            return container_get(slot->container);
    return NULL;
}

static void table_clear(struct table *table)
{
    for (int i = 0; i < BUCKETS; i++)
        while (table->buckets[i]) {
            struct slot *slot = table->buckets[i];
            table->buckets[i] = slot->next;
            container_put(slot->container);
            free(slot);
        }
    table->count = 0;
}

static bool ship_plug(struct ship *ship, int bay, struct container *container)
{
    for (int i = 0; i < SOCKETS; i++)
        if (!ship->sockets[bay][i]) {
#ifdef BUG
            ship->sockets[bay][i] = container; /* GUILTY */
#else
            ship->sockets[bay][i] = container_get(container);
#endif
            return true;
        }
    return false;
}

static void ship_unplug(struct ship *ship, int bay, struct container *container)
{
    for (int i = 0; i < SOCKETS; i++)
        if (ship->sockets[bay][i] == container) {
            ship->sockets[bay][i] = NULL;
            container_put(container);
        }
}

static void hook_take(struct ship *ship, struct container *container)
{
    container_put(ship->hook);
    ship->hook = container_get(container);
    container->moves++;
}

static bool ship_stow(struct ship *ship, int bay)
{
    struct container *container = ship->hook;
    if (!container || ship->height[bay] == TIERS)
        return false;
    if (container->reefer && !ship_plug(ship, bay, container))
        return false;
    ship->bays[bay][ship->height[bay]++] = container_get(container);
    container_put(ship->hook);
    ship->hook = NULL;
    return true;
}

static bool ship_lift(struct ship *ship, int bay)
{
    if (ship->height[bay] == 0)
        return false;
    struct container *top = ship->bays[bay][--ship->height[bay]];
    hook_take(ship, top);
    if (top->reefer)
        ship_unplug(ship, bay, top);
    container_put(top);
    return true;
}

static int ship_restow(struct ship *ship, int from, int to)
{
    int moves = 0;
    while (ship_lift(ship, from)) {
        if (!ship_stow(ship, to)) {
            ship_stow(ship, from);
            break;
        }
        moves++;
    }
    return moves;
}

static double ship_tonnes(const struct ship *ship, int bay)
{
    double tonnes = 0;
    for (int i = 0; i < ship->height[bay]; i++)
        tonnes += ship->bays[bay][i]->tonnes;
    return tonnes;
}

static int port_count(const struct table *manifest, const char *port)
{
    int count = 0;
    for (const struct slot *slot = manifest->buckets[hash_text(port) % BUCKETS]; slot; slot = slot->next)
        count += !strcmp(slot->container->port, port);
    return count;
}

static bool reroute(struct table *yard, struct table *manifest, const char *code, const char *port)
{
    struct container *container = table_find(yard, code);
    if (!container)
        return false;
    table_remove(manifest, container);
    snprintf(container->port, sizeof container->port, "%s", port);
    table_add(manifest, container);
    container_put(container);
    return true;
}

static void ship_clear(struct ship *ship)
{
    for (int bay = 0; bay < BAYS; bay++)
        while (ship_lift(ship, bay))
            ;
    container_put(ship->hook);
    ship->hook = NULL;
}

int main(void)
{
    static const struct { const char *code, *port; double tonnes; bool reefer; int bay; } cargo[] = {
        {"MSKU410277", "SIN", 21.5, false, 0}, {"TGHU118204", "RTM", 18.0, true, 0}, {"CMAU552310", "SIN", 24.2, false, 0},
        {"HLXU630019", "ANR", 12.4, false, 1}, {"SUDU700452", "RTM", 27.1, false, 1}, {"OOLU291187", "SIN", 16.9, true, 1},
        {"NYKU848120", "ANR", 9.8, false, 2},
    };
    struct table yard = {.hash = hash_code}, manifest = {.hash = hash_port};
    struct ship ship = {.hook = NULL};

    for (size_t i = 0; i < sizeof cargo / sizeof *cargo; i++) {
        struct container *container = container_new(cargo[i].code, cargo[i].port, cargo[i].tonnes, cargo[i].reefer);
        table_add(&yard, container);
        table_add(&manifest, container);
        hook_take(&ship, container);
        if (!ship_stow(&ship, cargo[i].bay))
            printf("no place for %s\n", container->code);
        container_put(container);
    }
    int moves = 0;
    moves += ship_restow(&ship, 2, 3);
    moves += ship_restow(&ship, 1, 2);
    reroute(&yard, &manifest, "HLXU630019", "SIN");
    reroute(&yard, &manifest, "HLXU630010", "SIN");
    for (int bay = 0; bay < BAYS; bay++)
        printf("bay %d: %d containers, %.1f t\n", bay, ship.height[bay], ship_tonnes(&ship, bay));
    printf("%d moves, %d for SIN, %d for RTM, %d in all\n", moves, port_count(&manifest, "SIN"),
           port_count(&manifest, "RTM"), yard.count);

    ship_clear(&ship);
    table_clear(&manifest);
    table_clear(&yard);
    return 0;
}
