/* summary: a path cache in the kernel's dentry manner: lock and count share one 64-bit word changed by cmpxchg, nodes lie dormant on an LRU with count 0 and are revived by lookup, the put walks up in a loop and puts parents itself, a killed node's count is set to -128 by hand, memory is freed after a grace period
 * track: own
 * build: gcc -O2 -g -Wall -pthread -o OUT hedge_paths.c
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>

struct lockref {
	union {
		uint64_t word;          /* low half: lock, high half: count */
		struct {
			uint32_t lock;
			int32_t count;
		};
	};
};

struct node {
	struct node *hash_next;
	struct node *parent;            /* holds a reference on it */
	struct lockref lr;
	bool hashed, on_lru, referenced;
	struct node *lru_prev, *lru_next;
	struct node *grace_next;
	char name[24];
};

#define BUCKETS 64
#define COUNT1 (1ull << 32)
#define LOCKED(w) ((uint32_t)(w) != 0)
#define COUNT(w) ((int32_t)((w) >> 32))

static pthread_mutex_t hash_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lru_lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *table[BUCKETS];
static struct node lru = { .lru_prev = &lru, .lru_next = &lru };
static struct node *grace_list;
static unsigned long lru_len, made, freed, revived;

static uint64_t word(struct node *n) { return __atomic_load_n(&n->lr.word, __ATOMIC_ACQUIRE); }

