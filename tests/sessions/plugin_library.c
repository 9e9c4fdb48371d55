// A library that is loaded and unloaded by dlopen.c.
#include "conn.h"

__attribute__((visibility("default"))) int plugin_use(int times) {
  struct conn *conn = conn_new(times);
  for (int i = 0; i < times; i++) {
    conn_get(conn);
    conn_put(conn);
  }
  checkpoint();
  conn_put(conn);
  return times;
}
