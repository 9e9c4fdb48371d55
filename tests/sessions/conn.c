#include "conn.h"

#include <stdlib.h>

struct conn *conn_new(int id) {
  struct conn *conn = malloc(sizeof *conn);
  if (conn == NULL) abort();
  conn->id = id;
  conn->refs = 1;
  conn->next = NULL;
  return conn;
}

#ifdef CONN_ONE_INSTRUCTION  // a signal handler in the middle of a change would lose its own
#define ADD(counter, number) __atomic_add_fetch(&(counter), number, __ATOMIC_SEQ_CST)
#else
#define ADD(counter, number) ((counter) += (number))
#endif

struct conn *conn_get(struct conn *conn) {
  if (conn != NULL) ADD(conn->refs, 1);
  return conn;
}

void conn_put(struct conn *conn) {
  if (conn != NULL && ADD(conn->refs, -1) == 0) conn_free(conn);
}

__attribute__((noinline)) void conn_free(struct conn *conn) { free(conn); }

void checkpoint(void) { __asm__ volatile(""); }
