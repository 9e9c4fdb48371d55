// GCC splits `node_put`: its head is inlined into callers, its rest becomes node_put.part.0, which the whole
// function calls as well. Needs -O2.
#include <stdio.h>
#include <stdlib.h>

struct node {
  int refs;
  int ended;
};

struct node *subject;
static void (*volatile put_whole)(struct node *);

__attribute__((noinline)) struct node *node_new(void) {
  struct node *node = calloc(1, sizeof *node);
  if (node == NULL) abort();
  node->refs = 1;
  return node;
}

__attribute__((noinline)) void node_get(struct node *node) { node->refs++; }

void node_put(struct node *node) {
  if (node == NULL || __builtin_expect(--node->refs > 0, 1)) return;
  node->ended = 1;
  for (int i = 0; i < 3; i++) {
    fprintf(stderr, "end of node, step %d of %d\n", i, node->ended);
    fprintf(stderr, "refs %d, at %p\n", node->refs, (void *)node);
    fprintf(stderr, "round %d\n", i);
    fflush(stderr);
  }
  free(node);
  fprintf(stderr, "freed\n");
}

__attribute__((noinline)) void checkpoint(void) { __asm__ volatile(""); }

__attribute__((noinline)) void put_backwards(int times) {
  while (times-- > 0) node_put(subject);
}

__attribute__((noinline)) void put_inlined(int times) {
  for (int i = 0; i < times; i++) node_put(subject);
}

int main(int argc, char **argv) {
  (void)argv;
  put_whole = node_put;
  subject = node_new();
  for (int i = 0; i < 5; i++) node_get(subject);
  put_whole(subject);
  put_whole(subject);
  checkpoint();
  if (argc > 1) {
    put_inlined(2);
    put_backwards(2);
  } else {
    for (int i = 0; i < 4; i++) put_whole(subject);
  }
  return 0;
}
