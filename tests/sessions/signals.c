// Gets and puts while signals arrive all the time: SIGALRM with a handler, SIGCHLD without one.
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conn.h"

#define ROUNDS 200

struct conn *subject;
static volatile sig_atomic_t alarms;

static void on_alarm(int number) {
  (void)number;
  alarms++;
}

int main(void) {
  struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  struct sigaction action = {0};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  subject = conn_new(1);
  setitimer(ITIMER_REAL, &every, NULL);
  for (int i = 0; i < ROUNDS; i++) {
    if (i % 20 == 0 && fork() == 0) _exit(0);
    conn_get(subject);
    conn_put(subject);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  while (wait(NULL) > 0) continue;
  checkpoint();
  conn_put(subject);
  printf("alarms %d\n", (int)alarms);
  return 0;
}
