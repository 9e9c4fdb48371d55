// Two objects: one has three references at most, the other five. Then a third one at the address of the
// second.
#include <stdlib.h>

#include "conn.h"

struct conn *few, *many;

__attribute__((noinline)) static void take(struct conn *conn, int times) {
  for (int i = 0; i < times; i++) conn_get(conn);
}

__attribute__((noinline)) static void give(struct conn *conn, int times) {
  for (int i = 0; i < times; i++) conn_put(conn);
}

int main(void) {
  few = conn_new(1);
  many = conn_new(2);
  take(few, 2);
  take(many, 4);
  checkpoint();
  give(few, 3);
  give(many, 5);
  many = conn_new(3);
  take(many, 1);
  give(many, 2);
  return 0;
}
