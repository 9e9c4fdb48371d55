/* summary: LRU cache of tiles that holds to the end and is emptied by atexit; puts are collected per thread and taken off n at a time; a get may take back a pending put of its own thread without touching the counter; pending tables flushed by a pthread key destructor, of the main thread by atexit
 * track: own
 * build: gcc -O2 -g -o OUT pending_puts.c -pthread
 */
/*
 * pending_puts: a map server's tiles.  Threads draw viewports from tiles that
 * the cache has or makes.  The tiles in the middle of town are wanted by all,
 * so their counters are not touched for every look: a thread that gives a tile
 * back only notes it, and may have it again from its own notes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_MAX 48
#define BUCKETS 32
#define PENDING 8		/* tiles a thread has notes of */
#define BATCH 12		/* notes of one tile before they are taken off */

struct tile {
	struct tile *newer, *older;	/* the cache's list */
	struct tile *chain;
	uint32_t x, y;
	atomic_long users;
	size_t size;
	unsigned char pixels[];
};

static atomic_long tiles_made, tiles_freed;

static struct tile *
tile_new(uint32_t x, uint32_t y)
{
	size_t size = 64 + (x * 31 + y * 17) % 200;
	struct tile *t = malloc(sizeof *t + size);

	if (t == NULL)
		abort();
	memset(t, 0, sizeof *t);
	t->x = x;
	t->y = y;
	t->size = size;
	for (size_t i = 0; i < size; i++)
		t->pixels[i] = (unsigned char)(x * 7 + y * 13 + i * i);
	atomic_init(&t->users, 1);
	atomic_fetch_add(&tiles_made, 1);
	return t;
}

static void
tile_get(struct tile *t)
{
	atomic_fetch_add_explicit(&t->users, 1, memory_order_relaxed);
}

static void
tile_put_n(struct tile *t, long n)
{
	if (atomic_fetch_sub_explicit(&t->users, n, memory_order_acq_rel) == n) {
		atomic_fetch_add(&tiles_freed, 1);
		free(t);
	}
}

/* ---- notes ---------------------------------------------------------------- */

struct note { struct tile *tile; long n; };
struct notes { struct note of[PENDING]; unsigned next; long saved; };

static _Thread_local struct notes notes;
static pthread_key_t notes_key;
static atomic_long gets_saved;

static void
note_flush(struct note *n)
{
	struct tile *t = n->tile;
	long count = n->n;

	n->tile = NULL;
	n->n = 0;
	if (t != NULL)
		tile_put_n(t, count);
}

/* The destructor of the key; the main thread calls it from atexit. */
static void
notes_flush(void *arg)
{
	struct notes *all = arg;

	for (int i = 0; i < PENDING; i++)
		note_flush(&all->of[i]);
	atomic_fetch_add(&gets_saved, all->saved);
	all->saved = 0;
}

static void
tile_put_later(struct tile *t)
{
	struct note *n;

	if (pthread_getspecific(notes_key) == NULL)
		pthread_setspecific(notes_key, &notes);
	for (n = notes.of; n < notes.of + PENDING; n++)
		if (n->tile == t) {
			if (++n->n == BATCH)
				note_flush(n);
			return;
		}
	n = &notes.of[notes.next++ % PENDING];
	note_flush(n);
	n->tile = t;
	n->n = 1;
}

/* The caller is sure that the tile lives while this is called. */
static struct tile *
tile_get_cheap(struct tile *t)
{
	for (struct note *n = notes.of; n < notes.of + PENDING; n++)
		if (n->tile == t) {
			if (--n->n == 0)
				n->tile = NULL;
			notes.saved++;
			return t;
		}
	tile_get(t);
	return t;
}

/* ---- the cache ------------------------------------------------------------- */

