// Children of every kind, made while other threads get and put. Prints what the parent did and how the
// children ended.
//   children fork|spawn|clone|clone-vfork COUNT
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conn.h"

#define THREADS 3
#define STACK (64 * 1024)

extern char **environ;
static atomic_int finish;
static atomic_long gets;

static void use(struct conn *conn, int times) {
  for (int i = 0; i < times; i++) {
    conn_get(conn);
    conn_put(conn);
  }
}

static void *work(void *unused) {
  while (!finish) {
    struct conn *conn = conn_new(1);
    use(conn, 10);
    gets += 10;
    conn_put(conn);
    usleep(100);
  }
  return unused;
}

// With pauses: what it recorded is read while it goes on.
static int in_child(void *unused) {
  (void)unused;
  struct conn *conn = conn_new(2);
  for (int i = 0; i < 200; i++) {
    use(conn, 1);
    if (i % 4 == 0) usleep(50);
  }
  conn_put(conn);
  return 21;
}

static pid_t make_child(const char *how, char *self) {
  static char stack[STACK] __attribute__((aligned(16)));
  pid_t child = -1;
  if (strcmp(how, "fork") == 0) {
    child = fork();
    if (child == 0) _exit(in_child(NULL));
  } else if (strcmp(how, "spawn") == 0) {
    char *argv[] = {self, "inside", "0", NULL};
    if (posix_spawn(&child, self, NULL, NULL, argv, environ) != 0) child = -1;
  } else {
    const int more = strcmp(how, "clone-vfork") == 0 ? CLONE_VFORK : 0;
    child = clone(in_child, stack + STACK, CLONE_VM | more | SIGCHLD, NULL);
  }
  return child;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[1], "inside") == 0) return in_child(NULL);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
  int good = 0;
  const int count = atoi(argv[2]);
  for (int i = 0; i < count; i++) {
    int status = 0;
    const pid_t child = make_child(argv[1], argv[0]);
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 21)
      good++;
  }
  finish = 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  printf("gets %ld\ngood %d\n", (long)gets, good);
  return 4;
}
