// Gets and puts as fast as they go, and how long they took:
//   agent_program EVENTS FRAMES CHAINS THREADS OBJECTS shared|own|heap
// Each thread makes EVENTS events, half of them gets, at FRAMES frames of its own, reached by CHAINS
// different ways (bits of the chain's number choose between two functions at each of the innermost levels: a
// tree). OBJECTS live at the same time; the threads use the same ones or their own, or call malloc and free
// in their place. Prints nanoseconds per event: the slowest thread's time by its events.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent_library.h"

static long events, frames, chains, threads, count;
static struct conn** objects;
static int shared, heap;

struct result {
  long number;
  double ns;
};

static void left(struct conn* c, long depth, unsigned long chain);

static inline void do_two(struct conn* c) {
  if (heap) {
    void* block = malloc(48);
    __asm__ volatile("" : "+r"(block) : : "memory");
    free(block);
  } else {
    conn_get(c);
    conn_put(c);
  }
}

#define CALL_DEEPER(c, depth, chain)   \
  do {                                 \
    if ((depth) <= 0) {                \
      do_two(c);                       \
    } else if ((chain) >> (depth)&1) { \
      right((c), (depth)-1, (chain));  \
    } else {                           \
      left((c), (depth)-1, (chain));   \
    }                                  \
    __asm__ volatile("" ::: "memory"); \
  } while (0)

static void __attribute__((noinline)) right(struct conn* c, long depth, unsigned long chain) {
  CALL_DEEPER(c, depth, chain);
}

static void __attribute__((noinline)) left(struct conn* c, long depth, unsigned long chain) {
  CALL_DEEPER(c, depth, chain);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void* work(void* argument) {
  struct result* result = argument;
  const long first = shared ? 0 : result->number * count;
  const double begin = now();
  for (long i = 0; i < events / 2; ++i) {
    left(objects[first + i % count], frames - 1, (unsigned long)(i % chains));
  }
  result->ns = (now() - begin) / (double)events;
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  events = atol(argv[1]);
  frames = atol(argv[2]);
  chains = atol(argv[3]);
  threads = atol(argv[4]);
  count = atol(argv[5]);
  shared = strcmp(argv[6], "shared") == 0;
  heap = strcmp(argv[6], "heap") == 0;
  const long all = shared ? count : count * threads;
  objects = calloc((size_t)all, sizeof *objects);
  struct result* results = calloc((size_t)threads, sizeof *results);
  pthread_t* ids = calloc((size_t)threads, sizeof *ids);
  for (long i = 0; i < all; ++i) objects[i] = conn_new((int)i);
  for (long i = 0; i < threads; ++i) {
    results[i].number = i;
    pthread_create(&ids[i], NULL, work, &results[i]);
  }
  double slowest = 0;
  for (long i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    if (results[i].ns > slowest) slowest = results[i].ns;
  }
  printf("ns %.2f\n", slowest);
  return 0;
}
