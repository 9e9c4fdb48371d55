// A type whose objects are made by a function that exists only as inlined copies.
#include <stdlib.h>

struct node {
  int refs;
};

struct node *subject;

static inline __attribute__((always_inline)) struct node *node_new(void) {
  struct node *node = calloc(1, sizeof *node);
  if (node == NULL) abort();
  node->refs = 1;
  return node;
}

__attribute__((noinline)) void node_get(struct node *node) { node->refs++; }

__attribute__((noinline)) void node_put(struct node *node) {
  if (--node->refs == 0) free(node);
}

int main(void) {
  for (int i = 0; i < 2; i++) {
    subject = node_new();
    node_get(subject);
    node_put(subject);
    node_put(subject);
  }
  return 0;
}
