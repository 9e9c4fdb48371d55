// Workers that make, take and give back objects while the main thread waits. Ends when `leave` is set.
//   attach_waiting THREADS READY
// writes a byte to the file READY once all threads work.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "workers.h"

int main(int argc, char **argv) {
  pthread_t threads[MOST_THREADS];
  const int count = argc > 2 ? atoi(argv[1]) : 0;
  if (count < 1 || count > MOST_THREADS) return 2;
  start_workers(threads, count);
  const int ready = open(argv[2], O_WRONLY);
  if (ready < 0 || write(ready, "r", 1) != 1) return 2;
  close(ready);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  return 5;
}
