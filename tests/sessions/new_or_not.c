// A function that returns a new object, or another reference to one that exists.
#include <stdlib.h>

struct leaf {
  int refs;
};

static struct leaf *early, *kept, *lost;

__attribute__((noinline)) struct leaf *leaf_get(struct leaf *leaf) {
  leaf->refs++;
  return leaf;
}

__attribute__((noinline)) void leaf_put(struct leaf *leaf) {
  if (--leaf->refs == 0) free(leaf);
}

__attribute__((noinline)) struct leaf *leaf_of(struct leaf *child) {
  if (child != NULL) return leaf_get(child);
  struct leaf *leaf = malloc(sizeof *leaf);
  if (leaf == NULL) abort();
  leaf->refs = 1;
  return leaf;
}

__attribute__((noinline)) void middle(void) { __asm__ volatile(""); }

int main(void) {
  early = leaf_of(NULL);
  middle();
  leaf_put(leaf_of(early));  // existed, and nobody has seen it yet
  kept = leaf_of(NULL);
  leaf_put(leaf_of(kept));
  leaf_put(leaf_of(NULL));
  lost = leaf_of(NULL);
  lost = NULL;
  leaf_put(early);
  leaf_put(kept);
  kept = NULL;
  return 0;
}
