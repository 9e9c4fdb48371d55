// Twelve objects, of which two are leaked by `forget` and one is still held by a global; the first argument
// says how the process ends.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"

struct conn *singleton;

__attribute__((noinline)) static void use(int id) {
  struct conn *conn = conn_new(id);
  conn_get(conn);
  conn_put(conn);
  conn_put(conn);
}

__attribute__((noinline)) static void forget(int id) {
  struct conn *conn = conn_new(id);
  conn_get(conn);
  conn_put(conn);
}

static void at_exit(void) { printf("atexit ran\n"); }

// Overwrites what the calls before left on the stack and in registers.
__attribute__((noinline)) static void clear_traces(void) {
  char rest[4096];
  memset(rest, 0, sizeof rest);
  __asm__ volatile("" : : "r"(rest) : "memory");
}

static void *leave_last(void *main_thread) {
  pthread_join(*(pthread_t *)main_thread, NULL);
  return NULL;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "return";
  atexit(at_exit);
  at_quick_exit(at_exit);
  singleton = conn_new(0);
  for (int id = 1; id < 12; id++) {
    if (id % 5 == 0)
      forget(id);
    else
      use(id);
  }
  clear_traces();
  fflush(stdout);
  if (strcmp(how, "exit") == 0) exit(4);
  if (strcmp(how, "quick_exit") == 0) quick_exit(5);
  if (strcmp(how, "_exit") == 0) _exit(6);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "signal") == 0) raise(SIGSEGV);
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "thread") == 0) {
    static pthread_t self;
    pthread_t last;
    self = pthread_self();
    pthread_create(&last, NULL, leave_last, &self);
    pthread_exit(NULL);
  }
  return 2;
}
