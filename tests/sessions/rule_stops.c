// Calls at which stop rules stop, in forms that make it hard to come to them.
//   twice           an object is put to zero, and another one
//   pairs ROUNDS    four threads put objects of two families to zero
//   jump ROUNDS     a thread puts to zero by an inlined copy that stands in the bytes of its own jump,
//                   while others run through these bytes all the time
//   signals ROUNDS  a signal handler puts an object to zero around the time when the thread does
//   inner           a function begins with the call that takes the fourth reference
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"

#define APART __attribute__((noinline, noclone))
#define COPY static inline __attribute__((always_inline))
#define THREADS 4

struct buffer {
  int refs;
};

struct item {
  int refs;
};

struct conn *subject;
static int rounds;
static atomic_int ended, wanted, handled;
static struct item own, others[THREADS];
static struct buffer in_handler, in_thread;

APART struct buffer *buffer_new(void) {
  struct buffer *buffer = malloc(sizeof *buffer);
  if (buffer == NULL) abort();
  buffer->refs = 1;
  return buffer;
}

APART void buffer_put(struct buffer *buffer) {
  if (--buffer->refs == 0) free(buffer);
}

APART void twice(void) {
  conn_put(conn_new(1));
  checkpoint();
  conn_put(conn_new(2));
}

static void *pairs(void *unused) {
  for (int i = 0; i < rounds; i++) {
    struct conn *conn = conn_new(i);
    struct buffer *buffer = buffer_new();
    conn_put(conn);
    buffer_put(buffer);
  }
  return unused;
}

COPY void item_put(struct item *item) { item->refs--; }

// The loop begins right behind the change, which is shorter than a jump.
APART void item_drop(struct item *item, long times) {
  __asm__ volatile("nop; nop");
  item_put(item);
  do {
    __asm__ volatile("" : "+r"(times));
  } while (--times > 0);
}

static void *drop_all_the_time(void *item) {
  while (!ended) {
    ((struct item *)item)->refs = 1000;
    for (int i = 0; i < 500; i++) item_drop(item, 1);
  }
  return NULL;
}

static void jump(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, drop_all_the_time, &others[i]);
  for (int i = 0; i < rounds; i++) {
    own.refs = 2;
    item_drop(&own, 1);
    item_drop(&own, 1);
  }
  ended = 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

APART void static_put(struct buffer *buffer) {
  if (buffer != NULL) buffer->refs--;
}

APART void static_init(struct buffer *buffer) { buffer->refs = 1; }

static void on_signal(int signal) {
  (void)signal;
  static_init(&in_handler);
  static_put(&in_handler);
  handled++;
}

static void *send_signals(void *thread) {
  for (int sent = 0; sent < rounds; sent++) {
    while (wanted <= sent) {
    }
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
  }
  return NULL;
}

static void signals(void) {
  pthread_t sender, self = pthread_self();
  signal(SIGUSR1, on_signal);
  pthread_create(&sender, NULL, send_signals, &self);
  for (int i = 0; i < rounds; i++) {
    static_init(&in_thread);
    wanted++;
    for (volatile int spin = 0; spin < i * 20; spin++) {
    }
    static_put(&in_thread);
    while (handled <= i) {
    }
  }
  pthread_join(sender, NULL);
}

APART int conn_try(struct conn *conn) { return conn->refs == 0 ? 0 : ++conn->refs; }

APART int conn_open(struct conn *conn) {
  conn_try(conn);
  checkpoint();
  return 0;
}

APART static void inner(void) {
  subject = conn_new(1);
  for (int i = 0; i < 3; i++) conn_open(subject);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  rounds = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(argv[1], "twice") == 0) twice();
  if (strcmp(argv[1], "jump") == 0) jump();
  if (strcmp(argv[1], "signals") == 0) signals();
  if (strcmp(argv[1], "inner") == 0) inner();
  if (strcmp(argv[1], "pairs") == 0) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, pairs, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  }
  return 3;
}
