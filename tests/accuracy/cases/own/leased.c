/* summary: manager_compact() makes the new map of leases with the plain string operations, which have no destructor for values, so hashmap_free() forgets the leases that are in it
 * kind: missing-put
 * counts: surplus
 * objects: 22
 * track: own
 * build: clang-14 -O1 -g
 * exit: 0
 * source: bug class "hash_ops without value destructor"
 */
/*
 * leased - hands out addresses on several links, and forgets what has run out.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

#define TAKE_PTR(p) ({ __typeof__(p) _taken = (p); (p) = NULL; _taken; })

#define DEFINE_TRIVIAL_REF_UNREF_FUNC(type, name, free_func)    \
        static type *name##_ref(type *p) {                      \
                if (p)                                          \
                        p->n_ref++;                             \
                return p;                                       \
        }                                                       \
        static type *name##_unref(type *p) {                    \
                if (p && --p->n_ref == 0)                       \
                        free_func(p);                           \
                return NULL;                                    \
        }                                                       \
        static inline void name##_unrefp(type **p) {            \
                name##_unref(*p);                               \
        }

/* ---- hash maps ---- */

typedef struct hash_ops {
        int (*compare)(const char *a, const char *b);
        void (*free_value)(void *value);
} hash_ops;

typedef struct Entry {
        struct Entry *next;
        const char *key;
        void *value;
} Entry;

typedef struct Hashmap {
        const hash_ops *ops;
        unsigned n_entries;
        Entry *buckets[32];
} Hashmap;

static const hash_ops string_hash_ops = { strcmp, NULL };

static Hashmap *hashmap_new(const hash_ops *ops) {
        Hashmap *h = calloc(1, sizeof(Hashmap));
        if (h)
                h->ops = ops;
        return h;
}

static Entry **hashmap_find(Hashmap *h, const char *key) {
        unsigned hash = 5381;
        for (const char *s = key; *s; s++)
                hash = hash * 33 + (unsigned char) *s;
        Entry **e = &h->buckets[hash % 32];
        while (*e && h->ops->compare((*e)->key, key) != 0)
                e = &(*e)->next;
        return e;
}

static int hashmap_put(Hashmap *h, const char *key, void *value) {
        Entry **e = hashmap_find(h, key);
        if (*e)
                return -EEXIST;
        *e = calloc(1, sizeof(Entry));
        if (!*e)
                return -ENOMEM;
        **e = (Entry) { .key = key, .value = value };
        h->n_entries++;
        return 1;
}

static void *hashmap_get(Hashmap *h, const char *key) {
        Entry *e = *hashmap_find(h, key);
        return e ? e->value : NULL;
}

static void *hashmap_remove(Hashmap *h, const char *key) {
        Entry **e = hashmap_find(h, key), *gone = *e;
        if (!gone)
                return NULL;
        void *value = gone->value;
        *e = gone->next;
        h->n_entries--;
        free(gone);
        return value;
}

static Hashmap *hashmap_free(Hashmap *h) {
        for (unsigned i = 0; h && i < 32; i++)
                for (Entry *e = h->buckets[i], *next; e; e = next) {
                        next = e->next;
                        if (h->ops->free_value)
                                h->ops->free_value(e->value);
                        free(e);
                }
        free(h);
        return NULL;
}

static inline void hashmap_freep(Hashmap **h) { hashmap_free(*h); }

#define HASHMAP_FOREACH(v, h)                                   \
        for (unsigned _i = 0; _i < 32; _i++)                    \
                for (Entry *_e = (h)->buckets[_i]; _e && ((v) = _e->value, 1); _e = _e->next)

/* ---- links and leases ---- */

typedef struct Link {
        unsigned n_ref;
        char name[16];
        unsigned prefix, next_host, n_leases;
} Link;

typedef struct Lease {
        unsigned n_ref;
        Link *link;
        uint64_t until;
        unsigned renewals;
        char address[20], client[20];
} Lease;

typedef struct Manager {
        uint64_t now;
        Hashmap *links;         /* name → Link */
        Hashmap *leases;        /* address → Lease */
        Hashmap *clients;       /* client → Lease, which m->leases owns */
        unsigned n_granted, n_renewed, n_expired, n_released;
} Manager;

DEFINE_TRIVIAL_REF_UNREF_FUNC(Link, link, free);

static void lease_done(Lease *l) {
        l->link->n_leases--;
        link_unref(l->link);
        free(l);
}

DEFINE_TRIVIAL_REF_UNREF_FUNC(Lease, lease, lease_done);

static void link_free_value(void *p) { link_unref(p); }
static void lease_free_value(void *p) { lease_unref(p); }

static const hash_ops link_hash_ops = { strcmp, link_free_value };
static const hash_ops lease_hash_ops = { strcmp, lease_free_value };

static Link *link_new(const char *name, unsigned prefix) {
        Link *l = calloc(1, sizeof(Link));
        if (!l)
                return NULL;
        *l = (Link) { .n_ref = 1, .prefix = prefix, .next_host = 10 };
        snprintf(l->name, sizeof l->name, "%s", name);
        return l;
}

