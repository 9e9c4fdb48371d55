/* summary: hub_poke() takes a plain share of a session that it finds by its number, which may have come to zero and only waits for the sweep
 * kind: late-get
 * counts: deficit
 * objects: 5
 * track: own
 * build: gcc -O3 -g
 * exit: 0
 */
/*
 * Presence of a chat service. A session leaves the hub's index only when the
 * sweep comes by; until then a lookup may hit one that nobody holds any more,
 * which is why lookups use session_tryshare().
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 16, CLIENTS = 18 };

struct session {
    struct session *chain;
    struct session *doomed_next;
    uint32_t number;
    unsigned last_seen;
    unsigned pokes;
    unsigned char doomed;
    _Atomic int32_t shares;
};

struct hub {
    struct session *index[BUCKETS];
    struct session *doomed;
    unsigned now, swept, missed;
};

struct client {
    struct session *session; /* a share */
    unsigned leaves_at;
};

static struct hub hub;

static inline int32_t count_up(_Atomic int32_t *c)
{
    return atomic_fetch_add_explicit(c, 1, memory_order_relaxed) + 1;
}

static inline int32_t count_down(_Atomic int32_t *c)
{
    return atomic_fetch_sub_explicit(c, 1, memory_order_acq_rel) - 1;
}

static __attribute__((noinline)) struct session *session_open(uint32_t number)
{
    struct session *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    s->number = number;
    s->last_seen = hub.now;
    atomic_init(&s->shares, 1);
    s->chain = hub.index[number % BUCKETS];
    hub.index[number % BUCKETS] = s;
    return s;
}

static __attribute__((noinline)) struct session *session_share(struct session *s)
{
    count_up(&s->shares);
    return s;
}

static __attribute__((noinline)) _Bool session_tryshare(struct session *s)
{
    int32_t seen = atomic_load(&s->shares);

    do {
        if (seen == 0)
            return 0;
    } while (!atomic_compare_exchange_weak(&s->shares, &seen, seen + 1));
    return 1;
}

static __attribute__((noinline)) void session_unshare(struct session *s)
{
    if (count_down(&s->shares) == 0 && !s->doomed) {
        s->doomed = 1;
        s->doomed_next = hub.doomed;
        hub.doomed = s;
    }
}

/* A share of the session for the caller, or NULL. */
static struct session *hub_find(uint32_t number)
{
    for (struct session *s = hub.index[number % BUCKETS]; s; s = s->chain)
        if (s->number == number)
            return session_tryshare(s) ? s : NULL;
    return NULL;
}

/* Somebody pokes somebody else: that counts as a sign of life. */
static void hub_poke(uint32_t number)
{
    struct session *s = hub.index[number % BUCKETS];

    while (s && s->number != number)
        s = s->chain;
#ifdef BUG
    if (!s) {
        hub.missed++;
        return;
    }
    session_share(s); /* GUILTY */
#else
    if (!s || !session_tryshare(s)) {
        hub.missed++;
        return;
    }
#endif
    s->pokes++;
    s->last_seen = hub.now;
    session_unshare(s);
}

static void hub_sweep(void)
{
    struct session *s;

    while ((s = hub.doomed)) {
        struct session **pp = &hub.index[s->number % BUCKETS];

        hub.doomed = s->doomed_next;
        while (*pp != s)
            pp = &(*pp)->chain;
        *pp = s->chain;
        hub.swept++;
        free(s);
    }
}

static unsigned hub_online(void)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct session *s = hub_find(1000 + i * 7);

        if (s) {
            n++;
            session_unshare(s);
        }
    }
    return n;
}

int main(void)
{
    struct client clients[CLIENTS];
    struct session *starred[4]; /* shares of an admin's */
    unsigned online = 0;

    for (uint32_t i = 0; i < CLIENTS; i++) {
        clients[i].session = session_open(1000 + i * 7);
        clients[i].leaves_at = 4 + i * 5 % 31;
    }
    for (int i = 0; i < 4; i++)
        starred[i] = session_share(clients[i * 4].session);

    for (hub.now = 0; hub.now < 40; hub.now++) {
        for (uint32_t i = 0; i < CLIENTS; i++)
            if (clients[i].session && clients[i].leaves_at == hub.now) {
                session_unshare(clients[i].session);
                clients[i].session = NULL;
            }
        /* everybody's friends poke at fixed hours */
        if (hub.now % 3 == 0)
            for (uint32_t k = 0; k < 8; k++)
                hub_poke(1000 + (hub.now * 11 + k * 5) % CLIENTS * 7);
        if (hub.now % 6 == 4)
            online = online * 3 + hub_online();
        if (hub.now % 4 == 3)
            hub_sweep();
    }
    for (int i = 0; i < 4; i++)
        session_unshare(starred[i]);
    hub_sweep();
    printf("%u swept, online %u, %s\n", hub.swept, online, hub.missed ? "some were missed" : "none was missed");
    return 0;
}
