/* summary: forward_burst(): the 'fragmentation needed, DF set' branch continues with the next packet without flow_put(), so the reference got from classify() is lost and the flow (and the route it holds) stays alive after the table dropped it.
 * kind: missing-put
 * counts: surplus
 * objects: 5
 * track: auto
 * build: gcc -g -O2
 * exit: 0
 */
/* Kernel flavoured reference counter. */
#ifndef KREF_H
#define KREF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct kref {
	atomic_int refcount;
};

#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

static inline void kref_init(struct kref *k)
{
	atomic_store_explicit(&k->refcount, 1, memory_order_relaxed);
}

static inline void kref_get(struct kref *k)
{
	atomic_fetch_add_explicit(&k->refcount, 1, memory_order_relaxed);
}

static inline bool kref_put(struct kref *k, void (*release)(struct kref *))
{
	if (atomic_fetch_sub_explicit(&k->refcount, 1, memory_order_acq_rel) != 1)
		return false;
	release(k);
	return true;
}

#endif

#ifndef FLOW_H
#define FLOW_H

#include <stdint.h>

struct route {
	uint32_t	 prefix, mask;
	unsigned	 mtu;
	unsigned	 ifindex;
	struct kref	 ref;
	struct route	*next;
};

struct flow_key {
	uint32_t src, dst;
	uint16_t sport, dport;
};

struct flow {
	struct flow	*hnext;		/* bucket chain, or free list */
	struct flow_key	 key;
	struct kref	 ref;
	unsigned	 last_seen;
	unsigned	 packets;
	uint64_t	 bytes;
	bool		 blocked;
	struct route	*route;
};

#define FLOW_BUCKETS 32

struct flow_table {
	struct flow	*bucket[FLOW_BUCKETS];
	unsigned	 count;
};

/* route table */
extern struct route default_route;
int  routes_load(const char *text);
void routes_flush(void);
struct route *route_lookup(uint32_t dst);	/* returns a reference */
void route_release(struct kref *k);

static inline void route_get(struct route *r) { kref_get(&r->ref); }
static inline void route_put(struct route *r) { kref_put(&r->ref, route_release); }

/* flows */
void flow_release(struct kref *k);
struct flow *flow_lookup(struct flow_table *t, const struct flow_key *k);
struct flow *flow_create(struct flow_table *t, const struct flow_key *k);
unsigned flow_gc(struct flow_table *t, unsigned now, unsigned idle);
void flow_pool_drain(void);

static inline void flow_get(struct flow *f) { kref_get(&f->ref); }
static inline void flow_put(struct flow *f) { kref_put(&f->ref, flow_release); }

#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Never goes away: the table's own reference is not given back. */
struct route default_route = { .mtu = 1500, .ifindex = 1, .ref = { 1 } };

static struct route *routes;
static struct flow *pool;
static unsigned pool_len;
#define POOL_MAX 8

void route_release(struct kref *k)
{
	free(container_of(k, struct route, ref));
}

int routes_load(const char *text)
{
	unsigned a, b, c, d, len, mtu, ifx;
	int n, loaded = 0;
	while (sscanf(text, " %u.%u.%u.%u/%u mtu %u dev %u;%n",
		      &a, &b, &c, &d, &len, &mtu, &ifx, &n) == 7) {
		struct route *r = calloc(1, sizeof(*r));
		r->prefix = a << 24 | b << 16 | c << 8 | d;
		r->mask = len ? ~0u << (32 - len) : 0;
		r->mtu = mtu;
		r->ifindex = ifx;
		kref_init(&r->ref);
		r->next = routes;
		routes = r;
		loaded++;
		text += n;
	}
	return loaded;
}

void routes_flush(void)
{
	while (routes) {
		struct route *r = routes;
		routes = r->next;
		route_put(r);
	}
}

struct route *route_lookup(uint32_t dst)
{
	struct route *r, *best = &default_route;
	for (r = routes; r; r = r->next)
		if ((dst & r->mask) == r->prefix && r->mask > best->mask)
			best = r;
	route_get(best);
	return best;
}

void flow_release(struct kref *k)
{
	struct flow *f = container_of(k, struct flow, ref);
	route_put(f->route);
	f->route = NULL;
	if (pool_len < POOL_MAX) {
		f->hnext = pool;
		pool = f;
		pool_len++;
	} else {
		free(f);
	}
}

void flow_pool_drain(void)
{
	while (pool) {
		struct flow *f = pool;
		pool = f->hnext;
		free(f);
	}
	pool_len = 0;
}

static unsigned flow_hash(const struct flow_key *k)
{
	uint32_t h = k->src * 2654435761u ^ k->dst * 40503u;
	h ^= (uint32_t)k->sport << 16 | k->dport;
	return (h ^ h >> 13) % FLOW_BUCKETS;
}

struct flow *flow_lookup(struct flow_table *t, const struct flow_key *k)
{
	struct flow *f;
	for (f = t->bucket[flow_hash(k)]; f; f = f->hnext) {
		if (!memcmp(&f->key, k, sizeof(*k))) {
			flow_get(f);
			return f;
		}
	}
	return NULL;
}

