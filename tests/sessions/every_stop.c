// A counted type in the shapes that compilers make of one: inlined, adjacent, split, tail-called, recursive,
// in threads. The program counts for itself what each stop rule has to stop at.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct item {
  long size;
  int refs;
  struct item *peer;
};

static int deaths, above_two, too_many, kept, uneven, left_over;
static struct item *graveyard[4096];  // nothing is freed: a put too many finds what it was
static int buried;

__attribute__((noinline)) struct item *item_new(struct item *peer) {
  struct item *item = calloc(1, sizeof *item);
  item->refs = 1;
  item->peer = peer;
  return item;
}

static inline struct item *item_get(struct item *item) {
  __sync_fetch_and_add(&item->refs, 1);
  return item;
}

static void item_put(struct item *item);

__attribute__((noinline)) static void item_end(struct item *item) {
  __sync_fetch_and_add(&deaths, 1);
  graveyard[__sync_fetch_and_add(&buried, 1)] = item;
  if (item->peer) item_put(item->peer);
}

// Large enough behind its test for a compiler to split.
static inline void item_put(struct item *item) {
  if (!item) return;
  if (__sync_sub_and_fetch(&item->refs, 1) == 0) item_end(item);
}

__attribute__((noinline)) static void adjacent(struct item *item) {
  item_get(item);
  item_put(item);
  item_put(item);
}

__attribute__((noinline)) static void two_at_once(struct item *one, struct item *two) {
  item_put(one);
  item_put(two);
}

__attribute__((noinline)) static void drop(struct item *item) { item_put(item); }

__attribute__((noinline)) static void drop_by_jump(struct item *item, int times) {
  if (times > 3) return;
  drop(item);
}

// Every fifth call keeps what it takes; every seventh leaves an object behind.
__attribute__((noinline)) int handle(struct item *item, int number) {
  if (item_get(item)->refs > 2) ++above_two;
  if (number % 7 == 6) {
    item_new(NULL);
    ++left_over;
    ++uneven;
  }
  if (number % 5 == 4) {
    ++kept;
    ++uneven;
    return -1;
  }
  item_put(item);
  return 0;
}

__attribute__((noinline)) static void loop(struct item *item) {
  for (int i = 0; i < 4; ++i) {
    item_get(item);
    if (i == 2) {  // 2 -> 3, once for each call
      item_get(item);
      ++above_two;
      item_put(item);
    }
    item_put(item);
  }
}

static void *worker(void *unused) {
  (void)unused;
  for (int i = 0; i < 10; ++i) {
    struct item *item = item_new(i & 1 ? item_new(NULL) : NULL);
    adjacent(item);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 6; ++i) {
    adjacent(item_new(NULL));
    two_at_once(item_new(item_new(NULL)), item_new(NULL));
    drop(item_new(item_new(item_new(NULL))));
    drop_by_jump(item_new(NULL), i % 4);
    struct item *looped = item_new(NULL);
    loop(looped);
    item_put(looped);
  }
  struct item *handled = item_new(NULL);
  for (int i = 0; i < 20; ++i) handle(handled, i);
  for (int i = 0; i < kept; ++i) item_put(handled);
  item_put(handled);
  for (int i = 0; i < 3; ++i) {
    item_put(graveyard[buried - 1 - 2 * i]);
    ++too_many;
  }
  printf("deaths %d\nabove_two %d\ntoo_many %d\nuneven %d\nleft_over %d\n", deaths, above_two, too_many,
         uneven, left_over);
  return 7;
}
