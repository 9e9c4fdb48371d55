// Inlined gets and puts so close to each other that the jump in the place of one would cover the next: of one
// family, and of two of which the second is tracked later.
#include <stdio.h>
#include <stdlib.h>

#define COPY static inline __attribute__((always_inline))
#define APART __attribute__((noinline))

struct item {
  int number;
  int refs;
};

struct node {
  int number, colour;
  int count;
};

COPY void item_get(struct item *i) { i->refs++; }
COPY void item_put(struct item *i) { i->refs--; }
COPY void node_get(struct node *n) { n->count++; }
COPY void node_put(struct node *n) { n->count--; }

struct item *first, *second, *third;
struct node *node;

APART void checkpoint(void) { __asm__ volatile(""); }

APART void take_three(struct item *a, struct item *b, struct item *c) {
  item_get(a);
  item_get(b);
  item_get(c);
}

APART void give_two(struct item *a, struct item *b) {
  item_put(b);
  item_put(a);
}

APART void take_both(struct item *a, struct node *n) {
  item_get(a);
  node_get(n);
}

APART void give_both(struct node *n, struct item *a) {
  node_put(n);
  item_put(a);
}

static void round_of_all(void) {
  take_three(first, second, third);
  give_two(first, second);
  take_both(first, node);
  take_both(second, node);
  give_both(node, first);
}

int main(void) {
  first = calloc(1, sizeof *first);
  second = calloc(1, sizeof *second);
  third = calloc(1, sizeof *third);
  node = calloc(1, sizeof *node);
  if (!first || !second || !third || !node) return 1;
  first->refs = second->refs = third->refs = node->count = 1;
  for (int i = 0; i < 10; ++i) round_of_all();
  checkpoint();
  for (int i = 0; i < 10; ++i) round_of_all();
  checkpoint();
  printf("%d %d %d %d\n", first->refs, second->refs, third->refs, node->count);
  return 7;
}
