// Workers that make, take and give back objects while the main thread waits. Ends when `leave` is set.
//   attach_waiting THREADS READY
// writes a byte to the file READY once all threads work.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "conn.h"

#define MOST_THREADS 64

volatile int leave;
static atomic_int working;

static void *work(void *unused) {
  (void)unused;
  working++;
  while (!leave) {
    struct conn *conn = conn_new(1);
    conn_get(conn);
    conn_put(conn);
    conn_put(conn);
    checkpoint();
    usleep(200);
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[MOST_THREADS];
  const int count = argc > 2 ? atoi(argv[1]) : 0;
  if (count < 1 || count > MOST_THREADS) return 2;
  for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, NULL);
  while (working < count) usleep(100);
  const int ready = open(argv[2], O_WRONLY);
  if (ready < 0 || write(ready, "r", 1) != 1) return 2;
  close(ready);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  return 5;
}
