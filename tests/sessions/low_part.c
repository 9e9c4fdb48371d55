// A get that changes the lower half of an eight-byte counter, and leaves immortal objects alone, as CPython's
// Py_INCREF does since 3.12. The put changes all eight bytes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COPY static inline __attribute__((always_inline))
#define APART __attribute__((noinline))

struct item {
  union {
    int64_t refs;
    uint32_t half[2];
  };
  int number;
};

int freed;

APART void item_free(struct item *i) {
  freed += i->refs == 0;
  free(i);
}

COPY void item_get(struct item *i) {
  const uint32_t more = i->half[0] + 1;
  if (more != 0) i->half[0] = more;
}

COPY void item_put(struct item *i) {
  if ((int32_t)i->half[0] < 0) return;
  if (--i->refs == 0) item_free(i);
}

struct item immortal = {.refs = UINT32_MAX, .number = -1};
struct item *current, *kept;

APART void checkpoint(void) { __asm__ volatile(""); }

APART struct item *item_new(int number) {
  struct item *i = malloc(sizeof *i);
  i->refs = 1;
  i->number = number;
  return i;
}

APART void borrow(struct item *i) { item_get(i); }
APART void give_back(struct item *i) { item_put(i); }

int main(void) {
  for (int number = 0; number < 10; ++number) {
    struct item *i = current = item_new(number);
    borrow(i);
    borrow(i);
    borrow(&immortal);
    give_back(&immortal);
    give_back(i);
    give_back(i);
    if (number == 3) {
      borrow(i);
      kept = i;
    }
    give_back(i);
  }
  checkpoint();
  return kept->refs == 1 ? 7 : 1;
}