/* One reference for the table, one for the caller. */
struct flow *flow_create(struct flow_table *t, const struct flow_key *k)
{
	unsigned b = flow_hash(k);
	struct flow *f = pool;
	if (f) {
		pool = f->hnext;
		pool_len--;
	} else {
		f = malloc(sizeof(*f));
	}
	memset(f, 0, sizeof(*f));
	f->key = *k;
	f->route = route_lookup(k->dst);
	f->blocked = k->dport == 23;
	kref_init(&f->ref);
	f->hnext = t->bucket[b];
	t->bucket[b] = f;
	t->count++;
	flow_get(f);
	return f;
}

unsigned flow_gc(struct flow_table *t, unsigned now, unsigned idle)
{
	unsigned i, gone = 0;
	for (i = 0; i < FLOW_BUCKETS; i++) {
		struct flow **pp = &t->bucket[i], *f;
		while ((f = *pp)) {
			if (now - f->last_seen < idle) {
				pp = &f->hnext;
				continue;
			}
			*pp = f->hnext;
			t->count--;
			gone++;
			flow_put(f);
		}
	}
	return gone;
}

/* flowrouter - replay a synthetic packet trace through a flow table */
#include <stdio.h>
#include <string.h>

static const char route_text[] =
	"10.1.0.0/16 mtu 1500 dev 2;\n"
	"10.2.0.0/16 mtu 1500 dev 3;\n"
	"10.2.7.0/24 mtu 1400 dev 4;\n"
	"192.168.0.0/16 mtu 9000 dev 5;\n";

struct packet {
	struct flow_key key;
	unsigned	len;
	unsigned	ttl;
	bool		df;
};

static struct {
	unsigned forwarded, blocked, ttl_exceeded, frag_needed, fragmented;
	unsigned expired, cached;
	uint64_t bytes[8];
} stats;

/* Most recent flow; holds a reference until the program ends. */
static struct flow *last_flow;

static uint32_t seed = 2024;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void next_packet(struct packet *p, unsigned i)
{
	static const uint32_t nets[] = {
		0x0a010000, 0x0a020000, 0x0a020700, 0xc0a80000, 0x08080000
	};
	memset(p, 0, sizeof(*p));
	p->key.src = 0xac100000 | rnd(6);
	p->key.dst = nets[rnd(5)] | (1 + rnd(3));
	p->key.sport = 40000 + rnd(2);
	p->key.dport = rnd(12) == 0 ? 23 : 443;
	p->len = rnd(16) == 0 ? 1480 : 60 + rnd(1300);
	p->ttl = rnd(25) == 0 ? 1 : 64;
	p->df = i % 3 == 0;
}

static struct flow *classify(struct flow_table *t, const struct packet *p)
{
	struct flow *f;
	if (last_flow && !memcmp(&last_flow->key, &p->key, sizeof(p->key))) {
		stats.cached++;
		flow_get(last_flow);
		return last_flow;
	}
	f = flow_lookup(t, &p->key);
	return f ? f : flow_create(t, &p->key);
}

static void remember(struct flow *f)
{
	if (f == last_flow)
		return;
	flow_get(f);
	if (last_flow)
		flow_put(last_flow);
	last_flow = f;
}

static void forward_burst(struct flow_table *t, unsigned now, unsigned count)
{
	struct packet pkt;
	unsigned i;
	for (i = 0; i < count; i++) {
		struct flow *f;
		next_packet(&pkt, i);
		f = classify(t, &pkt);
		f->last_seen = now;
		if (f->blocked) {
			stats.blocked++;
			flow_put(f);
			continue;
		}
		if (pkt.ttl <= 1) {
			stats.ttl_exceeded++;
			flow_put(f);
			continue;
		}
		if (pkt.len > f->route->mtu) {
			if (pkt.df) {
				stats.frag_needed++;
#ifndef BUG
				flow_put(f);
#endif
				continue;	/* GUILTY */
			}
			stats.fragmented++;
		}
		f->packets++;
		f->bytes += pkt.len;
		stats.forwarded++;
		stats.bytes[f->route->ifindex & 7] += pkt.len;
		remember(f);
		flow_put(f);
	}
}

int main(void)
{
	struct flow_table table = { 0 };
	unsigned now, i;
	printf("%d routes\n", routes_load(route_text));
	for (now = 0; now < 40; now++) {
		forward_burst(&table, now, 16);
		stats.expired += flow_gc(&table, now, 5);
	}
	stats.expired += flow_gc(&table, now + 100, 5);
	routes_flush();
	flow_pool_drain();
	printf("forwarded %u blocked %u ttl %u frag-needed %u fragmented %u\n",
	       stats.forwarded, stats.blocked, stats.ttl_exceeded,
	       stats.frag_needed, stats.fragmented);
	printf("expired %u cached %u last %08x\n", stats.expired, stats.cached,
	       last_flow->key.dst);
	for (i = 1; i < 6; i++)
		printf("dev %u: %lu bytes\n", i, (unsigned long)stats.bytes[i]);
	return 0;
}
