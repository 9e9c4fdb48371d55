// Wrappers that jump to the probed functions, and a constructor that jumps to another one. Needs -O2.
#include "conn.h"

struct conn *subject;

__attribute__((noinline)) struct conn *conn_new_default(void) { return conn_new(0); }
__attribute__((noinline)) struct conn *open_default(void) { return conn_new_default(); }
__attribute__((noinline)) struct conn *share(struct conn *conn) { return conn_get(conn); }
__attribute__((noinline)) void drop(struct conn *conn) { conn_put(conn); }
// Two ways to conn_put: which one it was, no stack can tell.
__attribute__((noinline)) void drop_quietly(struct conn *conn) { drop(conn); }
__attribute__((noinline)) void drop_somehow(struct conn *conn) {
  if (conn->id < 100)
    drop_quietly(conn);
  else
    drop(conn);
}
// A call through a pointer says nothing about who is called.
void (*volatile drop_pointer)(struct conn *) = drop;

int main(void) {
  for (int i = 0; i < 3; i++) {
    subject = open_default();
    share(subject);
    drop(subject);
    checkpoint();
    if (i == 0) {
      drop(subject);
      continue;
    }
    share(subject);
    checkpoint();
    drop_somehow(subject);
    drop_pointer(subject);
  }
  return 0;
}
