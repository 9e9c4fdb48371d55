// Threads that stand in the first bytes of functions while these are armed: two wait there in a system call,
// and one was interrupted there by a signal whose handler waits.
//   parked READY
// writes a byte to the file READY once they all stand there. Ends when `leave` is set.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "conn.h"

#define THREADS 3

volatile int leave;
static volatile int standing, gone;

struct conn *parked_get(struct conn *conn);
struct conn *parked_in_signal_get(struct conn *conn);

// The first instruction is the system call that is in rax, so a thread that waits there stands at entry+2.
// `name`_waiting enters with pause, `name`_going with getpid.
#define PARKED(name)                                                 \
  __asm__(".text\n.globl " name "\n.type " name ", @function\n" name \
          ":\n"                                                      \
          "syscall\n"                                                \
          "nop\nnop\nnop\n"                                          \
          "incl 4(%rdi)\n"                                           \
          "movq %rdi, %rax\n"                                        \
          "ret\n"                                                    \
          ".size " name ", .-" name                                  \
          "\n"                                                       \
          ".globl " name "_waiting\n" name                           \
          "_waiting:\n"                                              \
          "movl $34, %eax\n"                                         \
          "jmp " name                                                \
          "\n"                                                       \
          ".globl " name "_going\n" name                             \
          "_going:\n"                                                \
          "movl $39, %eax\n"                                         \
          "jmp " name "\n")
PARKED("parked_get");
PARKED("parked_in_signal_get");
struct conn *parked_get_waiting(struct conn *conn);
struct conn *parked_get_going(struct conn *conn);
struct conn *parked_in_signal_get_waiting(struct conn *conn);
struct conn *parked_in_signal_get_going(struct conn *conn);

__attribute__((noinline)) void parked_put(struct conn *conn) { conn->refs--; }

static void wait_here(int number) {
  (void)number;
  standing = 1;
  while (!leave) usleep(100);
}

static void go_on(int number) { (void)number; }

static void *take(void *conn) {
  parked_get_waiting(conn);
  __atomic_add_fetch(&gone, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static void *take_and_wait_in_handler(void *conn) {
  parked_in_signal_get_waiting(conn);
  __atomic_add_fetch(&gone, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

int main(int argc, char **argv) {
  static struct conn conns[THREADS];
  pthread_t threads[THREADS];
  if (argc < 2) return 2;
  for (int i = 0; i < THREADS; i++) conns[i].refs = 1;
  signal(SIGUSR1, wait_here);
  signal(SIGUSR2, go_on);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, take, &conns[i]);
  pthread_create(&threads[2], NULL, take_and_wait_in_handler, &conns[2]);
  usleep(50000);
  pthread_kill(threads[2], SIGUSR1);
  while (!standing) usleep(100);
  const int ready = open(argv[1], O_WRONLY);
  if (ready < 0 || write(ready, "r", 1) != 1) return 2;
  while (!leave) usleep(100);
  while (gone < THREADS) {
    for (int i = 0; i < THREADS; i++) pthread_kill(threads[i], SIGUSR2);
    usleep(10000);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  int sum = 0;
  for (int i = 0; i < THREADS; i++) {
    parked_get_going(&conns[i]);
    parked_in_signal_get_going(&conns[i]);
    for (int j = conns[i].refs; j > 0; j--) parked_put(&conns[i]);
    sum += conns[i].refs;
  }
  checkpoint();
  return sum == 0 ? 11 : 1;
}
