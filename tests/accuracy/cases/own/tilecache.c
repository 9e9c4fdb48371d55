/* summary: cache_invalidate unlinks a tile from hash and LRU without dropping the cache's reference
 * kind: missing-put
 * counts: surplus
 * objects: 16
 * track: own
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * tilecache - cache of rendered map tiles shared by the render threads.
 *
 * A tile is counted: one reference belongs to the cache while the tile is
 * linked there, one to everybody who is working with it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TILE_PX    32
#define NBUCKETS   64
#define CAPACITY   96
#define NTHREADS   3
#define REQUESTS   200

struct tile {
    atomic_uint users;
    uint32_t x, y;
    uint8_t zoom;
    struct tile *hash_next;
    struct tile *newer, *older;     /* LRU chain */
    uint8_t *pixels;
};

struct cache {
    pthread_mutex_t lock;
    struct tile *bucket[NBUCKETS];
    struct tile *newest, *oldest;
    unsigned count;
    unsigned hits, misses, evicted, invalidated;
};

/* ------------------------------------------------------------------ tiles */

static struct tile *tile_create(uint8_t zoom, uint32_t x, uint32_t y)
{
    struct tile *t = calloc(1, sizeof *t);

    if (t == NULL)
        abort();
    atomic_init(&t->users, 1);
    t->zoom = zoom;
    t->x = x;
    t->y = y;
    t->pixels = malloc(TILE_PX * TILE_PX);
    if (t->pixels == NULL)
        abort();
    return t;
}

static void tile_destroy(struct tile *t)
{
    free(t->pixels);
    free(t);
}

static struct tile *tile_hold(struct tile *t)
{
    atomic_fetch_add(&t->users, 1);
    return t;
}

static void tile_drop(struct tile *t)
{
    if (t != NULL && atomic_fetch_sub(&t->users, 1) == 1)
        tile_destroy(t);
}

static void tile_paint(struct tile *t)
{
    uint32_t v = t->x * 73856093u ^ t->y * 19349663u ^ t->zoom;

    for (unsigned pass = 0; pass < 24; pass++)
        for (unsigned i = 0; i < TILE_PX * TILE_PX; i++) {
            v ^= v << 13;
            v ^= v >> 17;
            v ^= v << 5;
            t->pixels[i] = (uint8_t)v;
        }
}

/* ------------------------------------------------------------------ cache */

static unsigned slot_of(uint8_t zoom, uint32_t x, uint32_t y)
{
    return (zoom * 131u + x * 31u + y) % NBUCKETS;
}

static void lru_detach(struct cache *c, struct tile *t)
{
    if (t->newer)
        t->newer->older = t->older;
    else
        c->newest = t->older;
    if (t->older)
        t->older->newer = t->newer;
    else
        c->oldest = t->newer;
    t->newer = t->older = NULL;
}

static void lru_attach(struct cache *c, struct tile *t)
{
    t->older = c->newest;
    if (c->newest)
        c->newest->newer = t;
    else
        c->oldest = t;
    c->newest = t;
}

static void unlink_tile(struct cache *c, struct tile *t)
{
    struct tile **p = &c->bucket[slot_of(t->zoom, t->x, t->y)];

    while (*p != t)
        p = &(*p)->hash_next;
    *p = t->hash_next;
    t->hash_next = NULL;
    lru_detach(c, t);
    c->count--;
}

static struct tile *cache_lookup(struct cache *c, uint8_t zoom, uint32_t x, uint32_t y)
{
    struct tile *t;

    for (t = c->bucket[slot_of(zoom, x, y)]; t; t = t->hash_next)
        if (t->zoom == zoom && t->x == x && t->y == y) {
            lru_detach(c, t);
            lru_attach(c, t);
            return tile_hold(t);
        }
    return NULL;
}

static void cache_shrink(struct cache *c, unsigned limit)
{
    while (c->count > limit) {
        struct tile *victim = c->oldest;

        unlink_tile(c, victim);
        c->evicted++;
        tile_drop(victim);
    }
}

