// Rounds of objects that are born and released, at addresses that are used again, with a checkpoint behind
// every batch. Two of each batch are never put by close_one, and lost. One object lives all the
// time and is taken and put by every round. At the end an object is put once too often, and then one that was
// released and whose address nothing has used since.
#include <stdlib.h>

#include "conn.h"

#define BATCHES 4
#define LEAKED 2

struct conn *shared;
struct conn *last;
static int rounds = 50;

__attribute__((noinline)) static struct conn *open_one(int id) { return conn_new(id); }
__attribute__((noinline)) static void close_one(struct conn *c) { conn_put(c); }
__attribute__((noinline)) static void use(struct conn *c) {
  conn_get(c);
  conn_put(c);
}

__attribute__((noinline)) static void serve(int id, int lose) {
  struct conn *c = open_one(id);
  for (int i = 0; i < 1 + id % 2; i++) use(c);
  use(shared);
  if (!lose) close_one(c);
}

__attribute__((noinline)) static void twice(void) {
  last = conn_new(1000);
  conn_get(last);
  conn_put(last);
  conn_put(last);
}

int main(int argc, char **argv) {
  if (argc > 1) rounds = atoi(argv[1]);
  shared = conn_new(-1);
  for (int batch = 0; batch < BATCHES; batch++) {
    for (int i = 0; i < LEAKED; i++) serve(LEAKED * batch + i, 1);
    for (int i = 0; i < rounds; i++) serve(i, 0);
    checkpoint();
  }
  twice();
  checkpoint();
  conn_put(last);
  checkpoint();
  return 0;
}
