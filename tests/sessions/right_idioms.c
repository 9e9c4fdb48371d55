// Right programs whose counts look wrong: nobody is accused, with the families named and without.
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline))

static int made;

// One default object in static storage, the others from the heap. At -O2 the birth and the put of one of
// those become a single store of zero, over whatever malloc has left there.
struct style {
  int refs;
  int size;
};
static struct style standard = {1, 10};

struct style *style_new(int size) {
  struct style *style = malloc(sizeof *style);
  style->refs = 1;
  style->size = size;
  made++;
  return style;
}
struct style *style_ref(struct style *style) {
  style->refs++;
  return style;
}
void style_unref(struct style *style) {
  if (--style->refs == 0) {
    if (style->size < 0) puts("?");
    free(style);
  }
}

static int styles(void) {
  int sum = 0;
  for (int i = 0; i < 60; i++) {
    struct style *style = i % 3 ? style_ref(&standard) : style_new(i);
    sum += style->size;
    style_unref(style);
  }
  return sum;
}

// Several references at once, by hand: at -O2 a single store of four. The last ones go back at once, too.
struct page {
  int number;
  int refs;
};
struct page *page_new(int number) {
  struct page *page = malloc(sizeof *page);
  page->refs = 1;
  page->number = number;
  made++;
  return page;
}
struct page *page_ref(struct page *page) {
  page->refs++;
  return page;
}
void page_unref(struct page *page) {
  if (--page->refs == 0) {
    if (page->number < 0) puts("?");
    free(page);
  }
}
APART static void page_drop_many(struct page *page, int count) {
  page->refs -= count;
  if (page->refs == 0) free(page);
}

static int pages(void) {
  int sum = 0;
  for (int i = 0; i < 40; i++) {
    struct page *page = page_new(i);
    page->refs += 3;
    for (int k = 0; k < 4; k++) {
      sum += page->number;
      page_unref(page);
    }
    page = page_ref(page_ref(page_new(i)));
    sum += page->number;
    page_drop_many(page, 3);
  }
  return sum;
}

// A counted part of a static object, and a static array that an index leads to: neither is ever given back.
struct kref {
  int count;
};
struct device {
  char name[8];
  struct kref ref;
};
static struct device loopback = {"lo", {1}};
void kref_init(struct kref *kref) { kref->count = 1; }
void kref_get(struct kref *kref) { __atomic_fetch_add(&kref->count, 1, __ATOMIC_RELAXED); }
void kref_put(struct kref *kref, void (*release)(struct kref *)) {
  if (__atomic_sub_fetch(&kref->count, 1, __ATOMIC_ACQ_REL) == 0) release(kref);
}
static void device_release(struct kref *kref) { free((char *)kref - __builtin_offsetof(struct device, ref)); }

static void stay(struct kref *kref) { kref->count = -1; }

static struct kref table[16];
static unsigned char order[16];

static void devices(void) {
  for (int i = 0; i < 30; i++) {
    struct device *device = &loopback;
    if (i % 3) {
      kref_get(&device->ref);
    } else {
      device = calloc(1, sizeof *device);
      kref_init(&device->ref);
      made++;
    }
    kref_put(&device->ref, device_release);
  }
  for (int i = 0; i < 16; i++) {
    kref_init(&table[i]);
    order[i] = (unsigned char)(15 - i);
  }
  for (int i = 0; i < 64; i++) {
    struct kref *kref = &table[order[i % 16]];
    kref_get(kref);
    kref_put(kref, stay);
  }
}

// At zero a thing goes to a free list; whoever takes it from there has its first reference.
struct thing {
  int refs;
  int value;
  struct thing *next;
};
static struct thing *pool;
struct thing *thing_ref(struct thing *thing) {
  thing->refs++;
  return thing;
}
void thing_unref(struct thing *thing) {
  if (--thing->refs == 0) {
    thing->next = pool;
    pool = thing;
  }
}
static struct thing *take(int value) {
  struct thing *thing = pool;
  if (thing)
    pool = thing->next;
  else
    thing = calloc(1, sizeof *thing);
  thing->value = value;
  return thing_ref(thing);
}

static int things(void) {
  int sum = 0;
  for (int i = 0; i < 60; i++) {
    struct thing *one = take(i), *other = take(i + 1);
    thing_ref(one);
    sum += one->value + other->value;
    thing_unref(other);
    thing_unref(one);
    thing_unref(one);
  }
  while (pool) {
    struct thing *next = pool->next;
    free(pool);
    pool = next;
  }
  return sum;
}

int main(void) {
  int sum = styles() + pages() + things();
  devices();
  printf("sum %d\nmade %d\n", sum, made);
  return loopback.name[0] == '?';
}
