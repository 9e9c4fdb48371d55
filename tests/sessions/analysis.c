// Ten rounds of a loop, with a checkpoint behind each: one object more is kept in every round, one is opened
// and closed, and the first two rounds fill a cache. At the end one object is held from four places.
#include <stdlib.h>

#include "conn.h"

struct link {
  long id;
  struct {
    struct conn *conn;
  } peer;
  struct link *next;
};

struct conn *table[4];
struct conn *cache[2];
static struct link *links;
struct conn *held;
struct link *holder;

__attribute__((noinline)) static void keep(int id) {
  struct link *link = malloc(sizeof *link);
  link->id = id;
  link->peer.conn = conn_new(id);
  link->next = links;
  links = link;
}

__attribute__((noinline)) static void fill_cache(int round) {
  if (round < 2) cache[round] = conn_new(100 + round);
}

__attribute__((noinline)) static void serve(void) {
  struct conn *conn = conn_new(200);
  conn_get(conn);
  conn_put(conn);
  conn_put(conn);
}

__attribute__((noinline)) static void hold(void) {
  struct conn *volatile local = conn_new(300);
  held = local;
  table[2] = conn_get(local);
  holder = calloc(1, sizeof *holder);
  holder->peer.conn = conn_get(local);
  checkpoint();
  conn_put(local);
}

int main(void) {
  for (int round = 0; round < 10; round++) {
    keep(round);
    fill_cache(round);
    serve();
    if (round == 5) conn_get(cache[0]);
    checkpoint();
  }
  hold();
  return 0;
}
