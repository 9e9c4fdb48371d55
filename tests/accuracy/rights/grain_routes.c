/* summary: a table of grain routes with krefs: lookups without a lock by get-unless-zero, frees after a grace period, a put that takes the lock only for the last
 * track: own
 * build: gcc -O2 -g -pthread grain_routes.c -o OUT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

struct kref { atomic_int refcount; };

static void kref_init(struct kref *kref) { atomic_store_explicit(&kref->refcount, 1, memory_order_relaxed); }
static void kref_get(struct kref *kref) { atomic_fetch_add_explicit(&kref->refcount, 1, memory_order_relaxed); }

static bool kref_get_unless_zero(struct kref *kref)
{
	int seen = atomic_load_explicit(&kref->refcount, memory_order_relaxed);
	do {
		if (!seen)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&kref->refcount, &seen, seen + 1, memory_order_acquire,
	                                                memory_order_relaxed));
	return true;
}

static bool kref_put(struct kref *kref, void (*release)(struct kref *))
{
	if (atomic_fetch_sub_explicit(&kref->refcount, 1, memory_order_acq_rel) != 1)
		return false;
	release(kref);
	return true;
}

/* Takes one away unless that is the last; the last one goes with the mutex held, which release unlocks. */
static bool kref_put_mutex(struct kref *kref, void (*release)(struct kref *), pthread_mutex_t *lock)
{
	int seen = atomic_load_explicit(&kref->refcount, memory_order_relaxed);
	while (seen > 1)
		if (atomic_compare_exchange_weak_explicit(&kref->refcount, &seen, seen - 1, memory_order_release,
		                                          memory_order_relaxed))
			return false;
	pthread_mutex_lock(lock);
	if (atomic_fetch_sub_explicit(&kref->refcount, 1, memory_order_acq_rel) != 1) {
		pthread_mutex_unlock(lock);
		return false;
	}
	release(kref);
	return true;
}

/* Readers: an epoch each; what is freed waits until all have left the one it was retired in. */
enum { READERS = 3, BUCKETS = 8 };
static atomic_ulong epoch = 1, reading[READERS];

static void read_lock(int reader)
{
	atomic_store(&reading[reader], atomic_load(&epoch));
}
static void read_unlock(int reader) { atomic_store_explicit(&reading[reader], 0, memory_order_release); }

struct deferred { struct deferred *next; unsigned long epoch; void (*free)(struct deferred *); };
static struct deferred *waiting;
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;

static void call_later(struct deferred *deferred, void (*free)(struct deferred *))
{
	deferred->free = free;
	pthread_mutex_lock(&waiting_lock);
	deferred->epoch = atomic_fetch_add(&epoch, 1);
	deferred->next = waiting;
	waiting = deferred;
	pthread_mutex_unlock(&waiting_lock);
}

static int collect(void)
{
	struct deferred *ready = NULL, **at;
	int count = 0;
	pthread_mutex_lock(&waiting_lock);
	for (at = &waiting; *at; ) {
		bool busy = false;
		for (int i = 0; i < READERS; i++) {
			unsigned long seen = atomic_load(&reading[i]);
			busy |= seen && seen <= (*at)->epoch;
		}
		if (busy) {
			at = &(*at)->next;
			continue;
		}
		struct deferred *one = *at;
		*at = one->next;
		one->next = ready;
		ready = one;
	}
	pthread_mutex_unlock(&waiting_lock);
	while (ready) {
		struct deferred *one = ready;
		ready = one->next;
		one->free(one);
		count++;
	}
	return count;
}

/* A depot is shared by routes; its registry is a list under a mutex. */
struct depot { int id; struct kref kref; struct depot *next; };
static struct depot *depots;
static pthread_mutex_t depots_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int depots_alive, routes_alive;

static void depot_release(struct kref *kref)
{
	struct depot *depot = container_of(kref, struct depot, kref);
	struct depot **at = &depots;
	while (*at != depot)
		at = &(*at)->next;
	*at = depot->next;
	pthread_mutex_unlock(&depots_lock);
	depots_alive--;
	free(depot);
}

