// A constructor that calls itself, and gets and puts at every depth of a recursion.
#include "conn.h"

struct conn *subject;

__attribute__((noinline)) struct conn *chain_new(int depth) {
  struct conn *rest = depth > 1 ? chain_new(depth - 1) : 0;
  struct conn *conn = conn_new(depth);
  conn->next = rest;
  return conn;
}

__attribute__((noinline)) void visit(struct conn *conn, int depth) {
  conn_get(conn);
  if (depth > 1)
    visit(conn, depth - 1);
  else
    checkpoint();
  conn_put(conn);
}

int main(void) {
  subject = chain_new(5);
  visit(subject, 7);
  while (subject != 0) {
    struct conn *next = subject->next;
    conn_put(subject);
    subject = next;
  }
  return 0;
}
