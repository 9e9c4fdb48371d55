// Wrappers that jump to the probed functions, and a constructor that jumps to another one. Needs -O2.
#include "conn.h"

struct conn *subject;

__attribute__((noinline)) struct conn *conn_new_default(void) { return conn_new(0); }
__attribute__((noinline)) struct conn *open_default(void) { return conn_new_default(); }
__attribute__((noinline)) struct conn *share(struct conn *conn) { return conn_get(conn); }
__attribute__((noinline)) void drop(struct conn *conn) { conn_put(conn); }

int main(void) {
  for (int i = 0; i < 3; i++) {
    subject = open_default();
    share(subject);
    drop(subject);
    checkpoint();
    drop(subject);
  }
  return 0;
}
