// One object: born, two gets, one put; then two puts.
#include "conn.h"

struct conn *subject;

__attribute__((noinline)) static void take(struct conn *conn) {
  conn_get(conn);
  checkpoint();
}

__attribute__((noinline)) static void give_back(struct conn *conn) {
  conn_put(conn);
  checkpoint();
}

int main(void) {
  subject = conn_new(1);
  take(subject);
  take(subject);
  give_back(subject);
  give_back(subject);
  give_back(subject);
  conn_put(0);
  return 0;
}
