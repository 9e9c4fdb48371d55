// Functions with a net effect: `handle` leaks one object, `keep` takes a reference on purpose, `balanced`
// does neither.
#include "conn.h"

struct conn *subject;

__attribute__((noinline)) void balanced(void) {
  struct conn *conn = conn_new(1);
  conn_get(subject);
  conn_put(subject);
  conn_put(conn);
}

__attribute__((noinline)) void keep(void) {
  conn_get(subject);
  checkpoint();
}

__attribute__((noinline)) void handle(int fail) {
  struct conn *conn = conn_new(2);
  checkpoint();
  if (!fail) conn_put(conn);
  checkpoint();
}

int main(void) {
  subject = conn_new(0);
  balanced();
  keep();
  handle(0);
  handle(1);
  conn_put(subject);
  conn_put(subject);
  return 0;
}
