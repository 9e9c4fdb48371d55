// Puts that are inlined into main, which frees the objects itself long after their last put.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kItems = 8 };

struct item {
  int refs;
  int number;
};

static struct item *made[kItems];

__attribute__((noinline)) static struct item *item_new(int number) {
  struct item *item = calloc(1, sizeof *item);
  item->refs = 1;
  item->number = number;
  return item;
}

__attribute__((always_inline)) static inline struct item *item_get(struct item *item) {
  item->refs++;
  return item;
}

static int ended;
__attribute__((always_inline)) static inline void item_put(struct item *item) {
  if (--item->refs == 0) ended++;
}

int main(int argc, char **argv) {
  const int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  struct item *kept[kItems];
  int sum = 0;
  for (int i = 0; i < kItems; i++) {
    made[i] = item_new(i);
    kept[i] = item_get(made[i]);
    sum += made[i]->number;
    item_put(made[i]);
    if (wrong && i == 5) item_put(made[i]);  // wrong
  }
  for (int i = 0; i < kItems; i++) item_put(kept[i]);  // finds zero
  for (int i = 0; i < kItems; i++) free(made[i]);
  printf("%d %d\n", sum, ended);
  return 0;
}
