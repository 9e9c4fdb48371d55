// A process that can be rerun, killed, detached from, attached to, or that crashes. With a path as the second
// argument it reports that it is ready there and waits for SIGUSR1.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"

struct conn *subject;
static volatile sig_atomic_t told;

static void on_signal(int number) {
  (void)number;
  told = 1;
}

static int report_ready_and_wait(const char *path) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  signal(SIGUSR1, on_signal);
  int fd = open(path, O_WRONLY);
  if (fd < 0 || write(fd, "r", 1) != 1) return -1;
  while (!told) sigsuspend(&before);
  return 0;
}

__attribute__((noinline)) void crash(volatile int *nowhere) { *nowhere = 1; }

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  subject = conn_new(1);
  conn_get(subject);
  checkpoint();
  if (argc > 2 && report_ready_and_wait(argv[2]) < 0) return 9;
  for (int i = 0; i < 50; i++) {
    conn_get(subject);
    conn_put(subject);
  }
  checkpoint();
  if (strcmp(how, "crash") == 0) crash(0);
  conn_put(subject);
  conn_put(subject);
  printf("done 1\n");
  return 3;
}
