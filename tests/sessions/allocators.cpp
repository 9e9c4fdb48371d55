// Objects from every kind of allocation: malloc, calloc, new, aligned memory, realloc that moves and that
// fails.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

struct Item {
  int kind;
  int refs;
  char rest[40];
};

extern "C" {

__attribute__((noinline)) Item *item_new(int kind) {
  void *memory = nullptr;
  if (kind == 0) memory = malloc(sizeof(Item));
  if (kind == 1) memory = calloc(2, sizeof(Item));
  if (kind == 2) memory = operator new(sizeof(Item));
  if (kind == 3 && posix_memalign(&memory, 64, 64) != 0) abort();
  Item *item = static_cast<Item *>(memory);
  item->kind = kind;
  __atomic_store_n(&item->refs, 1, __ATOMIC_SEQ_CST);
  return item;
}

__attribute__((noinline)) void item_get(Item *item) { __atomic_add_fetch(&item->refs, 1, __ATOMIC_SEQ_CST); }

__attribute__((noinline)) void item_put(Item *item) {
  if (__atomic_sub_fetch(&item->refs, 1, __ATOMIC_SEQ_CST) != 0) return;
  if (item->kind == 2) {
    operator delete(item);
  } else {
    free(item);
  }
}

__attribute__((noinline)) void checkpoint(void) { __asm__ volatile(""); }
}

Item *subject;
Item *moved;

int main(int argc, char **argv) {
  for (int kind = 0; kind < 4; kind++) {
    subject = item_new(kind);
    item_get(subject);
    item_put(subject);
    item_put(subject);
  }
  subject = item_new(0);
  void *behind = malloc(100);  // in the way, so that realloc has to move
  moved = static_cast<Item *>(realloc(subject, 5000));
  volatile std::size_t too_much = ~std::size_t{0} / 4;
  if (realloc(moved, too_much) != nullptr) abort();
  checkpoint();
  item_put(moved);
  free(behind);
  if (argc > 1 && std::strcmp(argv[1], "early-free") == 0) {
    subject = item_new(1);
    item_get(subject);
    free(subject);
  }
  if (argc > 1 && std::strcmp(argv[1], "late-get") == 0) {
    subject = item_new(0);
    item_put(subject);
    item_get(subject);
  }
  return 0;
}