static struct cache {
	pthread_mutex_t lock;
	struct tile *bucket[BUCKETS];
	struct tile *newest, *oldest;
	int n;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct tile **
cache_bucket(uint32_t x, uint32_t y)
{
	return &cache.bucket[(x * 5 + y * 11) % BUCKETS];
}

static void
list_remove(struct tile *t)
{
	*(t->newer ? &t->newer->older : &cache.newest) = t->older;
	*(t->older ? &t->older->newer : &cache.oldest) = t->newer;
}

static void
list_add(struct tile *t)
{
	t->newer = NULL;
	t->older = cache.newest;
	*(cache.newest ? &cache.newest->newer : &cache.oldest) = t;
	cache.newest = t;
}

/* Takes the oldest out; its reference is the caller's then. */
static struct tile *
cache_evict(void)
{
	struct tile *t = cache.oldest, **p;

	if (t == NULL)
		return NULL;
	list_remove(t);
	for (p = cache_bucket(t->x, t->y); *p != t; p = &(*p)->chain)
		;
	*p = t->chain;
	cache.n--;
	return t;
}

static struct tile *
cache_find(uint32_t x, uint32_t y)
{
	struct tile *t, *old = NULL;

	pthread_mutex_lock(&cache.lock);
	for (t = *cache_bucket(x, y); t != NULL; t = t->chain)
		if (t->x == x && t->y == y)
			break;
	if (t != NULL) {
		list_remove(t);
		list_add(t);
		tile_get_cheap(t);
	} else {
		t = tile_new(x, y);	/* the first reference stays here */
		t->chain = *cache_bucket(x, y);
		*cache_bucket(x, y) = t;
		list_add(t);
		if (++cache.n > CACHE_MAX)
			old = cache_evict();
		tile_get(t);
	}
	pthread_mutex_unlock(&cache.lock);
	if (old != NULL)
		tile_put_later(old);
	return t;
}

static void
cache_empty(void)
{
	struct tile *t;

	notes_flush(&notes);
	pthread_setspecific(notes_key, NULL);
	while ((t = cache_evict()) != NULL)
		tile_put_n(t, 1);
	if (atomic_load(&tiles_made) != atomic_load(&tiles_freed))
		fputs("tiles are left\n", stderr);
}

/* ---- drawing ---------------------------------------------------------------- */

struct view {
	uint32_t seed, sum;
	int steps;
	struct tile *shown[9];
};

static void
draw(struct view *v, uint32_t x, uint32_t y)
{
	struct tile *now[9];

	for (uint32_t i = 0; i < 9; i++)
		now[i] = cache_find(x + i % 3, y + i / 3);
	for (int i = 0; i < 9; i++) {		/* what was shown goes after the new is there */
		if (v->shown[i] != NULL)
			tile_put_later(v->shown[i]);
		v->shown[i] = now[i];
		for (size_t b = 0; b < now[i]->size; b += 7)
			v->sum = v->sum * 33 + now[i]->pixels[b];
	}
}

static void *
walker(void *arg)
{
	struct view *v = arg;
	uint32_t x = 8, y = 8;

	for (int i = 0; i < v->steps; i++) {
		v->seed = v->seed * 1103515245u + 12345u;
		x = (x + (v->seed >> 16) % 3 + 15) % 16;
		y = (y + (v->seed >> 20) % 3 + 15) % 16;
		draw(v, x, y);
	}
	for (int i = 0; i < 9; i++)
		if (v->shown[i] != NULL)
			tile_put_later(v->shown[i]);
	memset(v->shown, 0, sizeof v->shown);
	return NULL;
}

int
main(void)
{
	struct view views[4] = { { .seed = 1, .steps = 220 }, { .seed = 2, .steps = 160 },
		{ .seed = 3, .steps = 200 }, { .seed = 4, .steps = 40 } };
	pthread_t threads[3];

	if (pthread_key_create(&notes_key, notes_flush) != 0 || atexit(cache_empty) != 0)
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, walker, &views[i]) != 0)
			return 1;
	walker(&views[3]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		printf("view %d: %08x\n", i, (unsigned)views[i].sum);
	printf("gets saved: %s\n", atomic_load(&gets_saved) > 100 ? "many" : "few");
	return 0;		/* the cache is full; atexit empties it */
}
