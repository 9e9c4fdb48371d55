// A program that forks in the ways that suites of tests do. Each process prints "gets PID N" at its end: how
// often it took a reference.
//   forking clean|leak|put-inherited|grandchild|exec|crash|orphan|killed|vm|handler|pidfd N
//   forking inside: what "exec" executes
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conn.h"

static int gets;
static volatile int stopped_children;

static void use(struct conn *conn, int times) {
  for (int i = 0; i < times; i++) {
    conn_get(conn);
    gets++;
    conn_put(conn);
  }
}

__attribute__((noinline)) static void lose_one(int id) {
  struct conn *conn = conn_new(id);
  use(conn, 2);
  conn_get(conn);
  gets++;
  conn_put(conn);
}

/// Leaves nothing of the stack below it that points at what is lost.
static void lose(int id) {
  volatile char unused[4096];
  lose_one(id);
  for (unsigned i = 0; i < sizeof unused; i++) unused[i] = 0;
}

static int finish(int status) {
  char line[64];
  const int length = snprintf(line, sizeof line, "gets %d %d\n", (int)getpid(), gets);
  return write(1, line, (size_t)length) == length ? status : 9;
}

static void on_child(int signal) {
  (void)signal;
  stopped_children++;
}

/// In the child. Returns its exit status.
static int be_child(const char *how, int number, struct conn *inherited, char *self) {
  gets = 0;
  struct conn *own = conn_new(number);
  use(own, 3 + number);
  if (number % 2 == 1 && strcmp(how, "leak") == 0) lose(number);
  if (strcmp(how, "crash") == 0) lose(number);
  conn_put(own);
  if (strcmp(how, "put-inherited") == 0) {
    use(inherited, 2);
    conn_put(inherited);
  } else if (strcmp(how, "grandchild") == 0) {
    const pid_t pid = fork();
    if (pid == 0) {
      gets = 0;
      lose(number);
      _exit(finish(5));
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 5) return 8;
  } else if (strcmp(how, "exec") == 0) {
    execl(self, self, "inside", (char *)NULL);
    return 8;
  } else if (strcmp(how, "crash") == 0) {
    if (number == 1) raise(SIGSEGV);
  } else if (strcmp(how, "pidfd") == 0) {
    if (number == 1) raise(SIGTERM);
  } else if (strcmp(how, "orphan") == 0) {
    usleep(700 * 1000);
    lose(number);
  }
  return finish(number);
}

static int in_shared_memory(void *unused) {
  (void)unused;
  struct conn *conn = conn_new(1);
  use(conn, 2);
  conn_put(conn);
  return 3;
}

static pid_t start_child(const char *how, int number, struct conn *inherited, char *self) {
  static char stack[64 * 1024] __attribute__((aligned(16)));
  if (strcmp(how, "vm") == 0) return clone(in_shared_memory, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    const int status = be_child(how, number, inherited, self);
    if (number % 2 == 0) _exit(status);
    exit(status);
  }
  if (strcmp(how, "killed") == 0) kill(pid, SIGKILL);
  return pid;
}

/// As GLib does: nothing but the child's own end makes the file readable. Returns 1 where waitid does
/// not tell of it then.
static int wait_by_file(pid_t pid, int code, int status) {
  struct pollfd file = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
  poll(&file, 1, -1);
  siginfo_t ended = {0};
  const int failed = waitid(P_PIDFD, (id_t)file.fd, &ended, WEXITED | WNOHANG);
  close(file.fd);
  return failed != 0 || ended.si_pid != pid || ended.si_code != code || ended.si_status != status;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "inside") == 0) {
    lose(1);
    return finish(4);
  }
  if (argc < 3) return 2;
  const int count = atoi(argv[2]);
  if (strcmp(argv[1], "handler") == 0) signal(SIGCHLD, on_child);
  struct conn *inherited = conn_new(100);
  const int by_file = strcmp(argv[1], "pidfd") == 0;
  int bad = 0;
  for (int i = 0; i < count; i++) {
    const pid_t pid = start_child(argv[1], i, inherited, argv[0]);
    if (by_file) bad += i == 1 ? wait_by_file(pid, CLD_KILLED, SIGTERM) : wait_by_file(pid, CLD_EXITED, i);
  }
  if (strcmp(argv[1], "orphan") == 0) return finish(0);
  for (int ended = by_file ? count : 0; ended < count;) {
    int status = 0;
    // A child that a debugger stops by a signal would be seen here.
    const pid_t pid = waitpid(-1, &status, WUNTRACED | WCONTINUED);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0 || WIFSTOPPED(status) || WIFCONTINUED(status)) return 7;
    ended++;
    if (WIFSIGNALED(status)) bad++;
  }
  use(inherited, 1);
  conn_put(inherited);
  if (stopped_children > count) return 6;
  return finish(bad);
}
