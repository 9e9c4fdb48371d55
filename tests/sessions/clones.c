// Copies that the compiler makes: `node_put` is split (.part), `node_get` is inlined in some callers and
// called in others, `node_release` exists in a constant-propagated copy. Every execution is counted by the
// program itself.
#include <stdio.h>
#include <stdlib.h>

struct node {
  int refs;
};

static int gets, puts_made;
struct node *subject;

__attribute__((noinline)) struct node *node_new(void) {
  struct node *node = calloc(1, sizeof *node);
  if (node == NULL) abort();
  node->refs = 1;
  return node;
}

static inline __attribute__((always_inline)) void count_get(struct node *node) {
  gets++;
  node->refs++;
}

__attribute__((noinline)) void node_get(struct node *node) { count_get(node); }

// A get that exists only as inlined copies, in which nothing changes the counter: a function that they call
// does, and it is not told which object.
__attribute__((noinline, noclone)) static void raise_count(void) { subject->refs++; }

static inline __attribute__((always_inline)) void node_hold(struct node *node) {
  gets++;
  (void)node;
  raise_count();
}

__attribute__((noinline)) void node_put(struct node *node) {
  if (node == NULL) return;
  puts_made++;
  if (--node->refs == 0) free(node);
}

__attribute__((noinline)) static void node_release(struct node *node, int times) {
  for (int i = 0; i < times; i++) {
    puts_made++;
    node->refs--;
  }
}

// Nobody takes what it returns: the compiler leaves that out of its copy.
static struct node *listed;
static int list_length;
__attribute__((noinline)) static struct node *node_list(int length) {
  struct node *node = calloc(4, sizeof *node);
  if (node == NULL) abort();
  node->refs = 1;
  free(listed);
  listed = node;
  printf("length %d\n", list_length += length);
  return node;
}

__attribute__((noinline)) void checkpoint(void) { __asm__ volatile(""); }

int main(int argc, char **argv) {
  (void)argv;
  for (int i = 0; i < 3; i++) node_list(i);
  subject = node_new();
  for (int i = 0; i < 10; i++) node_get(subject);
  for (int i = 0; i < 4; i++) node_put(subject);
  node_put(NULL);
  node_release(subject, 1);
  node_release(subject, 1);
  printf("gets %d\nputs %d\n", gets, puts_made);
  fflush(stdout);
  checkpoint();
  if (argc > 1) node_hold(subject);
  node_put(subject);
  return 0;
}
