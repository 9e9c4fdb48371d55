// Signals that arrive while a debugger holds the program at a get or put, and a handler that gets and puts
// itself.
//
//   signal_handlers [alt] [quiet]   alt: the handler runs on a signal stack of its own
//                                   quiet: it only counts signals
//
// The program counts its calls; each call arms the next signal, so that one comes at nearly every breakpoint
// and the program still gets on.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "conn.h"

#define ROUNDS 60
#define SOON 20 /* microseconds: less than a stop of the program takes */

struct conn *subject;
static int quiet;
static volatile int taken, given, births, alarms, held;

/// One instruction: a handler in the middle of it would be lost.
static void count(volatile int *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST); }

static struct conn *take(struct conn *conn) {
  count(&taken);
  return conn_get(conn);
}

static void give(struct conn *conn) {
  count(&given);
  conn_put(conn);
}

static void on_alarm(int number) {
  (void)number;
  count(&alarms);
  if (quiet) return;
  count(&births);
  struct conn *own = conn_new(2);  // the main program allocates nothing meanwhile
  give(take(subject));
  give(own);
  if (alarms % 3 != 0) return;
  take(subject);  // given back by the main program
  count(&held);
}

static void arm(void) {
  struct itimerval once = {{0, 0}, {0, SOON}};
  setitimer(ITIMER_REAL, &once, NULL);
}

static void give_back_held(void) {
  sigset_t alarm_only, before;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarm_only, &before);
  for (; held > 0; held--) give(subject);
  sigprocmask(SIG_SETMASK, &before, NULL);
}

static void plain_rounds(void) {
  for (int i = 0; i < ROUNDS; i++) {
    arm();
    take(subject);
    arm();
    give(subject);
    give_back_held();
  }
}

/// Calls that nothing tells apart: the same registers and the same count each time.
static void equal_rounds(void) {
  for (int i = 0; i < ROUNDS; i++) {
    arm();
    take(subject);
    __atomic_fetch_sub(&subject->refs, 1, __ATOMIC_SEQ_CST);  // a put that no probe sees
    give_back_held();
  }
}

int main(int argc, char **argv) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  if (argc > 1 && strcmp(argv[1], "alt") == 0) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_size = 64 * 1024;
    stack.ss_sp = malloc(stack.ss_size);
    if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0) return 1;
    action.sa_flags |= SA_ONSTACK;
  }
  quiet = argc > 2 && strcmp(argv[2], "quiet") == 0;
  sigaction(SIGALRM, &action, NULL);
  count(&births);
  subject = conn_new(1);
  plain_rounds();
  checkpoint();
  equal_rounds();
  struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  give_back_held();
  give(subject);
  checkpoint();
  return 0;
}
