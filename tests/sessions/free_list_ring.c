// Frees a block twice, past malloc's own checks: one of its lists of free blocks becomes a ring. Leaks one
// object.
#include <stdio.h>
#include <stdlib.h>

#include "conn.h"

struct box {
  char text[32];
  volatile int refs;
};

__attribute__((noinline)) static struct box *box_new(void) {
  struct box *box = calloc(1, sizeof *box);
  box->refs = 1;
  return box;
}

__attribute__((noinline, noipa)) static void box_put(struct box *box) {
  if (--box->refs <= 0) free(box);
}

__attribute__((noinline)) static void forget(void) { box_new(); }

int main(void) {
  enum { BOXES = 9, CACHED = 7 };  // malloc keeps so many of a size in its cache before others go to the ring
  struct box *boxes[BOXES];
  for (int i = 0; i < BOXES; i++) boxes[i] = box_new();
  forget();
  for (int i = 0; i < CACHED; i++) box_put(boxes[i]);
  box_put(boxes[CACHED]);
  box_put(boxes[CACHED + 1]);
  box_put(boxes[CACHED]);
  for (int i = 0; i < BOXES; i++) boxes[i] = NULL;
  checkpoint();
  return 0;
}
