// A timer whose signal handler gets and puts, ten thousand times a second, while the program does the same.
//   signal_storm PAIRS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "conn.h"

static struct conn *shared;
static volatile long handled;

static void on_signal(int number) {
  (void)number;
  conn_get(shared);
  conn_put(shared);
  handled++;
}

int main(int argc, char **argv) {
  const long pairs = argc > 1 ? atol(argv[1]) : 0;
  struct sigaction action = {.sa_handler = on_signal};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
  const struct itimerspec often = {{0, 100000}, {0, 100000}}, never = {{0, 0}, {0, 0}};
  timer_t timer;
  shared = conn_new(1);
  sigaction(SIGPROF, &action, NULL);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &often, NULL);
  for (long i = 0; i < pairs; i++) {
    struct conn *own = conn_new(2);
    conn_get(shared);
    conn_put(shared);
    conn_put(own);
  }
  timer_settime(timer, 0, &never, NULL);
  printf("handled %ld\n", handled);
  conn_put(shared);
  return 9;
}
