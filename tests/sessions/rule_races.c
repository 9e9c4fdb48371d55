// Threads that take and give back the same objects, under stop rules.
//   storm ROUNDS   two threads take one object and give it back; main's put is the only last one
//   deaths ROUNDS  in each round main gives back the only reference while the other thread tries to take one
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROUNDS 1000

struct node {
  atomic_int refs;
};

static struct node nodes[MOST_ROUNDS];
static atomic_int ready;
static int rounds;
static atomic_int taken, died;

__attribute__((noinline)) struct node *node_new(int number) {
  atomic_init(&nodes[number].refs, 1);
  return &nodes[number];
}

__attribute__((noinline)) int node_try_get(struct node *node) {
  int refs = atomic_load(&node->refs);
  while (refs > 0) {
    if (atomic_compare_exchange_weak(&node->refs, &refs, refs + 1)) return 1;
  }
  return 0;
}

__attribute__((noinline)) void node_put(struct node *node) {
  if (atomic_fetch_sub(&node->refs, 1) == 1) died++;
}

static void *storm(void *node) {
  for (int i = 0; i < rounds; i++) {
    if (node_try_get(node)) {
      taken++;
      node_put(node);
    }
  }
  return NULL;
}

static void meet(int round) {
  ready++;
  while (ready < 2 * (round + 1)) {
  }
}

static void *take_each(void *unused) {
  (void)unused;
  for (int i = 0; i < rounds; i++) {
    meet(i);
    if (node_try_get(&nodes[i])) {
      taken++;
      node_put(&nodes[i]);
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t first, second;
  if (argc < 3) return 2;
  rounds = atoi(argv[2]);
  if (strcmp(argv[1], "storm") == 0) {
    struct node *shared = node_new(0);
    pthread_create(&first, NULL, storm, shared);
    pthread_create(&second, NULL, storm, shared);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    node_put(shared);
  } else {
    if (rounds > MOST_ROUNDS) return 2;
    for (int i = 0; i < rounds; i++) node_new(i);
    pthread_create(&first, NULL, take_each, NULL);
    for (int i = 0; i < rounds; i++) {
      meet(i);
      node_put(&nodes[i]);
    }
    pthread_join(first, NULL);
  }
  printf("taken %d\ndied %d\n", taken, died);
  return 0;
}