static void cache_insert(struct cache *c, struct tile *t)
{
    unsigned s = slot_of(t->zoom, t->x, t->y);

    t->hash_next = c->bucket[s];
    c->bucket[s] = tile_hold(t);
    lru_attach(c, t);
    c->count++;
    cache_shrink(c, CAPACITY);
}

/* Returns a held tile; renders it on a miss. */
static struct tile *cache_fetch(struct cache *c, uint8_t zoom, uint32_t x, uint32_t y)
{
    struct tile *t, *other;

    pthread_mutex_lock(&c->lock);
    t = cache_lookup(c, zoom, x, y);
    if (t)
        c->hits++;
    pthread_mutex_unlock(&c->lock);
    if (t)
        return t;

    t = tile_create(zoom, x, y);
    tile_paint(t);

    pthread_mutex_lock(&c->lock);
    c->misses++;
    other = cache_lookup(c, zoom, x, y);
    if (other == NULL)
        cache_insert(c, t);
    pthread_mutex_unlock(&c->lock);
    if (other) {                /* somebody was faster */
        tile_drop(t);
        return other;
    }
    return t;
}

/* The map data of an area changed: its tiles must be rendered again. */
static void cache_invalidate(struct cache *c, uint8_t zoom, uint32_t x0, uint32_t x1)
{
    struct tile *t, *next;

    pthread_mutex_lock(&c->lock);
    for (t = c->newest; t; t = next) {
        next = t->older;
        if (t->zoom != zoom || t->x < x0 || t->x > x1)
            continue;
        unlink_tile(c, t);
#ifdef BUG
        c->invalidated++; /* GUILTY */
#else
        c->invalidated++;
        tile_drop(t);
#endif
    }
    pthread_mutex_unlock(&c->lock);
}

/* ---------------------------------------------------------------- workers */

struct job {
    pthread_t thread;
    struct cache *cache;
    unsigned seed;
    uint64_t ink;
};

static pthread_barrier_t level_done;

static void render_level(struct job *job, uint8_t zoom)
{
    struct timespec pause = { 0, 100000 };

    for (unsigned i = 0; i < REQUESTS; i++) {
        struct tile *t;

        job->seed = job->seed * 1103515245u + 12345u;
        t = cache_fetch(job->cache, zoom, (job->seed >> 16) % 12, (job->seed >> 20) % 8);
        for (unsigned p = 0; p < TILE_PX; p++)
            job->ink += t->pixels[p * TILE_PX + p];
        tile_drop(t);
        nanosleep(&pause, NULL);
    }
}

static void *render_main(void *arg)
{
    struct job *job = arg;

    for (uint8_t zoom = 10; zoom <= 12; zoom++) {
        render_level(job, zoom);
        /* road works are reported on the map of the first two levels */
        if (pthread_barrier_wait(&level_done) == PTHREAD_BARRIER_SERIAL_THREAD && zoom < 12)
            cache_invalidate(job->cache, zoom, 3, 3);
    }
    return NULL;
}

int main(void)
{
    static struct cache cache = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct job job[NTHREADS];
    uint64_t ink = 0;

    pthread_barrier_init(&level_done, NULL, NTHREADS);
    for (unsigned i = 0; i < NTHREADS; i++) {
        job[i] = (struct job){ .cache = &cache, .seed = 7 + i * 1001 };
        pthread_create(&job[i].thread, NULL, render_main, &job[i]);
    }
    for (unsigned i = 0; i < NTHREADS; i++) {
        pthread_join(job[i].thread, NULL);
        ink += job[i].ink;
    }
    pthread_barrier_destroy(&level_done);
    printf("ink %llu: hits %u misses %u evicted %u invalidated %u left %u\n",
           (unsigned long long)ink, cache.hits, cache.misses, cache.evicted,
           cache.invalidated, cache.count);
    cache_shrink(&cache, 0);
    return 0;
}