static struct depot *depot_find(int id)
{
	struct depot *depot;
	pthread_mutex_lock(&depots_lock);
	for (depot = depots; depot && depot->id != id; depot = depot->next)
		;
	if (depot)
		kref_get(&depot->kref);                  /* never zero here: the last put holds the lock */
	else {
		depot = malloc(sizeof *depot);
		depot->id = id;
		kref_init(&depot->kref);
		depot->next = depots;
		depots = depot;
		depots_alive++;
	}
	pthread_mutex_unlock(&depots_lock);
	return depot;
}

static void depot_put(struct depot *depot) { kref_put_mutex(&depot->kref, depot_release, &depots_lock); }

/* A route stands in a bucket as long as it is used; it is found there also with a count of zero. */
struct route {
	_Atomic(struct route *) next;
	int key, tons;
	struct depot *from, *to;
	struct deferred deferred;
	struct kref kref;
};
static _Atomic(struct route *) buckets[BUCKETS];
static pthread_mutex_t buckets_lock = PTHREAD_MUTEX_INITIALIZER;

static void route_free(struct deferred *deferred)
{
	struct route *route = container_of(deferred, struct route, deferred);
	depot_put(route->from);
	depot_put(route->to);
	routes_alive--;
	free(route);
}

static void route_release(struct kref *kref)
{
	struct route *route = container_of(kref, struct route, kref);
	pthread_mutex_lock(&buckets_lock);
	_Atomic(struct route *) *at = &buckets[route->key % BUCKETS];
	while (atomic_load(at) != route)
		at = &atomic_load(at)->next;
	atomic_store(at, atomic_load(&route->next));
	pthread_mutex_unlock(&buckets_lock);
	call_later(&route->deferred, route_free);        /* count 0, memory and depots still there */
}

static void route_put(struct route *route) { kref_put(&route->kref, route_release); }

static struct route *route_find(int key, int reader)
{
	struct route *route;
	read_lock(reader);
	for (route = atomic_load(&buckets[key % BUCKETS]); route; route = atomic_load(&route->next))
		if (route->key == key && kref_get_unless_zero(&route->kref))
			break;
	read_unlock(reader);
	return route;
}

static struct route *route_add(int key)
{
	struct route *route = malloc(sizeof *route);
	*route = (struct route){ .key = key, .tons = 10, .from = depot_find(key % 3), .to = depot_find(key % 5) };
	kref_init(&route->kref);
	routes_alive++;
	pthread_mutex_lock(&buckets_lock);
	atomic_store(&route->next, atomic_load(&buckets[key % BUCKETS]));
	atomic_store(&buckets[key % BUCKETS], route);
	pthread_mutex_unlock(&buckets_lock);
	return route;
}

struct reader { int number; int found; pthread_t thread; };

static void *read_routes(void *data)
{
	struct reader *me = data;
	for (int i = 0; i < 300; i++) {
		struct route *route = route_find(i % 12, me->number);
		if (!route)
			continue;
		/* Lock and put: a second one in between that is put at once. */
		if (i % 4 == 0) {
			kref_get(&route->kref);
			route_put(route);
		}
		me->found += route->tons == 10 && route->from->id == route->key % 3;
		route_put(route);                        /* perhaps the last, after the writer's */
	}
	return NULL;
}

int main(void)
{
	struct reader readers[READERS];
	struct route *held[12];
	int collected = 0, found = 0;
	for (int i = 0; i < 12; i++)
		held[i] = route_add(i);
	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .number = i };
		pthread_create(&readers[i].thread, NULL, read_routes, &readers[i]);
	}
	for (int round = 0; round < 40; round++) {
		int i = round * 5 % 12;
		struct route *old = held[i];
		held[i] = route_add(i);                  /* for a while both are in the bucket */
		route_put(old);
		if (round % 8 == 7)
			collected += collect();
	}
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		found += readers[i].found;
	}
	for (int i = 0; i < 12; i++)
		route_put(held[i]);
	collected += collect();
	printf("found %s, collected %d; alive: %d routes, %d depots\n", found ? "some" : "none", collected,
	       (int)routes_alive, (int)depots_alive);
	return routes_alive || depots_alive;
}
