// References whose last pointer goes in different ways, each far from where it was taken: `loss WAY`.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
  int refs;
  int id;
};

struct cell {
  struct item *item;
  struct cell *next;
};

struct sink {
  int (*push)(struct sink *sink, struct item *item);
  int waiting;
  int dropped;
};

__attribute__((noinline)) struct item *item_new(int id) {
  struct item *item = malloc(sizeof *item);
  item->refs = 1;
  item->id = id;
  return item;
}

__attribute__((noinline)) struct item *item_get(struct item *item) {
  item->refs++;
  return item;
}

__attribute__((noinline)) void item_put(struct item *item) {
  if (--item->refs == 0) free(item);
}

__attribute__((noinline)) static int score_of(const struct item *item) { return item->id * 7 % 10; }

// The best one so far is replaced by a better one.
__attribute__((noinline)) static struct item *best_of(struct item **items, int count) {
  struct item *best = NULL;
  for (int i = 0; i < count; i++) {
    if (best != NULL && score_of(items[i]) <= score_of(best)) continue;
    best = item_get(items[i]); /* LOST best */
  }
  return best;
}

// Handed to a function that now and then drops what it is given.
__attribute__((noinline)) static int sink_push(struct sink *sink, struct item *item) {
  if (sink->waiting && score_of(item) < 8) {
    sink->dropped++;
    return 0; /* LOST handed */
  }
  sink->waiting = 0;
  item_put(item);
  return 1;
}

__attribute__((noinline)) static int send(struct sink *sink, int id) {
  struct item *item = item_new(id);
  item->id = id;
  return sink->push(sink, item);
}

// A list that is freed, and on one path without what it lists.
__attribute__((noinline)) static struct cell *list_of(struct item **items, int count) {
  struct cell *list = NULL;
  for (int i = 0; i < count; i++) {
    struct cell *cell = malloc(sizeof *cell);
    cell->item = item_get(items[i]);
    cell->next = list;
    list = cell;
  }
  return list;
}

__attribute__((noinline)) static void cells_free(struct cell *list, int with_items) {
  while (list != NULL) {
    struct cell *next = list->next;
    if (with_items) item_put(list->item);
    free(list); /* LOST cells */
    list = next;
  }
}

// Memory that leads to it is lost, with the pointer in it.
__attribute__((noinline)) static int listed(struct item **items, int first) {
  struct cell *list = list_of(items, 2);
  if (list->item->id == first) return -1; /* LOST block */
  cells_free(list, 1);
  return 0;
}

// Taken and given back by others meanwhile.
__attribute__((noinline)) static void look(struct item *item) {
  struct item *mine = item_get(item);
  if (score_of(mine) > 20) puts("high");
  item_put(mine);
}

__attribute__((noinline)) static int handle(struct item *from) {
  struct item *item = item_get(from);
  look(item);
  if (score_of(item) == 1) {
    fputs("bad\n", stderr);
    return -1; /* LOST others */
  }
  item_put(item);
  return 0;
}

// A reference is lost before somebody else takes and gives back another one: the last pointer goes where all
// is right.
__attribute__((noinline)) static int lose(struct item *from) {
  struct item *item = item_get(from);
  if (score_of(item) == 0) return -1; /* LOST before */
  item_put(item);
  return 0;
}

__attribute__((noinline)) static void owner(struct item *item) {
  struct cell *cell = malloc(sizeof *cell);
  cell->item = item;
  item_get(item);
  item_put(cell->item);
  free(cell);
}

static atomic_int ending;

static void *spin(void *unused) {
  while (!ending) {
  }
  return unused;
}

static void run_handled(int count) {
  struct item *items[4];
  for (int i = 0; i < count; i++) items[i] = item_new(i);
  for (int i = 0; i < count; i++) handle(items[i]);
  for (int i = 0; i < count; i++) item_put(items[i]);
}

static void run_threads(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, spin, NULL);
  run_handled(4);
  ending = 1;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

/// Leaves nothing of what the stack had below.
__attribute__((noinline)) static void wipe(void) {
  volatile char unused[4096];
  for (unsigned i = 0; i < sizeof unused; i++) unused[i] = 0;
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "best";
  struct item *items[4];
  struct sink sink = {sink_push, 1, 0};
  for (int i = 0; i < 4; i++) items[i] = item_new(i);
  if (strcmp(way, "best") == 0) {
    struct item *best = best_of(items, 3);
    if (best != NULL) item_put(best);
  } else if (strcmp(way, "handed") == 0) {
    for (int i = 0; i < 4; i++) send(&sink, i + 1);
  } else if (strcmp(way, "cells") == 0) {
    cells_free(list_of(items, 2), 1);
    cells_free(list_of(items + 2, 2), 0);
  } else if (strcmp(way, "block") == 0) {
    listed(items, 3);
    listed(items, 1);
  } else if (strcmp(way, "others") == 0) {
    run_handled(4);
  } else if (strcmp(way, "threads") == 0) {
    run_threads();
  } else if (strcmp(way, "before") == 0) {
    for (int i = 0; i < 4; i++) lose(items[i]);
    for (int i = 0; i < 4; i++) owner(items[i]);
  }
  for (int i = 0; i < 4; i++) item_put(items[i]);
  wipe();
  return 0;
}
