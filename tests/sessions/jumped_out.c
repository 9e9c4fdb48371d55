// Signal handlers that leave with siglongjmp, also out of the middle of whatever they have interrupted.
//   jumped_out MANY [storm]: puts of objects whose memory is not there, then perhaps a timer whose handler
//   jumps,
// then gets and puts that nobody interrupts: MANY of one object and some of another.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "conn.h"

enum { kJumps = 2000 };
static sigjmp_buf outside;
static volatile long jumps;
static volatile sig_atomic_t ready;
struct conn *gone, *subject;

static void jump(int number) {
  if (number == SIGPROF && !ready) return;
  jumps++;
  siglongjmp(outside, number);
}

__attribute__((noinline)) static void put_at_depth(struct conn *conn, int depth) {
  volatile char room[64];
  room[0] = (char)depth;
  if (depth > 0) {
    put_at_depth(conn, depth - 1);
  } else {
    conn_put(conn);
  }
  __asm__ volatile("" ::"r"(room) : "memory");
}

static void put_what_is_gone(void) {
  static const int depths[] = {3, 3, 5, 1, 0, 8};
  for (unsigned i = 0; i < sizeof depths / sizeof *depths; i++) {
    if (sigsetjmp(outside, 1) == 0) put_at_depth(gone, depths[i]);
  }
}

static void storm(void) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
  const struct itimerspec often = {{0, 100000}, {0, 100000}}, never = {{0, 0}, {0, 0}};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &often, NULL);
  struct conn *busy = conn_new(2);
  while (jumps < kJumps) {
    if (sigsetjmp(outside, 1) != 0) continue;
    ready = 1;
    for (;;) {
      conn_get(busy);
      put_at_depth(busy, (int)(jumps % 7));
    }
  }
  ready = 0;
  timer_settime(timer, 0, &never, NULL);
}

static void use(struct conn *conn, long pairs) {
  for (long i = 0; i < pairs; i++) {
    conn_get(conn);
    conn_put(conn);
  }
}

int main(int argc, char **argv) {
  const long many = argc > 1 ? atol(argv[1]) : 0;
  struct sigaction action = {.sa_handler = jump};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGPROF, &action, NULL);
  gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  put_what_is_gone();
  printf("faults %ld\n", jumps);
  if (argc > 2) storm();
  use(conn_new(3), many);
  subject = conn_new(1);
  use(subject, 50);
  checkpoint();
  conn_put(subject);
  return 3;
}
