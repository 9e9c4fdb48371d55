// The counted objects of the agent's bench, in a library so that LD_PRELOAD, uprobes and tracers have a name
// to take hold of.
#include "agent_library.h"

#include <stdlib.h>

struct conn {
  int fd;
  int refs;
};

struct conn* conn_new(int fd) {
  struct conn* c = malloc(sizeof *c);
  if (c == NULL) abort();
  c->fd = fd;
  c->refs = 1;
  return c;
}

void conn_get(struct conn* c) { __atomic_add_fetch(&c->refs, 1, __ATOMIC_SEQ_CST); }

void conn_put(struct conn* c) {
  if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_SEQ_CST) == 0) free(c);
}
