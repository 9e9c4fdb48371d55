/* summary: the read-ahead stores a tile into a slot of the cache that may be taken, without giving the tile that was there back
 * kind: overwritten
 * counts: surplus
 * objects: 5
 * track: own
 * build: gcc -O2 -flto -g
 * exit: 0
 * source: bug class "cache replacement leaks the evicted entry on the second way of inserting"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NSLOTS 16
#define NVIEW 6

/* A piece of the map. Born without a reference, the first one who wants it takes one. */
struct tile {
  long users;
  unsigned key;
  unsigned char data[40];
};

struct view {
  struct tile *shown[NVIEW];
  unsigned n;
};

static struct tile *slots[NSLOTS];
static long live;
static unsigned long hits, loads, evicted;

static inline struct tile *tile_get(struct tile *t) {
  t->users++;
  return t;
}

static inline void tile_put(struct tile *t) {
  if (--t->users == 0) {
    live--;
    free(t);
  }
}

static struct tile *tile_new(unsigned key) {
  struct tile *t = calloc(1, sizeof *t);
  if (!t)
    abort();
  t->key = key;
  live++;
  return t;
}

static struct tile *tile_load(unsigned key) {
  struct tile *t = tile_new(key);
  for (unsigned i = 0; i < sizeof t->data; i++)
    t->data[i] = (unsigned char)(key * 7 + i);
  loads++;
  return t;
}

static void slot_replace(unsigned n, struct tile *t) {
  if (slots[n]) {
    evicted++;
    tile_put(slots[n]);
  }
  slots[n] = t ? tile_get(t) : NULL;
}

/* Returns a reference. */
static struct tile *fetch(unsigned key) {
  unsigned n = key % NSLOTS;
  if (slots[n] && slots[n]->key == key) {
    hits++;
    return tile_get(slots[n]);
  }
  struct tile *t = tile_get(tile_load(key));
  if (key < 1000) /* the others are seldom wanted again */
    slot_replace(n, t);
  return t;
}

static void read_ahead(unsigned key, unsigned n) {
  for (; n; n--, key++) {
    struct tile **slot = &slots[key % NSLOTS];
    if (*slot && (*slot)->key == key)
      continue;
#ifndef BUG
    if (*slot) {
      evicted++;
      tile_put(*slot);
    }
#endif
    *slot = tile_get(tile_load(key)); /* GUILTY */
  }
}

/* The tiles of the new position come before the old ones go: they are often the same. */
static void view_move(struct view *v, unsigned key, unsigned n) {
  struct view next = {.n = n};
  for (unsigned i = 0; i < n; i++)
    next.shown[i] = fetch(key + i);
  for (unsigned i = 0; i < v->n; i++)
    tile_put(v->shown[i]);
  *v = next;
}

static unsigned view_sum(const struct view *v) {
  unsigned sum = 0;
  for (unsigned i = 0; i < v->n; i++)
    sum = sum * 33 + v->shown[i]->data[i] + v->shown[i]->key;
  return sum;
}

static void trim(void) {
  for (unsigned i = 0; i < NSLOTS; i++)
    if (slots[i] && slots[i]->users == 1)
      slot_replace(i, NULL);
}

int main(void) {
  static struct view left, right;
  unsigned sum = 0;

  for (unsigned step = 0; step < 10; step++) {
    view_move(&left, 100 + step * 2, 4 + step % 3);
    view_move(&right, 2000 - step, 3);
    sum += view_sum(&left) ^ view_sum(&right);
    if (step == 2)
      trim();
    if (step == 3)
      read_ahead(108, 3); /* the slots were empty or have these very tiles */
  }
  view_move(&right, 0, 0);
  read_ahead(120, 7); /* two are there and in view, the slots of the others hold tiles of earlier positions */
  view_move(&left, 121, 5);
  view_move(&right, 124, 4);
  sum += view_sum(&left) ^ view_sum(&right);
  view_move(&left, 0, 0);
  view_move(&right, 0, 0);
  trim();
  printf("sum %u, %lu loads, %lu hits\n", sum, loads, hits);
#ifdef TRUTH
  printf("tiles alive at the end: %ld, evicted %lu\n", live, evicted);
#endif
  return 0;
}
