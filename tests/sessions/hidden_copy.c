// An embedded counter whose functions are inlined, and whose address the compiler has spilled: no debug
// information tells that the register through which a copy changes the counter is the object's.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "conn.h"

#define REQUESTS 20

struct counter {
  int refs;
};

struct request {
  long number;
  struct counter counter;
};

/// From where the compiler has spilled it, as it does in large functions.
static inline __attribute__((always_inline)) int *refs_of(struct counter *counter) {
  struct counter *volatile spilled = counter;
  return &spilled->refs;
}

static inline __attribute__((always_inline)) void counter_set(struct counter *counter) {
  *refs_of(counter) = 1;
}
static inline __attribute__((always_inline)) void counter_get(struct counter *counter) {
  __atomic_fetch_add(refs_of(counter), 1, __ATOMIC_RELAXED);
}
static inline __attribute__((always_inline)) int counter_put(struct counter *counter) {
  return __atomic_sub_fetch(refs_of(counter), 1, __ATOMIC_ACQ_REL) == 0;
}

static struct request *make(long number) {
  struct request *request = calloc(1, sizeof *request);
  request->number = number;
  counter_set(&request->counter);
  return request;
}

__attribute__((noinline)) static void use(struct request *request) {
  counter_get(&request->counter);
  printf("%ld\n", request->number);
  if (counter_put(&request->counter)) abort();
}

int main(void) {
  for (long i = 0; i < REQUESTS; i++) {
    struct request *request = make(i);
    use(request);
    if (counter_put(&request->counter)) free(request);
  }
  checkpoint();
  return 0;
}
