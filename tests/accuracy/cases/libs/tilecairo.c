/* summary: surfcache_put(): when the key is already in the cache (a tile drawn again with more detail) the old surface is overwritten without cairo_surface_destroy().
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: cairo_surface_t
 * packages: cairo
 * build: gcc -g -O2 -flto
 * exit: 0
 */
#ifndef SURFCACHE_H
#define SURFCACHE_H
#include <cairo.h>
#include <stddef.h>

typedef struct surfcache surfcache;

surfcache *surfcache_new(size_t limit);
void surfcache_free(surfcache *c);

/* Returns a borrowed surface or NULL; good until the next change. */
cairo_surface_t *surfcache_peek(surfcache *c, unsigned key, unsigned *level);

/* Puts a surface in; the cache takes a reference of its own. */
void surfcache_put(surfcache *c, unsigned key, unsigned level,
                   cairo_surface_t *s);
void surfcache_drop(surfcache *c, unsigned key);
size_t surfcache_count(const surfcache *c);

#endif

#include <stdlib.h>

struct entry {
    unsigned         key;
    unsigned         level;
    unsigned         used;
    cairo_surface_t *surface;
    struct entry    *next;
};

#define BUCKETS 16

struct surfcache {
    size_t        limit, count;
    unsigned      clock;
    struct entry *bucket[BUCKETS];
};

surfcache *surfcache_new(size_t limit)
{
    surfcache *c = calloc(1, sizeof *c);
    c->limit = limit;
    return c;
}

static struct entry **find(surfcache *c, unsigned key)
{
    struct entry **pp = &c->bucket[key * 2654435761u >> 28];
    while (*pp && (*pp)->key != key)
        pp = &(*pp)->next;
    return pp;
}

static void entry_remove(surfcache *c, struct entry **pp)
{
    struct entry *e = *pp;
    *pp = e->next;
    cairo_surface_destroy(e->surface);
    free(e);
    c->count--;
}

static void evict_oldest(surfcache *c)
{
    struct entry **oldest = NULL, **pp;

    for (size_t b = 0; b < BUCKETS; b++)
        for (pp = &c->bucket[b]; *pp; pp = &(*pp)->next)
            if (!oldest || (*pp)->used < (*oldest)->used)
                oldest = pp;
    if (oldest)
        entry_remove(c, oldest);
}

cairo_surface_t *surfcache_peek(surfcache *c, unsigned key, unsigned *level)
{
    struct entry *e = *find(c, key);

    if (!e)
        return NULL;
    e->used = ++c->clock;
    *level = e->level;
    return e->surface;
}

void surfcache_put(surfcache *c, unsigned key, unsigned level,
                   cairo_surface_t *s)
{
    struct entry *e = *find(c, key);

    if (!e) {
        if (c->count == c->limit)
            evict_oldest(c);
        e = calloc(1, sizeof *e);
        e->key = key;
        e->next = c->bucket[key * 2654435761u >> 28];
        c->bucket[key * 2654435761u >> 28] = e;
        c->count++;
    }
#ifndef BUG
    else {
        cairo_surface_destroy(e->surface);
    }
#endif
    e->surface = cairo_surface_reference(s);        /* GUILTY */
    e->level = level;
    e->used = ++c->clock;
}

void surfcache_drop(surfcache *c, unsigned key)
{
    struct entry **pp = find(c, key);
    if (*pp)
        entry_remove(c, pp);
}

size_t surfcache_count(const surfcache *c) { return c->count; }

void surfcache_free(surfcache *c)
{
    for (size_t b = 0; b < BUCKETS; b++)
        while (c->bucket[b])
            entry_remove(c, &c->bucket[b]);
    free(c);
}

/* tilecairo - scroll over a map whose tiles are drawn with cairo and cached */
#include <stdint.h>
#include <stdio.h>

#define TILE 24
#define MAP_W 8
#define MAP_H 6
#define VIEW_W 4
#define VIEW_H 3

/* terrain of the map: . grass, ~ water, ^ hill, # town */
static const char *const terrain[MAP_H] = {
    "..~~..^^", ".#.~..^.", "...~~...", "^^..~.#.", "^...~~..", "..#...~~",
};

static const struct step { int x, y, zoom; } tour[] = {
    {0,0,0}, {1,0,0}, {1,1,0}, {2,1,0}, {2,1,1}, {3,1,0}, {3,2,0}, {4,2,0},
    {5,3,0}, {3,3,1}, {2,3,0}, {1,3,0}, {0,3,0}, {0,2,0}, {0,1,0}, {0,0,0},
};

