// Gets and puts that exist only as inlined copies: locked and plain instructions, compare-and-exchange, more
// than one reference at a time, an object inside of another one, a static one, several threads. The program
// counts them itself.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY static inline __attribute__((always_inline))
#define APART __attribute__((noinline, noclone))

struct conn {
  long number;
  int open;
  atomic_int refs;
};

struct node {
  int refs;
  struct node *next;
};

struct holder {
  char name[24];
  struct conn inner;
};

static atomic_int gets, puts_made, tries, failed_tries, node_gets, node_puts, ended;
struct conn *subject, *many;
struct node *plain;
struct holder *holder;
struct conn fixed = {.refs = 1};

COPY void conn_get(struct conn *c) {
  atomic_fetch_add_explicit(&gets, 1, memory_order_relaxed);
  atomic_fetch_add(&c->refs, 1);
}

COPY void conn_get_many(struct conn *c, int n) { atomic_fetch_add(&c->refs, n); }

APART void conn_free(struct conn *c) {
  atomic_fetch_add(&ended, 1);
  c->open = 0;
  if (c != &fixed && (holder == NULL || c != &holder->inner)) free(c);
}

COPY void conn_put(struct conn *c) {
  if (c == NULL) return;
  atomic_fetch_add_explicit(&puts_made, 1, memory_order_relaxed);
  if (atomic_fetch_sub(&c->refs, 1) == 1) conn_free(c);
}

COPY int conn_try(struct conn *c) {
  int old = atomic_load(&c->refs);
  do {
    if (old == 0) {
      atomic_fetch_add(&failed_tries, 1);
      return 0;
    }
  } while (!atomic_compare_exchange_weak(&c->refs, &old, old + 1));
  atomic_fetch_add(&tries, 1);
  return 1;
}

COPY void conn_init(struct conn *c) {
  c->open = 1;
  atomic_init(&c->refs, 1);
}

APART struct conn *conn_new(void) {
  struct conn *c = calloc(1, sizeof *c);
  if (c == NULL) abort();
  conn_init(c);
  return c;
}

COPY void node_get(struct node *n) {
  node_gets++;
  n->refs++;
}

COPY void node_put(struct node *n) {
  node_puts++;
  if (--n->refs == 0) free(n);
}

APART struct node *node_new(void) {
  struct node *n = calloc(1, sizeof *n);
  if (n == NULL) abort();
  n->refs = 1;
  return n;
}

APART void checkpoint(void) { __asm__ volatile(""); }

// The object's address is in a register that the callee must keep, in an array, in a loop.
APART void take(struct conn *c, int times) {
  for (int i = 0; i < times; i++) conn_get(c);
  checkpoint();
  conn_get(c);
}

APART void drop(struct conn **all, int which, int times) {
  while (times-- > 0) conn_put(all[which]);
}

APART void inside(void) {
  holder = calloc(1, sizeof *holder);
  if (holder == NULL) abort();
  conn_init(&holder->inner);
  conn_get(&holder->inner);
  conn_put(&holder->inner);
}

APART void fixed_one(void) {
  conn_get(&fixed);
  conn_put(&fixed);
}

APART void plainly(int times) {
  for (int i = 0; i < times; i++) {
    node_get(plain);
    checkpoint();
    node_put(plain);
  }
}

APART void last_put(struct conn *c) { conn_put(c); }

static void *race(void *unused) {
  for (int i = 0; i < 80; i++) {
    if (conn_try(many)) conn_put(many);
    conn_get(many);
    conn_put(many);
  }
  return unused;
}

static void run_threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, race, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  struct conn *all[2];
  subject = all[0] = conn_new();
  many = all[1] = conn_new();
  plain = node_new();
  take(subject, 5);
  drop(all, 0, 3);
  conn_try(subject);
  if (strcmp(how, "inside") == 0) inside();
  fixed_one();
  plainly(4);
  if (strcmp(how, "many") == 0) conn_get_many(many, 3);
  if (strcmp(how, "threads") == 0) run_threads();
  printf("gets %d\nputs %d\ntries %d\nfailed %d\nnode_gets %d\nnode_puts %d\n", gets, puts_made, tries,
         failed_tries, node_gets, node_puts);
  fflush(stdout);
  checkpoint();
  last_put(many);
  if (strcmp(how, "leak") != 0) drop(all, 0, 5);
  if (strcmp(how, "leak") == 0) subject = all[0] = NULL;
  if (strcmp(how, "dead") == 0) {
    last_put(&fixed);
    conn_try(&fixed);
  }
  return ended;
}
