// main returns while other threads sleep and run; each has an object of its own on its stack. What else there
// is:
//   lose    main has lost an object of its own before that; it tells READY and waits for GO, where they are
//   named spin    a thread has its object in a register alone make    a thread makes objects for a table,
//   without end
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"

enum { SLEEPERS = 3, RUNNERS = 2 };
static atomic_int ready;
struct conn *table[1 << 22];

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
  for (volatile unsigned turns = 0;; turns++) {
    if (turns % 1024 == 0) usleep(1);
  }
  return unused;
}

static void *spinner(void *unused) {
  struct conn *own = conn_new(4);
  conn_get(own);
  ready++;
  __asm__ volatile("1: pause\n jmp 1b" ::"r"(own));
  return unused;
}

static void *maker(void *unused) {
  ready++;
  for (unsigned made = 0;; made++) table[made % (1 << 22)] = conn_new(5);
  return unused;
}

static void lose(void) { conn_get(conn_new(3)); }

static void wait_for_go(const char *ready_path, const char *go_path) {
  char byte = 'r';
  if (write(open(ready_path, O_WRONLY), &byte, 1) != 1 || read(open(go_path, O_RDONLY), &byte, 1) != 1)
    _exit(9);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  pthread_t thread;
  int threads = SLEEPERS + RUNNERS;
  for (int i = 0; i < SLEEPERS; i++) pthread_create(&thread, NULL, sleeper, NULL);
  for (int i = 0; i < RUNNERS; i++) pthread_create(&thread, NULL, runner, NULL);
  if (strcmp(mode, "spin") == 0) threads += pthread_create(&thread, NULL, spinner, NULL) == 0;
  if (strcmp(mode, "make") == 0) threads += pthread_create(&thread, NULL, maker, NULL) == 0;
  while (ready != threads) usleep(1000);
  if (strcmp(mode, "make") == 0) usleep(20000);
  if (argc > 3) wait_for_go(argv[2], argv[3]);
  if (strcmp(mode, "lose") == 0) lose();
  return 7;
}
