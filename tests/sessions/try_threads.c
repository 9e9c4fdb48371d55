// Threads inside a try_get, whose count is already up while another thread stands at a probe.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS 25

struct node {
  atomic_int refs;
};

struct node *shared;
static atomic_int gets, puts_;

__attribute__((noinline)) struct node *node_new(void) {
  struct node *node = malloc(sizeof *node);
  if (node == NULL) abort();
  atomic_init(&node->refs, 1);
  return node;
}

__attribute__((noinline)) int node_try_get(struct node *node) {
  int refs = atomic_load(&node->refs);
  while (refs > 0) {
    if (!atomic_compare_exchange_weak(&node->refs, &refs, refs + 1)) continue;
    for (volatile int i = 0; i < 3000; i++) {  // the reference is taken, the call has not returned
    }
    gets++;
    return 1;
  }
  return 0;
}

__attribute__((noinline)) void node_put(struct node *node) {
  puts_++;
  if (atomic_fetch_sub(&node->refs, 1) == 1) free(node);
}

static void *work(void *unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) {
    if (node_try_get(shared)) node_put(shared);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  shared = node_new();
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  node_put(shared);
  printf("gets %d\nputs %d\n", gets, puts_);
  return 0;
}
