// Each argument is a way to lose a reference: "item" forgets an item, which holds its store and is listed by
// it; "lookup" forgets what a function that returns its item has taken for it; "helper" what a function has
// made for it.
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))
#define MOST 16

struct item;
struct store {
  int refs;
  struct item *items[MOST]; /* without references */
};
struct item {
  int refs;
  int id;
  struct store *store;
};

APART struct store *store_new(void) {
  struct store *s = calloc(1, sizeof *s);
  s->refs = 1;
  return s;
}
APART struct store *store_get(struct store *s) {
  ++s->refs;
  return s;
}
APART void store_put(struct store *s) {
  if (--s->refs == 0) free(s);
}
APART struct item *item_new(struct store *s, int id) {
  struct item *i = calloc(1, sizeof *i);
  i->refs = 1;
  i->id = id;
  i->store = store_get(s);
  s->items[id] = i;
  return i;
}
APART struct item *item_get(struct item *i) {
  ++i->refs;
  return i;
}
APART void item_put(struct item *i) {
  if (--i->refs != 0) return;
  i->store->items[i->id] = NULL;
  store_put(i->store);
  free(i);
}

APART struct item *find_item(struct store *s, int id) {
  return s->items[id] != NULL ? item_get(s->items[id]) : NULL;
}

static volatile int used;

APART void print_item(struct store *s, int id) {
  struct item *i = find_item(s, id);
  used += i->id;
  item_put(i);
}
APART void count_item(struct store *s, int id) {
  struct item *i = find_item(s, id);
  used += 1;
  item_put(i);
}
APART void check_item(struct store *s, int id, int forget) {
  struct item *i = find_item(s, id);
  if (forget) return; /* forgotten */
  item_put(i);
}
static void lookup(struct store *s) {
  struct item *all[MOST];
  for (int id = 0; id < MOST; ++id) all[id] = item_new(s, id);
  for (int id = 0; id < MOST; ++id) {
    print_item(s, id);
    count_item(s, id);
    check_item(s, id, id == 9);
  }
  for (int id = 0; id < MOST; ++id) item_put(all[id]);
}

APART void make_item(struct store *s, int id, struct item **out) { *out = item_new(s, id); }

#define USE(NAME, PUT)                       \
  APART void NAME(struct store *s, int id) { \
    struct item *i;                          \
    make_item(s, id, &i);                    \
    used += i->id;                           \
    if (PUT) item_put(i);                    \
  }
USE(use_a, 1)
USE(use_b, 1)
USE(use_c, 1)
USE(use_d, 0)
USE(use_e, 1)
USE(use_f, 1)

static void helper(struct store *s) {
  use_a(s, 0);
  use_b(s, 1);
  use_c(s, 2);
  use_d(s, 3);
  use_e(s, 4);
  use_f(s, 5);
}

static void keep_all_but(struct store *s, int forgotten) {
  struct item *all[MOST];
  for (int id = 0; id < MOST; ++id) all[id] = item_new(s, id);
  for (int id = 0; id < MOST; ++id) {
    if (id != forgotten) item_put(all[id]);
  }
  memset(all, 0, sizeof all);
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "none";
  struct store *s = store_new();
  if (strcmp(way, "lookup") == 0) {
    lookup(s);
  } else if (strcmp(way, "helper") == 0) {
    helper(s);
  } else {
    keep_all_but(s, strcmp(way, "item") == 0 ? 5 : -1);
  }
  store_put(s);
  return 0;
}
