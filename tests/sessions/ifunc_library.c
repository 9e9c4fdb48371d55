// A library with a get that is chosen when it is loaded.
#include "conn.h"

static struct conn *late_one(struct conn *conn) {
  conn->refs++;
  return conn;
}

static struct conn *late_other(struct conn *conn) {
  conn->refs += 1;
  __asm__ volatile("");
  return conn;
}

typedef struct conn *get_function(struct conn *);

static get_function *choose_late(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse2") ? late_one : late_other;
}

struct conn *late_get(struct conn *conn) __attribute__((ifunc("choose_late")));
