// main returns while other threads sleep and run; each has an object of its own on its stack. With an
// argument main has lost one of its own before that.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "conn.h"

enum { SLEEPERS = 3, RUNNERS = 2 };
static atomic_int ready;

static void *sleeper(void *unused) {
  (void)unused;
  struct conn *volatile own = conn_new(1);
  conn_get(own);
  ready++;
  for (;;) pause();
  return own;
}

static void *runner(void *unused) {
  struct conn *volatile own = conn_new(2);
  conn_get(own);
  ready++;
  // Calls that are followed would do as well, but debuggers are not sure of a process that exits while
  // another thread hits a breakpoint.
  for (volatile unsigned turns = 0;; turns++) {
    if (turns % 1024 == 0) usleep(1);
  }
  return unused;
}

static void lose(void) { conn_get(conn_new(3)); }

int main(int argc, char **argv) {
  (void)argv;
  pthread_t thread;
  for (int i = 0; i < SLEEPERS; i++) pthread_create(&thread, NULL, sleeper, NULL);
  for (int i = 0; i < RUNNERS; i++) pthread_create(&thread, NULL, runner, NULL);
  while (ready != SLEEPERS + RUNNERS) usleep(1000);
  if (argc > 1) lose();
  return 7;
}
