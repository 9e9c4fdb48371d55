/* summary: the periodic scan of the neighbour table skips permanent entries with `continue` without giving back the reference its lookup took
 * kind: missing-put
 * counts: surplus
 * objects: 5
 * track: own
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * neightab - neighbour (ARP) table of a small router: a state machine per
 * next hop, driven by traffic, by answers from the wire and by a timer.
 * Entries come from a slab of their own, as they do in the real thing.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_SIZE   16
#define NPREFIX     48
#define REACH_TIME  12
#define PROBE_TIME  3
#define MAX_PROBES  3

enum nud { NUD_NONE, NUD_INCOMPLETE, NUD_REACHABLE, NUD_STALE, NUD_PROBE,
           NUD_FAILED, NUD_PERMANENT };

struct neigh {
    struct neigh *next;         /* hash chain, or free list */
    uint32_t      ip;
    uint8_t       mac[6];
    enum nud      nud;
    int           users;        /* reference count */
    int           probes;
    int           dead;         /* no longer in the table */
    unsigned      confirmed;    /* tick of the last answer */
    unsigned      used;
};

struct slab {
    struct slab  *next;
    struct neigh  obj[16];
};

static struct {
    struct neigh *hash[HASH_SIZE];
    struct neigh *freelist;
    struct slab  *slabs;
    int           in_use, total;
} tbl;

struct route { struct neigh *via; };

static struct route routes[NPREFIX];
static unsigned     now, sent, queued, solicits;

static void neigh_destroy(struct neigh *n)
{
    assert(n->dead);
    memset(n, 0, sizeof *n);
    n->next = tbl.freelist;
    tbl.freelist = n;
    tbl.in_use--;
}

static inline struct neigh *neigh_hold(struct neigh *n)
{
    assert(n->users > 0);
    n->users++;
    return n;
}

static inline void neigh_release(struct neigh *n)
{
    if (!n)
        return;
    assert(n->users > 0);
    if (--n->users == 0)
        neigh_destroy(n);
}

static __attribute__((noinline)) struct neigh *neigh_alloc(uint32_t ip)
{
    struct neigh *n;

    if (!tbl.freelist) {
        struct slab *s = calloc(1, sizeof *s);
        if (!s)
            abort();
        s->next = tbl.slabs;
        tbl.slabs = s;
        for (int i = 15; i >= 0; i--) {
            s->obj[i].next = tbl.freelist;
            tbl.freelist = &s->obj[i];
        }
    }
    n = tbl.freelist;
    tbl.freelist = n->next;
    n->next = NULL;
    n->ip = ip;
    n->users = 1;
    n->used = n->confirmed = now;
    tbl.in_use++;
    tbl.total++;
    return n;
}

static unsigned hash_ip(uint32_t ip) { return (ip * 2654435761u) >> 28; }

/* Returns a held entry or NULL. */
static struct neigh *neigh_lookup(uint32_t ip)
{
    for (struct neigh *n = tbl.hash[hash_ip(ip)]; n; n = n->next)
        if (n->ip == ip)
            return neigh_hold(n);
    return NULL;
}

/* As above but makes the entry if need be; the table keeps the birth reference. */
static struct neigh *neigh_get_or_create(uint32_t ip)
{
    struct neigh *n = neigh_lookup(ip);
    unsigned h = hash_ip(ip);
    if (n)
        return n;
    n = neigh_alloc(ip);
    n->next = tbl.hash[h];
    tbl.hash[h] = n;
    return neigh_hold(n);
}

static void neigh_unlink(struct neigh *n)
{
    struct neigh **pp = &tbl.hash[hash_ip(n->ip)];
    while (*pp != n)
        pp = &(*pp)->next;
    *pp = n->next;
    n->next = NULL;
    n->dead = 1;
    neigh_release(n);
}

static void neigh_solicit(struct neigh *n)
{
    solicits++;                 /* would broadcast a who-has */
    n->probes++;
}

