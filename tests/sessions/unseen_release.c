// A pool that takes objects back without a call: the counter is overwritten, and nothing points at the memory
// any more. One more object is leaked for real. With an argument: it hands out the same place again and
// again, and something else that begins with a 1 has it in the end.
#include <stdlib.h>

struct node {
  int refs;
  int next_free;
};

static struct node *pool;
static int used;

__attribute__((noinline)) struct node *node_new(void) {
  struct node *node = &pool[used++ * 16];
  node->refs = 1;
  return node;
}
__attribute__((noinline)) void node_get(struct node *node) { node->refs++; }
__attribute__((noinline)) void node_put(struct node *node) { node->refs--; }

static void work(void) {
  for (int i = 0; i < 4; i++) {
    struct node *node = node_new();
    node_get(node);
    node_put(node);
    if (i != 3) node->refs = 0x5a5a;  // inlined: back to the pool, which keeps a number there
  }
}

static void work_again(void) {
  for (int i = 0; i < 4; i++) {
    struct node *node = node_new();
    node->refs = 0;  // inlined: its last put
    node->refs = 1;  // somebody else's
    used--;
  }
}

int main(int argc, char **argv) {
  (void)argv;
  pool = calloc(100, sizeof *pool);
  if (argc > 1) {
    work_again();
  } else {
    work();
  }
  pool = NULL;
  return argc == 1 && used == 0;
}