static struct { unsigned drawn, reused, refined, placeholders; } stats;

/* Drawn where the map ends; made at the first use, destroyed by main(). */
static cairo_surface_t *void_tile;

/* Returns a new surface. */
static cairo_surface_t *draw_tile(unsigned x, unsigned y, unsigned level)
{
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, TILE, TILE);
    cairo_t *cr = cairo_create(s);

    switch (terrain[y][x]) {
    case '~': cairo_set_source_rgb(cr, 0.2, 0.3, 0.8); break;
    case '^': cairo_set_source_rgb(cr, 0.5, 0.4, 0.3); break;
    default:  cairo_set_source_rgb(cr, 0.3, 0.7, 0.2); break;
    }
    cairo_paint(cr);
    cairo_set_source_rgb(cr, 0.1, 0.1, 0.1);
    for (unsigned i = 0; i <= level; i++) {
        cairo_rectangle(cr, 2 + 3 * i, 2 + 2 * i, 4, 5);
        cairo_fill(cr);
    }
    if (terrain[y][x] == '#') {
        /* a town: the same pattern four times */
        cairo_pattern_t *p = cairo_pattern_create_rgb(0.9, 0.1, 0.1);
        cairo_set_source(cr, p);
        cairo_pattern_destroy(p);
        for (int i = 0; i < 4; i++)
            cairo_rectangle(cr, 4 + 8 * (i & 1), 4 + 8 * (i >> 1), 6, 6);
        cairo_fill(cr);
    }
    cairo_destroy(cr);
    stats.drawn++;
    return s;
}

static cairo_surface_t *get_void_tile(void)
{
    stats.placeholders++;
    if (!void_tile) {
        cairo_t *cr;
        void_tile = cairo_image_surface_create(CAIRO_FORMAT_RGB24, TILE, TILE);
        cr = cairo_create(void_tile);
        cairo_set_source_rgb(cr, 0.05, 0.05, 0.05);
        cairo_paint(cr);
        cairo_destroy(cr);
    }
    return cairo_surface_reference(void_tile);
}

/* Returns a reference to the tile at map position x, y. */
static cairo_surface_t *get_tile(surfcache *cache, int x, int y, unsigned level)
{
    unsigned key = (unsigned)(y * MAP_W + x), have = 0;
    cairo_surface_t *s;

    if (x < 0 || y < 0 || x >= MAP_W || y >= MAP_H)
        return get_void_tile();

    s = surfcache_peek(cache, key, &have);
    if (s && have >= level) {
        stats.reused++;
        return cairo_surface_reference(s);
    }
    if (s)
        stats.refined++;
    s = draw_tile(x, y, level);
    surfcache_put(cache, key, level, s);
    return s;
}

static uint32_t checksum(cairo_surface_t *s)
{
    uint32_t sum = 1;

    cairo_surface_flush(s);
    const unsigned char *p = cairo_image_surface_get_data(s);
    int stride = cairo_image_surface_get_stride(s);
    for (int y = 0; y < cairo_image_surface_get_height(s); y++)
        for (int x = 0; x < cairo_image_surface_get_width(s); x++)
            sum = sum * 31 + (((const uint32_t *)(p + y * stride))[x] & 0xffffff);
    return sum;
}

int main(void)
{
    surfcache *cache = surfcache_new(20);
    cairo_surface_t *screen =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, VIEW_W * TILE, VIEW_H * TILE);
    uint32_t sum = 0;

    for (size_t n = 0; n < sizeof tour / sizeof tour[0]; n++) {
        cairo_t *cr = cairo_create(screen);

        for (int y = 0; y < VIEW_H; y++) {
            for (int x = 0; x < VIEW_W; x++) {
                /* a closer look at the middle of the view */
                unsigned level = tour[n].zoom && y == 1 && (x == 1 || x == 2) ? 2 : 0;
                cairo_surface_t *t = get_tile(cache, tour[n].x + x,
                                              tour[n].y + y, level);
                cairo_set_source_surface(cr, t, x * TILE, y * TILE);
                cairo_paint(cr);
                cairo_surface_destroy(t);
            }
        }
        cairo_destroy(cr);
        sum = sum * 17 + checksum(screen);
        if (n == 9)
            surfcache_drop(cache, 4 * MAP_W + 4);
    }

    printf("drawn %u reused %u refined %u void %u cached %zu checksum %08x\n",
           stats.drawn, stats.reused, stats.refined, stats.placeholders,
           surfcache_count(cache), sum);
    cairo_surface_destroy(screen);
    cairo_surface_destroy(void_tile);
    surfcache_free(cache);
    return 0;
}
