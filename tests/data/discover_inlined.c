/* What `refhist discover` sees of functions that have no code of their own: two counted types, and functions
 * with such names that count something else. */
#include <stdatomic.h>
#include <stdlib.h>

#define COPY static inline __attribute__((always_inline))
#define APART __attribute__((noinline, noclone))

/* ---- reference counted */

struct item {
  char *name;
  int refs;
};

APART void item_free(struct item *item) {
  free(item->name);
  free(item);
}
COPY struct item *item_ref(struct item *item) {
  item->refs++;
  return item;
}
COPY void item_unref(struct item *item) {
  if (--item->refs == 0) item_free(item);
}

struct page {
  long number;
  struct {
    atomic_int count;
  } users;
};

APART void page_destroy(struct page *page) { free(page); }
COPY struct page *page_get(struct page *page) {
  int old = atomic_load_explicit(&page->users.count, memory_order_relaxed);
  while (old != 0 && !atomic_compare_exchange_weak(&page->users.count, &old, old + 1)) continue;
  return page;
}
COPY void page_put(struct page *page) {
  if (atomic_fetch_sub(&page->users.count, 1) == 1) page_destroy(page);
}

/* ---- not */

struct pool {
  int used;
  int slots[16];
};
COPY int *pool_get(struct pool *pool) { return &pool->slots[pool->used++ % 16]; }
COPY void pool_put(struct pool *pool, int *slot) {
  *slot = 0;
  pool->used--;
}

struct lock {
  long owner;
  int depth;
};
COPY void lock_get(struct lock *lock) { lock->depth++; }
COPY void lock_put(struct lock *lock) { lock->depth--; }

struct reader {
  const char *at;
  int line;
};
COPY void reader_inc(struct reader *reader) { reader->line++; }
COPY void reader_dec(struct reader *reader) { reader->line--; }

APART int first(struct item *item, struct page *page, struct pool *pool, struct lock *lock,
                struct reader *reader) {
  item_ref(item);
  page_get(page);
  lock_get(lock);
  int *slot = pool_get(pool);
  reader_inc(reader);
  return *slot;
}
APART void second(struct item *item, struct page *page, struct pool *pool, struct lock *lock,
                  struct reader *reader) {
  reader_dec(reader);
  pool_put(pool, pool->slots);
  lock_put(lock);
  page_put(page);
  item_unref(item);
}
APART int third(struct item **items, struct page **pages, int count) {
  for (int i = 0; i < count; i++) {
    item_ref(items[i]);
    page_get(pages[i]);
  }
  for (int i = 0; i < count; i++) {
    page_put(pages[i]);
    item_unref(items[i]);
  }
  return count;
}

int main(void) {
  struct item *item = calloc(1, sizeof *item);
  struct page *page = calloc(1, sizeof *page);
  static struct pool pool;
  static struct lock lock;
  static struct reader reader;
  item->refs = page->users.count = 1;
  const int result = first(item, page, &pool, &lock, &reader) + third(&item, &page, 1);
  second(item, page, &pool, &lock, &reader);
  return result - 1;
}
