// A leaked object of which many stale copies lie in the dead part of the stack, where exit() then runs.
#include "conn.h"

__attribute__((noinline)) static void forget(void) {
  struct conn *copies[512];
  struct conn *conn = conn_new(1);
  for (int i = 0; i < 512; i++) copies[i] = conn;
  __asm__ volatile("" : : "r"(copies) : "memory");
}

int main(void) {
  forget();
  return 0;
}
