// A type whose objects are made by a function that exists only as inlined copies.
#include <stdlib.h>

// Two members go alike, so that the code does not tell which of them is the counter.
struct node {
  int holders, users;
};

struct node *subject;

static inline __attribute__((always_inline)) struct node *node_new(void) {
  struct node *node = calloc(1, sizeof *node);
  if (node == NULL) abort();
  node->holders = node->users = 1;
  return node;
}

__attribute__((noinline)) void node_get(struct node *node) {
  node->holders++;
  node->users++;
}

__attribute__((noinline)) void node_put(struct node *node) {
  node->users--;
  if (--node->holders == 0) free(node);
}

int main(void) {
  struct node *nodes[2];  // both at a time: the second one would have the address of the first
  for (int i = 0; i < 2; i++) nodes[i] = node_new();
  for (int i = 0; i < 2; i++) {
    subject = nodes[i];
    node_get(subject);
    node_put(subject);
    node_put(subject);
  }
  return 0;
}
