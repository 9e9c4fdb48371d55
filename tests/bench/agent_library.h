// See agent_library.c.
#pragma once

struct conn;

struct conn* conn_new(int fd);
#ifdef INLINED  // the same instructions, in the program itself
#include <stdlib.h>

struct conn {
  int fd;
  int refs;
};

static inline __attribute__((always_inline)) void conn_get(struct conn* c) {
  __atomic_add_fetch(&c->refs, 1, __ATOMIC_SEQ_CST);
}

static inline __attribute__((always_inline)) void conn_put(struct conn* c) {
  if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_SEQ_CST) == 0) free(c);
}
#else
void conn_get(struct conn* c);
void conn_put(struct conn* c);
#endif
