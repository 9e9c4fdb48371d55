// References that are lost in different ways, each beside others that are given back: `explain WAY`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
  int refs;
  int id;
};

struct peer {
  int kind;
  struct item *reply;
};

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

__attribute__((noinline)) static int parse(struct item *item) { return item->id % 4; }

// An early return.
__attribute__((noinline)) static int handle(struct item *from) {
  struct item *item = item_get(from);
  int value = parse(item);
  if (value == 3) {
    fputs("bad\n", stderr);
    return -1; /* LOST early */
  }
  value += item->id;
  item_put(item);
  return value;
}

// The same, inlined into its caller, whose registers have the pointer all along.
__attribute__((always_inline)) static inline int handle_here(struct item *from) {
  struct item *item = item_get(from);
  int value = parse(item);
  if (value == 3) {
    fputs("bad\n", stderr);
    return -1; /* LOST inlined */
  }
  value += item->id;
  item_put(item);
  return value;
}

// Memory that is freed with the pointer in it. The next one lies there as soon as it is made.
__attribute__((noinline)) static struct peer *peer_new(struct item *item) {
  struct peer *peer = calloc(1, 128);
  peer += 2;
  peer->reply = item_get(item);
  return peer;
}

__attribute__((noinline)) static void peer_free(struct peer *peer, int keep) {
  if (!keep) item_put(peer->reply);
  free(peer - 2); /* LOST freed */
}

// A pointer in memory that is overwritten.
__attribute__((noinline)) static void peer_reply(struct peer *peer, struct item *item) {
  peer->kind++;
  peer->reply = item_get(item); /* LOST slot */
}

__attribute__((noinline)) static void peer_close(struct peer *peer) {
  if (peer->reply != NULL) item_put(peer->reply);
  peer->reply = NULL;
}

// A round of a loop that leaves out the end.
__attribute__((noinline)) static int sum_of(struct item **items, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++) {
    struct item *item = item_get(items[i]);
    if (parse(item) == 3) {
      sum -= item->id;
      continue; /* LOST round */
    }
    sum += item->id;
    item_put(item);
  }
  return sum;
}

// A reference that is handed to the caller, who forgets it.
__attribute__((noinline)) static struct item *find(struct item **items, int count, int id) {
  for (int i = 0; i < count; i++) {
    if (items[i]->id == id) return item_get(items[i]);
  }
  return NULL;
}

__attribute__((noinline)) static int look_up(struct item **items, int count, int id) {
  struct item *item = find(items, count, id);
  if (item == NULL) return 0;
  if (parse(item) == 3) return -1; /* LOST result */
  item_put(item);
  return 1;
}

// A pointer that has moved on in memory before it is forgotten.
__attribute__((noinline)) static void move(struct peer *to, struct peer *from) {
  to->reply = from->reply;
  from->reply = NULL;
}

__attribute__((noinline)) static void forget(struct peer *peer) {
  peer->kind++;
  peer->reply = NULL; /* LOST moved */
}

/// The file is there; it is made otherwise.
static int again(const char *path) {
  FILE *file = fopen(path, "r");
  const int found = file != NULL;
  if (file == NULL) file = fopen(path, "w");
  if (file != NULL) fclose(file);
  return found;
}

/// Leaves nothing of what the stack had below.
__attribute__((noinline)) static void wipe(void) {
  volatile char unused[4096];
  for (unsigned i = 0; i < sizeof unused; i++) unused[i] = 0;
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "early";
  struct item *items[4];
  struct peer *peer = calloc(1, sizeof *peer);
  struct peer *other = calloc(1, sizeof *other);
  // From the second run on, each item lies where the one before it lay in the first.
  void *before = argc > 2 && again(argv[2]) ? malloc(sizeof *items[0]) : NULL;
  for (int i = 0; i < 4; i++) items[i] = item_new(i);
  if (strcmp(way, "early") == 0) {
    for (int i = 0; i < 4; i++) handle(items[i]);
  } else if (strcmp(way, "inlined") == 0) {
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += handle_here(items[i]);
    printf("%d\n", sum);
  } else if (strcmp(way, "freed") == 0) {
    for (int i = 0; i < 4; i++) {
      struct item *item = item_new(i);
      struct peer *holder = peer_new(item);
      item_put(item);
      peer_free(holder, i == 1);
    }
  } else if (strcmp(way, "slot") == 0) {
    for (int i = 0; i < 4; i++) {
      peer_reply(peer, items[i]);
      if (i != 1) peer_close(peer);
    }
  } else if (strcmp(way, "round") == 0) {
    sum_of(items, 4);
  } else if (strcmp(way, "moved") == 0) {
    for (int i = 0; i < 4; i++) {
      peer_reply(peer, items[i]);
      move(other, peer);
      if (i == 1) forget(other);
      peer_close(other);
    }
  } else {
    for (int i = 0; i < 4; i++) look_up(items, 4, i);
  }
  for (int i = 0; i < 4; i++) item_put(items[i]);
  memset(items, 0, sizeof items);
  free(peer);
  free(other);
  free(before);
  wipe();
  return 0;
}
