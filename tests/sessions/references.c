// References that are kept in different places, and what gives each of them back. Of the last object the one
// in the array is forgotten.
#include <stdlib.h>

struct item {
  int refs;
  int id;
};

struct peer {
  int kind;
  struct item *reply;
  struct item *slots[4];
};

static struct item *last;

__attribute__((noinline)) struct item *item_new(int id) {
  struct item *item = malloc(sizeof *item);
  item->refs = 1;
  item->id = id;
  return item;
}

__attribute__((noinline)) struct item *item_get(struct item *item) {
  item->refs++;
  return item;
}

__attribute__((noinline)) void item_put(struct item *item) {
  if (--item->refs == 0) free(item);
}

__attribute__((noinline)) static void keep_reply(struct peer *peer, struct item *item) {
  peer->reply = item_get(item);
}

__attribute__((noinline)) static void keep_slot(struct peer *peer, struct item *item, int place) {
  peer->slots[place] = item_get(item);
}

__attribute__((noinline)) static void keep_last(struct item *item) { last = item_get(item); }

__attribute__((noinline)) static void use(struct item *item) {
  item_get(item);
  if (item->id > 2) item->id--;
  item_put(item);
}

__attribute__((noinline)) static void peer_close(struct peer *peer, int early) {
  item_put(peer->reply);
  if (early) return;
  for (int i = 0; i < 4; i++) {
    if (peer->slots[i] != NULL) item_put(peer->slots[i]);
  }
}

__attribute__((noinline)) static void serve(struct peer *peer, int id, int early) {
  struct item *item = item_new(id);
  keep_reply(peer, item);
  keep_slot(peer, item, id % 4);
  keep_last(item);
  use(item);
  item_put(last);
  last = NULL;
  peer_close(peer, early);
  item_put(item);
}

/// Leaves nothing of what the stack had below.
__attribute__((noinline)) static void wipe(void) {
  volatile char unused[4096];
  for (unsigned i = 0; i < sizeof unused; i++) unused[i] = 0;
}

int main(void) {
  for (int i = 0; i < 8; i++) {
    struct peer *peer = calloc(1, sizeof *peer);
    serve(peer, i, i == 7);
    free(peer);
  }
  wipe();
  return 0;
}
