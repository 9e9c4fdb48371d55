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

struct conn *conn_get(struct conn *conn) {
  if (conn != NULL) conn->refs++;
  return conn;
}

void conn_put(struct conn *conn) {
  if (conn != NULL && --conn->refs == 0) conn_free(conn);
}

__attribute__((noinline)) void conn_free(struct conn *conn) { free(conn); }

void checkpoint(void) { __asm__ volatile(""); }
