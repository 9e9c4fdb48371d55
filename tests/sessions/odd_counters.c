// Right programs with counters, and pointers, of unusual kinds. With an argument one object is lost.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define APART __attribute__((noinline))

// Small numbers and error codes are passed as values; get and put leave them alone.
struct value {
  int refs;
  int number;
};
APART struct value *value_new(int number) {
  struct value *value = malloc(sizeof *value);
  value->refs = 1;
  value->number = number;
  return value;
}
static int is_number(const struct value *value) {
  return value == NULL || ((uintptr_t)value & 1) != 0 || (uintptr_t)value > (uintptr_t)-4096;
}
APART struct value *value_get(struct value *value) {
  if (!is_number(value)) value->refs++;
  return value;
}
APART void value_put(struct value *value) {
  if (!is_number(value) && --value->refs == 0) free(value);
}
APART static int values(int lose) {
  int sum = 0;
  for (long i = 0; i < 40; i++) {
    struct value *value = i % 4 == 0 ? value_new((int)i) : (struct value *)(i * 1000003 * 2 + 1);
    struct value *error = value_get((struct value *)-12L);
    struct value *same = value_get(value);
    sum += is_number(same) ? (int)i : same->number;
    value_put(same);
    value_put(error);
    if (!lose || i != 8) value_put(value);
  }
  return sum;
}

// A counter of one byte that stays at its end.
struct symbol {
  char name[6];
  unsigned char refs;
};
APART struct symbol *symbol_new(void) {
  struct symbol *symbol = malloc(sizeof *symbol);
  memset(symbol, 0, sizeof *symbol);
  symbol->refs = 1;
  return symbol;
}
APART void symbol_get(struct symbol *symbol) {
  if (symbol->refs != 255) symbol->refs++;
}
APART void symbol_put(struct symbol *symbol) {
  if (symbol->refs != 255 && --symbol->refs == 0) free(symbol);
}
static struct symbol *kept;
APART static int symbols(void) {
  for (int times = 100; times <= 300; times += 100) {
    struct symbol *symbol = symbol_new();
    for (int i = 0; i < times; i++) symbol_get(symbol);
    kept = times == 300 ? symbol : NULL;
    for (int i = 0; i < times; i++) symbol_put(symbol);
    symbol_put(symbol);
  }
  return kept->refs;
}

// The same object for all that failed is not counted.
struct surface {
  int is_static;
  int refs;
};
static struct surface nothing = {1, 0};
APART struct surface *surface_new(int width) {
  if (width < 0) return &nothing;
  struct surface *surface = malloc(sizeof *surface);
  surface->is_static = 0;
  surface->refs = 1;
  return surface;
}
APART struct surface *surface_get(struct surface *surface) {
  if (!surface->is_static) surface->refs++;
  return surface;
}
APART void surface_put(struct surface *surface) {
  if (!surface->is_static && --surface->refs == 0) free(surface);
}
APART static int surfaces(void) {
  for (int width = -10; width < 10; width++) {
    struct surface *surface = surface_new(width);
    if (width % 2 != 0) surface_put(surface_get(surface));
    surface_put(surface);
  }
  return nothing.refs;
}

// No reference is -1.
struct mapping {
  int more;
  int id;
};
APART struct mapping *mapping_new(int id) {
  struct mapping *mapping = malloc(sizeof *mapping);
  mapping->more = 0;
  mapping->id = id;
  return mapping;
}
APART void mapping_get(struct mapping *mapping) { mapping->more++; }
APART void mapping_put(struct mapping *mapping) {
  if (--mapping->more < 0) free(mapping);
}
APART static int mappings(void) {
  int sum = 0;
  for (int i = 0; i < 10; i++) {
    struct mapping *mapping = mapping_new(i);
    mapping_get(mapping);
    sum += mapping->id;
    mapping_put(mapping);
    mapping_put(mapping);
  }
  return sum;
}

// A destructor keeps others from ending the object again.
struct window {
  int refs;
  int closed;
};
APART void window_put(struct window *window);
APART struct window *window_new(void) {
  struct window *window = calloc(1, sizeof *window);
  window->refs = 1;
  return window;
}
APART void window_get(struct window *window) { window->refs++; }
APART static void tell_closed(struct window *window) {
  window_get(window);
  window->closed++;
  window_put(window);
}
APART void window_put(struct window *window) {
  if (--window->refs != 0) return;
  window->refs = -1000000;
  tell_closed(window);
  free(window);
}

// An array grows, and what is in it with it.
struct slot {
  int refs;
  int id;
};
APART void slot_get(struct slot *slot) { slot->refs++; }
APART void slot_put(struct slot *slot) { slot->refs--; }
APART static int slots(void) {
  struct slot *all = malloc(sizeof *all);
  all[0] = (struct slot){1, 7};
  slot_get(&all[0]);
  slot_get(&all[0]);
  struct slot *more = malloc(4 * sizeof *more);
  memset(more, 0, 4 * sizeof *more);
  memcpy(more, all, sizeof *all);
  free(all);
  slot_put(&more[0]);
  slot_put(&more[0]);
  slot_put(&more[0]);
  const int left = more[0].refs;
  free(more);
  return left;
}

// The only pointers are in a page that is read-only by now, and with a tag below the address.
static struct value **sealed;
static uint64_t tagged;
APART static void hide(void) {
  sealed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sealed[3] = value_new(100);
  tagged = (uint64_t)(uintptr_t)value_new(200) << 16 | 0xabc;
  mprotect(sealed, 4096, PROT_READ);
}
APART static int clear_stack(void) {
  volatile char bytes[20000];
  memset((void *)bytes, 1, sizeof bytes);
  return bytes[5];
}

int main(int argc, char **argv) {
  (void)argv;
  int sum = values(argc > 1) + symbols() + surfaces() + mappings() + slots();
  window_put(window_new());
  hide();
  sum += clear_stack();
  printf("sum %d\n", sum + sealed[3]->number + ((struct value *)(uintptr_t)(tagged >> 16))->number);
  return 0;
}
