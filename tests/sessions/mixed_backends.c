// Threads that take and give back one object. The agent can follow the function that takes, and a pointer
// leads into the bytes that a jump in the one that gives back would cover.
//   mixed_backends ROUNDS
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define THREADS 3

struct node {
  atomic_int refs;
};

static struct node shared;
static int rounds;

__attribute__((noinline)) struct node *node_new(void) {
  atomic_init(&shared.refs, 1);
  return &shared;
}

__attribute__((noinline)) void node_get(struct node *node) { node->refs++; }

__attribute__((noinline)) int node_try_get(struct node *node) {
  int refs = atomic_load(&node->refs);
  while (refs > 0) {
    if (atomic_compare_exchange_weak(&node->refs, &refs, refs + 1)) return 1;
  }
  return 0;
}

__attribute__((naked)) void node_put(__attribute__((unused)) struct node *node) {
  __asm__(
      "nop\n1: nop\n2: nop\n3: lock decl (%rdi)\nret\nud2\n"
      ".pushsection .data\n.quad 1b, 2b, 3b\n.popsection");
}

static void *take_and_give_back(void *node) {
  for (int i = 0; i < rounds; i++) {
    for (int held = 0; held < 20; held++) node_get(node);
    for (int held = 0; held < 20; held++) {
      if (!node_try_get(node)) abort();
    }
    for (int held = 0; held < 40; held++) node_put(node);
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  if (argc < 2) return 2;
  rounds = atoi(argv[1]);
  struct node *node = node_new();
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, take_and_give_back, node);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  node_put(node);
  return 0;
}
