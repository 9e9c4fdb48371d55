// A constructor that is sometimes left by longjmp, and then returns again to the same place.
#include <setjmp.h>

#include "conn.h"

static jmp_buf failed;
struct conn *made[4];

__attribute__((noinline)) struct conn *conn_open(int id) {
  if (id < 0) longjmp(failed, 1);
  return conn_new(id);
}

__attribute__((noinline)) void open_all(void) {
  static const int ids[] = {-1, 1, -2, 2};
  for (volatile int i = 0; i < 4; i++) {
    if (setjmp(failed) == 0) made[i] = conn_open(ids[i]);
  }
}

int main(void) {
  open_all();
  checkpoint();
  for (int i = 0; i < 4; i++) conn_put(made[i]);
  return 0;
}