static void node_lock(struct node *n)
{
	for (;;) {
		uint64_t w = word(n);
		if (!LOCKED(w) && __atomic_compare_exchange_n(&n->lr.word, &w, w | 1, false,
							      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		sched_yield();
	}
}

static void node_unlock(struct node *n) { __atomic_fetch_sub(&n->lr.word, 1, __ATOMIC_RELEASE); }

/* the fast path of the put: not locked, not the last */
static inline bool lockref_put_not_last(struct lockref *r)
{
	uint64_t w = __atomic_load_n(&r->word, __ATOMIC_RELAXED);
	while (!LOCKED(w) && COUNT(w) > 1)
		if (__atomic_compare_exchange_n(&r->word, &w, w - COUNT1, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return true;
	return false;
}

static unsigned bucket(const struct node *parent, const char *name)
{
	uint64_t h = (uintptr_t)parent >> 5;
	while (*name)
		h = h * 33 + (unsigned char)*name++;
	return (h ^ h >> 17) % BUCKETS;
}

/* the caller has a reference already */
static struct node *node_get(struct node *n)
{
	__atomic_fetch_add(&n->lr.word, COUNT1, __ATOMIC_RELAXED);
	return n;
}

static void node_unhash(struct node *n)         /* hash_lock is held */
{
	struct node **p = &table[bucket(n->parent, n->name)];
	while (*p != n)
		p = &(*p)->hash_next;
	*p = n->hash_next;
	n->hashed = false;
}

static void node_free(struct node *n)
{
	free(n);
	__atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}

/* as call_rcu: readers may look at the name for a while */
static void node_free_later(struct node *n)
{
	struct node *head = __atomic_load_n(&grace_list, __ATOMIC_RELAXED);
	do
		n->grace_next = head;
	while (!__atomic_compare_exchange_n(&grace_list, &head, n, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static void grace_over(void)
{
	struct node *n = __atomic_exchange_n(&grace_list, NULL, __ATOMIC_ACQUIRE);
	while (n) {
		struct node *next = n->grace_next;
		node_free(n);
		n = next;
	}
}

static void lru_add(struct node *n)
{
	pthread_mutex_lock(&lru_lock);
	if (!n->on_lru) {
		n->lru_next = &lru, n->lru_prev = lru.lru_prev;
		lru.lru_prev->lru_next = n;
		lru.lru_prev = n;
		n->on_lru = true;
		lru_len++;
	}
	n->referenced = true;
	pthread_mutex_unlock(&lru_lock);
}

static void lru_del(struct node *n)             /* lru_lock is held */
{
	n->lru_prev->lru_next = n->lru_next;
	n->lru_next->lru_prev = n->lru_prev;
	n->on_lru = false;
	lru_len--;
}

static void node_put(struct node *n)
{
	while (n) {
		if (lockref_put_not_last(&n->lr))
			return;
		pthread_mutex_lock(&hash_lock);
		node_lock(n);
		uint64_t w = __atomic_sub_fetch(&n->lr.word, COUNT1, __ATOMIC_ACQ_REL);
		if (COUNT(w) > 0 || n->hashed) {
			if (COUNT(w) == 0)
				lru_add(n);     /* dormant: count 0, memory kept */
			node_unlock(n);
			pthread_mutex_unlock(&hash_lock);
			return;
		}
		pthread_mutex_lock(&lru_lock);
		if (n->on_lru)
			lru_del(n);
		pthread_mutex_unlock(&lru_lock);
		struct node *parent = n->parent;
		__atomic_store_n(&n->lr.word, (uint64_t)(uint32_t)-128 << 32, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&hash_lock);
		node_free_later(n);
		n = parent;             /* its reference on the parent goes as well */
	}
}

static struct node *node_new(struct node *parent, const char *name)
{
	struct node *n = calloc(1, sizeof *n);
	n->lr.count = 1;
	n->parent = parent ? node_get(parent) : NULL;
	strncpy(n->name, name, sizeof n->name - 1);
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	return n;
}

/* finds it, at count 0 too; NULL if it is not in the cache */
static struct node *node_lookup(struct node *parent, const char *name)
{
	struct node *n;
	pthread_mutex_lock(&hash_lock);
	for (n = table[bucket(parent, name)]; n; n = n->hash_next)
		if (n->parent == parent && !strcmp(n->name, name)) {
			node_lock(n);
			uint64_t w = __atomic_fetch_add(&n->lr.word, COUNT1, __ATOMIC_RELAXED);
			if (COUNT(w) == 0)
				revived++;
			node_unlock(n);
			break;
		}
	pthread_mutex_unlock(&hash_lock);
	return n;
}

static struct node *step(struct node *parent, const char *name)
{
	struct node *n = node_lookup(parent, name);
	unsigned b = bucket(parent, name);
	if (n)
		return n;
	n = node_new(parent, name);
	pthread_mutex_lock(&hash_lock);
	for (struct node *o = table[b]; o; o = o->hash_next)
		if (o->parent == parent && !strcmp(o->name, name)) {    /* somebody was faster */
			node_get(o);
			pthread_mutex_unlock(&hash_lock);
			node_put(n);
			return o;
		}
	n->hash_next = table[b], table[b] = n;
	n->hashed = true;
	pthread_mutex_unlock(&hash_lock);
	return n;
}

static void shrink(unsigned long keep)
{
	for (;;) {
		pthread_mutex_lock(&hash_lock);
		pthread_mutex_lock(&lru_lock);
		struct node *n = lru.lru_next;
		if (n == &lru || lru_len <= keep) {
			pthread_mutex_unlock(&lru_lock);
			pthread_mutex_unlock(&hash_lock);
			return;
		}
		lru_del(n);
		node_lock(n);
		if (COUNT(word(n)) > 0) {       /* in use again: comes back with its last put */
			node_unlock(n);
			pthread_mutex_unlock(&lru_lock);
			pthread_mutex_unlock(&hash_lock);
			continue;
		}
		node_unhash(n);
		struct node *parent = n->parent;
		__atomic_store_n(&n->lr.word, (uint64_t)(uint32_t)-128 << 32, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&lru_lock);
		pthread_mutex_unlock(&hash_lock);
		node_free_later(n);
		node_put(parent);
	}
}

static struct node *root;

static void *walker(void *arg)
{
	long seed = (long)arg;
	static const char *const dirs[] = { "usr", "var", "etc", "opt" };
	for (int i = 0; i < 150; i++) {
		char leaf[24];
		struct node *a = step(root, dirs[(seed + i) % 4]);
		struct node *b = step(a, dirs[i % 3]);
		snprintf(leaf, sizeof leaf, "f%ld", (seed * 7 + i) % 11);
		struct node *c = step(b, leaf);
		node_put(a);
		node_put(node_get(b));
		node_put(b);
		node_put(c);
		if (i % 40 == 39)
			shrink(5);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[3];
	root = node_new(NULL, "/");
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, walker, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	grace_over(), shrink(3);
	/* an unlinked file that is still open: unhashed, dies with its put and takes its directories along */
	struct node *d = step(root, "tmp"), *f = step(d, "open"), *g = step(f, "deeper");
	pthread_mutex_lock(&hash_lock);
	node_unhash(g), node_unhash(f), node_unhash(d);
	pthread_mutex_unlock(&hash_lock);
	node_put(d), node_put(f), node_put(g);
	shrink(0);
	node_put(root), grace_over();
	printf("left %ld, revived some %d\n", made - freed, revived > 0);
	return made != freed;
}
