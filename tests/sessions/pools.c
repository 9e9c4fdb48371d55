// Objects from a pool with an allocator of its own; the pool is destroyed while one of three is still
// referenced.
#include <stddef.h>

#include "conn.h"

struct item {
  long payload;
  int refs;
};

struct pool {
  size_t used;
  struct item items[8];
};

static struct pool the_pool;
struct item *kept;

__attribute__((noinline)) struct pool *pool_create(void) {
  the_pool.used = 0;
  return &the_pool;
}

__attribute__((noinline)) void pool_destroy(struct pool *pool) { pool->used = 0; }

__attribute__((noinline)) void *item_alloc(struct pool *pool, size_t size) {
  return size == sizeof(struct item) ? &pool->items[pool->used++] : NULL;
}

__attribute__((noinline)) struct item *item_new(struct pool *pool) {
  struct item *item = item_alloc(pool, sizeof *item);
  item->refs = 1;
  return item;
}

__attribute__((noinline)) void item_get(struct item *item) { item->refs++; }
__attribute__((noinline)) void item_put(struct item *item) { item->refs--; }

int main(void) {
  struct pool *pool = pool_create();
  struct item *first = item_new(pool);
  kept = item_new(pool);
  struct item *third = item_new(pool);
  item_get(first);
  item_put(first);
  item_put(first);
  item_put(third);
  item_get(kept);
  checkpoint();
  pool_destroy(pool);
  checkpoint();
  return 0;
}
