// The gets are chosen when the program is loaded (IFUNC): in the program itself, and in a library that is
// loaded later.
//   ifunc LIBRARY
#include <dlfcn.h>
#include <stddef.h>

#include "conn.h"

static struct conn *get_one(struct conn *conn) {
  conn->refs++;
  return conn;
}

static struct conn *get_other(struct conn *conn) {
  __atomic_add_fetch(&conn->refs, 1, __ATOMIC_SEQ_CST);
  return conn;
}

typedef struct conn *get_function(struct conn *);

static get_function *choose(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse2") ? get_one : get_other;
}

struct conn *chosen_get(struct conn *conn) __attribute__((ifunc("choose")));

int main(int argc, char **argv) {
  struct conn *conn = conn_new(1);
  for (int i = 0; i < 3; i++) {
    chosen_get(conn);
    conn_put(conn);
  }
  void *library = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;
  if (library == NULL) return 2;
  get_function *late = (get_function *)dlsym(library, "late_get");
  if (late == NULL) return 3;
  for (int i = 0; i < 4; i++) {
    late(conn);
    conn_put(conn);
  }
  checkpoint();
  conn_put(conn);
  return 13;
}
