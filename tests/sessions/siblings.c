// Twenty connections are released in conn_close; three take the error path, where their last put is missing.
#include "conn.h"

__attribute__((noinline)) static struct conn *open_conn(int id) { return conn_new(id); }

__attribute__((noinline)) static void handle(struct conn *conn) {
  conn_get(conn);
  checkpoint();
  conn_put(conn);
}

__attribute__((noinline)) static void close_conn(struct conn *conn) {
  conn_put(conn);
  checkpoint();
}

int main(void) {
  for (int id = 0; id < 23; id++) {
    struct conn *conn = open_conn(id);
    handle(conn);
    if (id % 8 != 5) close_conn(conn);
  }
  return 0;
}
