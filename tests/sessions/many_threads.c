// Many short threads, ten at a time. The last put of each object is made by a destructor of thread-local
// storage.
//   many_threads THREADS
#include <pthread.h>
#include <stdlib.h>

#include "conn.h"

#define AT_ONCE 10

static pthread_key_t key;

static void thread_gone(void *conn) { conn_put(conn); }

static void *work(void *unused) {
  struct conn *conn = conn_new(1);
  conn_get(conn);
  pthread_setspecific(key, conn);
  conn_put(conn);
  return unused;
}

int main(int argc, char **argv) {
  pthread_t threads[AT_ONCE];
  const int count = argc > 1 ? atoi(argv[1]) : 0;
  pthread_key_create(&key, thread_gone);
  for (int i = 0; i < count; i += AT_ONCE) {
    for (int j = 0; j < AT_ONCE; j++) pthread_create(&threads[j], NULL, work, NULL);
    for (int j = 0; j < AT_ONCE; j++) pthread_join(threads[j], NULL);
  }
  return 7;
}
