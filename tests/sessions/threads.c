// Threads that start and end while others get and put; all counters are atomic.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define WAVES 3
#define THREADS 4
#define ROUNDS 5

struct node {
  atomic_int refs;
};

struct node *shared;
static atomic_int gets, puts_, births;

__attribute__((noinline)) struct node *node_new(void) {
  struct node *node = malloc(sizeof *node);
  if (node == NULL) abort();
  atomic_init(&node->refs, 1);
  births++;
  return node;
}

__attribute__((noinline)) void node_get(struct node *node) {
  atomic_fetch_add(&node->refs, 1);
  gets++;
}

__attribute__((noinline)) void node_put(struct node *node) {
  puts_++;
  if (atomic_fetch_sub(&node->refs, 1) == 1) free(node);
}

__attribute__((noinline)) void checkpoint(void) { __asm__ volatile(""); }

static void *work(void *unused) {
  (void)unused;
  pthread_setname_np(pthread_self(), "worker");
  for (int i = 0; i < ROUNDS; i++) {
    struct node *own = node_new();
    node_get(shared);
    node_put(own);
    node_put(shared);
  }
  return NULL;
}

int main(void) {
  shared = node_new();
  for (int wave = 0; wave < WAVES; wave++) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  }
  checkpoint();
  node_put(shared);
  printf("births %d\ngets %d\nputs %d\n", births, gets, puts_);
  return 0;
}
