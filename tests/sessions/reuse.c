// Objects from a free list of one place: what one thread frees, the other one has at once, at the same
// address.
//   reuse ROUNDS
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "conn.h"

static _Atomic(struct conn *) place;
static long rounds;

struct conn *pool_new(void);
void pool_free(struct conn *conn);
void pool_put(struct conn *conn);

__attribute__((noinline)) struct conn *pool_new(void) {
  struct conn *conn;
  while ((conn = atomic_exchange(&place, NULL)) == NULL) __asm__ volatile("pause");
  conn->refs = 1;
  return conn;
}

__attribute__((noinline)) void pool_free(struct conn *conn) { atomic_store(&place, conn); }

__attribute__((noinline)) void pool_put(struct conn *conn) {
  if (--conn->refs == 0) pool_free(conn);
}

static void *work(void *unused) {
  for (long i = 0; i < rounds; i++) {
    struct conn *conn = pool_new();
    conn_get(conn);
    pool_put(conn);
    pool_put(conn);
  }
  return unused;
}

int main(int argc, char **argv) {
  pthread_t threads[2];
  rounds = argc > 1 ? atol(argv[1]) : 0;
  place = conn_new(1);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return 3;
}