static Lease *lease_new(Link *link, const char *client, uint64_t until) {
        Lease *l = calloc(1, sizeof(Lease));
        if (!l)
                return NULL;
        *l = (Lease) { .n_ref = 1, .link = link_ref(link), .until = until };
        link->n_leases++;
        snprintf(l->address, sizeof l->address, "10.%u.0.%u", link->prefix & 255, link->next_host++ & 255);
        snprintf(l->client, sizeof l->client, "%s", client);
        return l;
}

/* ---- the manager ---- */

static Manager *manager_free(Manager *m) {
        if (m) {
                hashmap_free(m->clients);
                hashmap_free(m->leases);
                hashmap_free(m->links);
        }
        free(m);
        return NULL;
}

static inline void manager_freep(Manager **m) { manager_free(*m); }

static int manager_new(Manager **ret) {
        _cleanup_(manager_freep) Manager *m = calloc(1, sizeof(Manager));
        if (!m)
                return -ENOMEM;
        m->links = hashmap_new(&link_hash_ops);
        m->leases = hashmap_new(&lease_hash_ops);
        m->clients = hashmap_new(&string_hash_ops);
        if (!m->links || !m->leases || !m->clients)
                return -ENOMEM;
        *ret = TAKE_PTR(m);
        return 0;
}

static int manager_add_link(Manager *m, const char *name, unsigned prefix) {
        _cleanup_(link_unrefp) Link *l = link_new(name, prefix);
        int r = l ? hashmap_put(m->links, l->name, l) : -ENOMEM;

        if (r < 0)
                return r;
        TAKE_PTR(l);
        return 0;
}

static int manager_request(Manager *m, const char *ifname, const char *client, unsigned seconds) {
        _cleanup_(lease_unrefp) Lease *lease = NULL;
        Link *link = hashmap_get(m->links, ifname);
        int r;

        if (!link)
                return -ENODEV;
        lease = lease_ref(hashmap_get(m->clients, client));
        if (lease) {
                if (lease->link != link)
                        return -EADDRINUSE;
                lease->until = m->now + seconds;
                lease->renewals++;
                m->n_renewed++;
                return 0;
        }
        lease = lease_new(link, client, m->now + seconds);
        if (!lease)
                return -ENOMEM;
        r = hashmap_put(m->clients, lease->client, lease);
        if (r < 0)
                return r;
        r = hashmap_put(m->leases, lease->address, lease);
        if (r < 0) {
                hashmap_remove(m->clients, lease->client);
                return r;
        }
        TAKE_PTR(lease);
        m->n_granted++;
        return 1;
}

static int manager_release(Manager *m, const char *client) {
        Lease *lease = hashmap_remove(m->clients, client);
        if (!lease)
                return -ENOENT;
        hashmap_remove(m->leases, lease->address);
        lease_unref(lease);
        m->n_released++;
        return 0;
}

/* Leaves what has run out behind. */
static int manager_compact(Manager *m) {
        _cleanup_(hashmap_freep) Hashmap *leases = NULL;
        Lease *l;

#ifdef BUG
        leases = hashmap_new(&string_hash_ops); /* GUILTY */
#else
        leases = hashmap_new(&lease_hash_ops);
#endif
        if (!leases)
                return -ENOMEM;
        HASHMAP_FOREACH(l, m->leases) {
                if (l->until <= m->now) {
                        hashmap_remove(m->clients, l->client);
                        m->n_expired++;
                        continue;
                }
                if (hashmap_put(leases, l->address, l) < 0)
                        return -ENOMEM;
                lease_ref(l); /* ACCEPTED */
        }
        hashmap_free(m->leases); /* ACCEPTED */
        m->leases = TAKE_PTR(leases);
        return 0;
}

int main(void) {
        _cleanup_(manager_freep) Manager *m = NULL;
        char client[20], name[16];
        unsigned failed = 0;

        if (manager_new(&m) < 0)
                return 1;
        for (unsigned i = 0; i < 4; i++) {
                snprintf(name, sizeof name, "vlan%u", i);
                failed += manager_add_link(m, name, 20 + i) < 0;
        }
        failed += manager_add_link(m, "vlan2", 99) < 0;
        for (unsigned t = 0; t < 60; t++) {
                m->now = t * 10;
                snprintf(client, sizeof client, "host-%02u", (t * 7) % 26);
                snprintf(name, sizeof name, "vlan%u", (t * 7) % 26 % 4);
                if (t % 19 == 18)
                        snprintf(name, sizeof name, "vlan%u", t % 6);
                failed += manager_request(m, name, client, 100 + t * 37 % 300) < 0;
                if (t % 9 == 4) {
                        snprintf(client, sizeof client, "host-%02u", (t * 5) % 26);
                        failed += manager_release(m, client) < 0;
                }
                if (t == 45 && manager_compact(m) < 0)
                        return 1;
        }
        printf("%u leases: %u granted, %u renewed, %u expired, %u released, %u failed\n",
               m->leases->n_entries, m->n_granted, m->n_renewed, m->n_expired, m->n_released, failed);
        Link *l;
        HASHMAP_FOREACH(l, m->links)
                printf("%s: %u leases, next %u\n", l->name, l->n_leases, l->next_host);
        return 0;
}