static int neigh_resolve(struct neigh *n)
{
    n->used = now;
    switch (n->nud) {
    case NUD_NONE:
    case NUD_FAILED:
        n->nud = NUD_INCOMPLETE;
        n->probes = 0;
        n->confirmed = now;
        neigh_solicit(n);
        return 0;
    case NUD_INCOMPLETE:
        return 0;
    case NUD_STALE:
        n->nud = NUD_PROBE;
        n->probes = 0;
        neigh_solicit(n);
        return 1;
    default:
        return 1;
    }
}

static void arp_input(uint32_t ip, const uint8_t mac[6])
{
    struct neigh *n = neigh_lookup(ip);

    if (n && n->nud != NUD_PERMANENT) {
        memcpy(n->mac, mac, 6);
        n->nud = NUD_REACHABLE;
        n->confirmed = now;
        n->probes = 0;
    }
    neigh_release(n);
}

static void route_set(struct route *r, uint32_t gateway)
{
    struct neigh *old = r->via;
    r->via = neigh_get_or_create(gateway);
    neigh_release(old);
}

static void route_output(struct route *r)
{
    if (r->via->dead)           /* collected or flushed: look the hop up again */
        route_set(r, r->via->ip);
    if (neigh_resolve(r->via))
        sent++;
    else
        queued++;
}

static void neigh_periodic(uint32_t first, int span)
{
    for (int i = 0; i < span; i++) {
        struct neigh *n = neigh_lookup(first + i);      /* ACCEPTED */
        if (!n)
            continue;
        if (n->nud == NUD_PERMANENT) {
#ifdef BUG
            continue;           /* GUILTY */
#else
            neigh_release(n);
            continue;
#endif
        }
        if (n->nud == NUD_REACHABLE && now - n->confirmed > REACH_TIME)
            n->nud = NUD_STALE;
        else if ((n->nud == NUD_INCOMPLETE || n->nud == NUD_PROBE) &&
                 now - n->confirmed > PROBE_TIME) {
            neigh_solicit(n);
            if (n->probes > MAX_PROBES)
                n->nud = NUD_FAILED;
        }
        if (n->nud == NUD_FAILED ||
            (n->nud == NUD_STALE && now - n->used > 2 * REACH_TIME))
            neigh_unlink(n);
        neigh_release(n);
    }
}

static unsigned rnd(unsigned n)
{
    static uint32_t seed = 99;
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % n;
}

int main(void)
{
    const uint32_t net = 0x0a000100;
    uint8_t mac[6] = { 2 };
    int by_state[NUD_PERMANENT + 1] = { 0 };

    for (int i = 0; i < 5; i++) {               /* static entries */
        struct neigh *n = neigh_get_or_create(net + 1 + i * 7);
        n->nud = NUD_PERMANENT;
        neigh_release(n);
    }
    for (int i = 0; i < NPREFIX; i++)
        route_set(&routes[i], net + rnd(64));
    for (now = 1; now <= 240; now++) {
        for (int i = 0; i < 6; i++)
            route_output(&routes[rnd(NPREFIX)]);
        for (int i = 0; i < 5; i++) {
            mac[5] = (uint8_t)rnd(60);          /* some hosts never answer */
            arp_input(net + mac[5], mac);
        }
        if (now % 5 == 0)
            route_set(&routes[rnd(NPREFIX)], net + rnd(64));
        if (now % 4 == 0)
            neigh_periodic(net, 64);
    }

    for (int i = 0; i < NPREFIX; i++)
        neigh_release(routes[i].via);
    for (int h = 0; h < HASH_SIZE; h++)
        while (tbl.hash[h]) {
            by_state[tbl.hash[h]->nud]++;
            neigh_unlink(tbl.hash[h]);
        }
    printf("at the end: %d permanent, %d reachable, %d stale\n", by_state[NUD_PERMANENT],
           by_state[NUD_REACHABLE], by_state[NUD_STALE]);
    printf("%d entries made, %d in use; %u sent, %u queued, %u solicits\n",
           tbl.total, tbl.in_use, sent, queued, solicits);
    while (tbl.slabs) {
        struct slab *s = tbl.slabs;
        tbl.slabs = s->next;
        free(s);
    }
    return 0;
}
