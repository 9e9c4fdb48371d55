// Threads that end inside calls whose return is watched, by pthread_cancel and by pthread_exit, and threads
// that put in destructors of thread-local storage. What a thread had taken is given back by its cleanup
// handlers.
//   thread_ends ROUNDS
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "conn.h"

static struct conn *conn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int entered[2];  // a pipe: a byte for each thread that waits in conn_try

static void give_back(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  conn_put(conn);
  pthread_mutex_unlock(&lock);
}

/// Takes a reference, unless the thread ends before.
__attribute__((noinline)) int conn_try(struct conn *which, int how) {
  char byte = 'e';
  if (how == 1) pthread_exit(NULL);
  if (how == 2) {
    if (write(entered[1], &byte, 1) != 1) abort();
    for (;;) pause();  // a cancellation point
  }
  pthread_mutex_lock(&lock);
  which->refs++;
  pthread_mutex_unlock(&lock);
  return 1;
}

static void *work(void *how) {
  pthread_mutex_lock(&lock);
  conn_get(conn);
  pthread_mutex_unlock(&lock);
  pthread_cleanup_push(give_back, NULL);
  if (conn_try(conn, (int)(long)how)) give_back(NULL);
  pthread_cleanup_pop(1);
  return NULL;
}

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  if (pipe(entered) != 0) return 2;
  conn = conn_new(1);
  for (int i = 0; i < rounds; i++) {
    pthread_t threads[3];
    char byte;
    for (long how = 0; how < 3; how++) pthread_create(&threads[how], NULL, work, (void *)how);
    if (read(entered[0], &byte, 1) != 1) return 2;
    pthread_cancel(threads[2]);
    for (int j = 0; j < 3; j++) pthread_join(threads[j], NULL);
  }
  checkpoint();
  conn_put(conn);
  return 8;
}
