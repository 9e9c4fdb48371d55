/* summary: when a fresh answer replaces an expired one in the cache, the old record set is overwritten without being put
 * kind: overwritten
 * counts: surplus
 * objects: 29
 * track: own
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * dnscache - the answer cache of a stub resolver.  Record sets are shared by
 * the cache, by questions still waiting to be sent out, and by CNAME sets
 * which point at the set of their target.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_MAX  60
#define BUCKETS    32
#define RING       16
#define NAMES      96

typedef struct rrset {
	char           name[40];
	unsigned       expires;
	int            refs;
	int            naddr;
	unsigned       addr[4];
	struct rrset  *target;      /* for a CNAME: the set it leads to */
} rrset_t;

typedef struct entry {
	struct entry  *hnext;
	struct entry  *prev, *next; /* LRU, most recent first */
	unsigned       hash;
	rrset_t       *rr;
} entry_t;

typedef struct {
	entry_t  *bucket[BUCKETS];
	entry_t   lru;
	int       count;
	unsigned  hits, misses, evictions, refreshed;
} cache_t;

typedef struct {
	int       id;
	rrset_t  *answer;
} question_t;

static struct {
	unsigned created, destroyed, gets, puts;
} rr_stats;

static unsigned now;

__attribute__((noinline)) rrset_t *rrset_create(const char *name, unsigned ttl)
{
	rrset_t *rr = calloc(1, sizeof *rr);

	if (rr == NULL)
		abort();
	snprintf(rr->name, sizeof rr->name, "%s", name);
	rr->expires = now + ttl;
	rr->refs = 1;
	rr_stats.created++;
	return rr;
}

__attribute__((noinline)) rrset_t *rrset_get(rrset_t *rr)
{
	if (rr == NULL)
		return NULL;
	assert(rr->refs > 0);
	rr->refs++;
	rr_stats.gets++;
	return rr;
}

__attribute__((noinline)) void rrset_put(rrset_t *rr)
{
	rrset_t *target;

	while (rr != NULL) {
		assert(rr->refs > 0);
		rr_stats.puts++;
		if (--rr->refs > 0)
			return;
		target = rr->target;
		rr_stats.destroyed++;
		free(rr);
		rr = target;        /* drop the link to the target as well */
	}
}

static unsigned hash_name(const char *s)
{
	unsigned h = 5381;

	while (*s)
		h = h * 33 ^ (unsigned char)*s++;
	return h;
}

static void lru_unlink(entry_t *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

static void lru_push(cache_t *c, entry_t *e)
{
	e->prev = &c->lru;
	e->next = c->lru.next;
	c->lru.next->prev = e;
	c->lru.next = e;
}

static entry_t *cache_find(cache_t *c, const char *name)
{
	unsigned h = hash_name(name);
	entry_t *e;

	for (e = c->bucket[h % BUCKETS]; e != NULL; e = e->hnext)
		if (e->hash == h && strcmp(e->rr->name, name) == 0)
			return e;
	return NULL;
}

static void cache_drop(cache_t *c, entry_t *e)
{
	entry_t **pp = &c->bucket[e->hash % BUCKETS];

	while (*pp != e)
		pp = &(*pp)->hnext;
	*pp = e->hnext;
	lru_unlink(e);
	c->count--;
	rrset_put(e->rr);
	free(e);
}

static void cache_trim(cache_t *c)
{
	while (c->count > CACHE_MAX) {
		c->evictions++;
		cache_drop(c, c->lru.prev);
	}
}

/* The caller keeps its own reference. */
static void cache_store(cache_t *c, rrset_t *rr)
{
	entry_t *e = cache_find(c, rr->name);

	if (e != NULL) {
#ifdef BUG
		e->rr = rrset_get(rr);          /* GUILTY */
#else
		rrset_put(e->rr);
		e->rr = rrset_get(rr);
#endif
		lru_unlink(e);
		lru_push(c, e);
		c->refreshed++;
		return;
	}
	e = calloc(1, sizeof *e);
	if (e == NULL)
		abort();
	e->rr = rrset_get(rr);                  /* ACCEPTED */
	e->hash = hash_name(rr->name);
	e->hnext = c->bucket[e->hash % BUCKETS];
	c->bucket[e->hash % BUCKETS] = e;
	lru_push(c, e);
	c->count++;
	cache_trim(c);
}

/* Returns a reference, or NULL when there is nothing fresh. */
static rrset_t *cache_lookup(cache_t *c, const char *name)
{
	entry_t *e = cache_find(c, name);

	if (e == NULL || e->rr->expires <= now) {
		c->misses++;
		return NULL;
	}
	c->hits++;
	lru_unlink(e);
	lru_push(c, e);
	return rrset_get(e->rr);
}

static unsigned seed = 20231;

static unsigned rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 12) % n;
}

static rrset_t *resolve(cache_t *c, int host);

static rrset_t *ask_upstream(cache_t *c, int host, const char *name)
{
	rrset_t *rr = rrset_create(name, 150 + host % 7 * 100);

	if (host % 6 == 5) {                    /* www -> the real host */
		rr->target = resolve(c, host - 1);
		return rr;
	}
	rr->naddr = 1 + host % 4;
	for (int i = 0; i < rr->naddr; i++)
		rr->addr[i] = 0x0a000000u + host * 16 + i;
	return rr;
}

static rrset_t *resolve(cache_t *c, int host)
{
	char name[40];
	rrset_t *rr;

	snprintf(name, sizeof name, "%s%d.example.net",
	         host % 6 == 5 ? "www" : "host", host);
	rr = cache_lookup(c, name);
	if (rr != NULL)
		return rr;
	rr = ask_upstream(c, host, name);
	cache_store(c, rr);
	return rr;
}

static unsigned reply(question_t *q)
{
	const rrset_t *rr = q->answer;
	unsigned sum = q->id;

	while (rr->target != NULL)
		rr = rr->target;
	for (int i = 0; i < rr->naddr; i++)
		sum = sum * 17 + rr->addr[i];
	rrset_put(q->answer);
	q->answer = NULL;
	return sum;
}

int main(void)
{
	static cache_t c;
	question_t ring[RING];
	unsigned sum = 0;

	memset(ring, 0, sizeof ring);
	c.lru.prev = c.lru.next = &c.lru;

	for (int id = 0; id < 700; id++) {
		question_t *q = &ring[id % RING];
		/* a few hosts are asked for most of the time */
		int host = rnd(4) ? rnd(NAMES / 6) : rnd(NAMES);

		if (q->answer != NULL)
			sum ^= reply(q);
		q->id = id;
		q->answer = resolve(&c, host);
		now += rnd(3);
	}
	for (int i = 0; i < RING; i++)
		if (ring[i].answer != NULL)
			sum ^= reply(&ring[i]);
	while (c.count > 0)
		cache_drop(&c, c.lru.prev);

	printf("%u hits, %u misses, %u evicted, %u refreshed\n",
	       c.hits, c.misses, c.evictions, c.refreshed);
	printf("record sets: %u made, %u freed; replies %08x\n",
	       rr_stats.created, rr_stats.destroyed, sum);
	return 0;
}
