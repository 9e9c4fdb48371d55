/*
 * summary: flushing the cache when the display density changes frees the entries without giving back their avatars
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: own
 * build: gcc -O2 -g
 */
/* Avatars of a chat client: decoded pictures are shared by the rows of the contact list, and a
 * least-recently-used cache keeps the latest ones although no row shows them. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- avatar.h ---- */
struct avatar {
	uint16_t edge;
	uint16_t users;
	uint32_t hash;
	uint32_t pixels[];
};

static inline struct avatar *avatar_ref(struct avatar *a)
{
	assert(a->users < UINT16_MAX);
	a->users++;
	return a;
}

static inline void avatar_unref(struct avatar *a)
{
	if (!a)
		return;
	if (--a->users == 0)
		free(a);
}

static uint32_t name_hash(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

/* An identicon from the hash of the name, for everybody has no picture in this build. */
static struct avatar *avatar_render(const char *name, unsigned edge)
{
	struct avatar *a;
	uint32_t h = name_hash(name);

	if (edge == 0 || edge > 256 || name[0] == '\0')
		return NULL;
	a = malloc(sizeof(*a) + (size_t)edge * edge * sizeof(uint32_t));
	if (!a)
		return NULL;
	a->edge = (uint16_t)edge;
	a->users = 1;
	a->hash = h;
	for (unsigned y = 0; y < edge; y++)
		for (unsigned x = 0; x < edge; x++) {
			unsigned column = x * 5 / edge, row = y * 5 / edge;

			if (column > 2)
				column = 4 - column;
			a->pixels[y * edge + x] = h >> (row * 3 + column) & 1 ? h | 0xff000000u : 0xffffffffu;
		}
	return a;
}

/* ---- cache ---- */
#define BUCKETS 16

struct entry {
	struct entry *bucket_next;
	struct entry *newer, *older;
	char *name;
	struct avatar *avatar;
};

struct cache {
	struct entry *buckets[BUCKETS];
	struct entry *newest, *oldest;
	unsigned entries, limit, edge;
	unsigned hits, misses, evicted;
};

static void lru_unlink(struct cache *c, struct entry *e)
{
	if (e->newer)
		e->newer->older = e->older;
	else
		c->newest = e->older;
	if (e->older)
		e->older->newer = e->newer;
	else
		c->oldest = e->newer;
	e->newer = e->older = NULL;
}

static void lru_push(struct cache *c, struct entry *e)
{
	e->older = c->newest;
	e->newer = NULL;
	if (c->newest)
		c->newest->newer = e;
	else
		c->oldest = e;
	c->newest = e;
}

static struct entry **bucket_slot(struct cache *c, const char *name)
{
	struct entry **slot = &c->buckets[name_hash(name) % BUCKETS];

	while (*slot && strcmp((*slot)->name, name) != 0)
		slot = &(*slot)->bucket_next;
	return slot;
}

static void entry_remove(struct cache *c, struct entry *e)
{
	*bucket_slot(c, e->name) = e->bucket_next;
	lru_unlink(c, e);
	avatar_unref(e->avatar);
	free(e->name);
	free(e);
	c->entries--;
}

static void cache_insert(struct cache *c, const char *name, struct avatar *avatar)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return;
	e->name = strdup(name);
	if (!e->name) {
		free(e);
		return;
	}
	e->avatar = avatar_ref(avatar);
	*bucket_slot(c, name) = e;
	lru_push(c, e);
	c->entries++;
	while (c->entries > c->limit) {
		entry_remove(c, c->oldest);
		c->evicted++;
	}
}

/* The caller owns what it gets. */
static struct avatar *cache_lookup(struct cache *c, const char *name)
{
	struct entry *e = *bucket_slot(c, name);
	struct avatar *avatar;

	if (e) {
		c->hits++;
		lru_unlink(c, e);
		lru_push(c, e);
		return avatar_ref(e->avatar);
	}
	c->misses++;
	avatar = avatar_render(name, c->edge);
	if (avatar)
		cache_insert(c, name, avatar);
	return avatar;
}

static void cache_forget(struct cache *c, const char *name)
{
	struct entry *e = *bucket_slot(c, name);

	if (e)
		entry_remove(c, e);
}

/* Everything is drawn anew at another size. */
static void cache_set_edge(struct cache *c, unsigned edge)
{
	struct entry *e, *older;

	if (c->edge == edge)
		return;
	for (e = c->newest; e; e = older) {
		older = e->older;
#ifndef BUG
		avatar_unref(e->avatar);
#endif
		free(e->name);
		free(e); /* GUILTY */
	}
	memset(c->buckets, 0, sizeof(c->buckets));
	c->newest = c->oldest = NULL; /* ACCEPTED */
	c->entries = 0;
	c->edge = edge;
}

static void cache_destroy(struct cache *c)
{
	while (c->oldest)
		entry_remove(c, c->oldest);
}

/* ---- contact list ---- */
#define ROWS 4

struct row {
	const char *name;
	struct avatar *avatar;
};

struct list_view {
	struct cache *cache;
	const char *const *contacts;
	unsigned count, top;
	struct row rows[ROWS];
};

static void row_set(struct list_view *view, struct row *row, const char *name)
{
	struct avatar *avatar = name ? cache_lookup(view->cache, name) : NULL;

	avatar_unref(row->avatar);
	row->avatar = avatar;
	row->name = name;
}

static void view_scroll(struct list_view *view, unsigned top)
{
	view->top = top;
	for (unsigned i = 0; i < ROWS; i++)
		row_set(view, &view->rows[i], top + i < view->count ? view->contacts[top + i] : NULL);
}

static uint32_t view_checksum(const struct list_view *view)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < ROWS; i++) {
		const struct avatar *a = view->rows[i].avatar;

		for (unsigned p = 0; a && p < (unsigned)a->edge * a->edge; p += 3)
			sum = sum * 31 + a->pixels[p];
	}
	return sum;
}

static void view_clear(struct list_view *view)
{
	for (unsigned i = 0; i < ROWS; i++)
		row_set(view, &view->rows[i], NULL);
}

static const char *const contacts[] = {
	"Ada", "Benno", "Carla", "Dilek", "Emil", "Franka", "Goran", "Hanna", "Ines", "", "Jussi", "Karim",
};

int main(void)
{
	struct cache cache = { .limit = 6, .edge = 24 };
	struct list_view view = { .cache = &cache, .contacts = contacts, .count = sizeof(contacts) / sizeof(*contacts) };
	static const unsigned path[] = { 0, 1, 2, 4, 6, 7, 8, 6, 3 };

	for (unsigned i = 0; i < sizeof(path) / sizeof(*path); i++)
		view_scroll(&view, path[i]);
	printf("at %2u: %08x\n", view.top, (unsigned)view_checksum(&view));
	cache_forget(&cache, "Goran");
	cache_forget(&cache, "Ines");
	cache_forget(&cache, "Nobody");

	cache_set_edge(&cache, 48);
	view_scroll(&view, 2);
	printf("at %2u: %08x\n", view.top, (unsigned)view_checksum(&view));
	cache_set_edge(&cache, 48);
	view_scroll(&view, 0);
	printf("%u hits, %u misses, %u evicted, %u kept\n", cache.hits, cache.misses, cache.evicted, cache.entries);

	view_clear(&view);
	cache_destroy(&cache);
	return 0;
}
