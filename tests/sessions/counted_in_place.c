// A program that counts with macros and by hand: no function of it takes or gives back a reference.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

static int taken, given, births;

#define GET(o) ((void)(++taken, (o)->refs++))
#define PUT(o, end)         \
  do {                      \
    ++given;                \
    if (--(o)->refs == 0) { \
      end(o);               \
    }                       \
  } while (0)

struct page {
  char name[24];  // beyond what malloc overwrites of a free block
  int refs;
  int bytes[8];
};

struct index {
  struct page *pages[4];
  unsigned short other;
  long refs;
};

struct base {
  int kind;
  int count;
};

struct shape {
  long area;
  struct base base;
};

/* It is no page, though it has a number where a page has its count. */
struct tally {
  long sum[1];
  int kind;
  int seen;
  int rest[8];
};

APART struct page *page_new(int number) {
  struct page *page = malloc(sizeof *page);
  memset(page, 0, sizeof *page);
  page->name[0] = (char)('a' + number);
  page->refs = 1;
  ++births;
  return page;
}

APART void page_end(struct page *page) {
  page->name[0] = 0;
  free(page);
}

APART struct index *index_new(void) {
  struct index *index = calloc(1, sizeof *index);
  index->refs = 1;
  ++births;
  return index;
}

APART void index_end(struct index *index) {
  for (int i = 0; i < 4; ++i) {
    if (index->pages[i]) PUT(index->pages[i], page_end); /* INDEX END */
  }
  free(index);
}

APART void index_add(struct index *index, int at, struct page *page) {
  GET(page); /* INDEX ADD */
  index->pages[at] = page;
}

/* A page that one index alone has is written in place: a look at the count is no put. */
APART struct page *page_to_write(struct page *page) {
  if (page->refs == 1) {
    page->bytes[0]++;
    return page;
  }
  struct page *own = page_new(1);
  memcpy(own->bytes, page->bytes, sizeof own->bytes);
  PUT(page, page_end);
  return own;
}

APART struct index *index_copy(struct index *from, int forget) {
  struct index *copy = index_new();
  for (int i = 0; i < 4; ++i) {
    copy->pages[i] = from->pages[i];
    if (copy->pages[i] && i != forget) {
      GET(copy->pages[i]); /* INDEX COPY */
    }
  }
  return copy;
}

static APART int page_bytes(const struct page *page) {
  int sum = page->refs > 100;
  for (int i = 0; i < 8; ++i) sum += page->bytes[i];
  return sum;
}

/* The compiler may know the count that it puts back. */
APART int page_sum(struct page *page) {
  GET(page);
  const int sum = page_bytes(page);
  PUT(page, page_end);
  return sum;
}

APART struct shape *shape_new(void) {
  struct shape *shape = calloc(1, sizeof *shape);
  shape->base.count = 1;
  ++births;
  return shape;
}

static inline void base_ref(struct base *base) { base->count++; }
static inline int base_unref(struct base *base) { return --base->count == 0; }

APART void shape_drop(struct shape *shape) {
  ++given;
  if (base_unref(&shape->base)) free(shape); /* SHAPE DROP */
}

APART void shape_show(struct shape *shape) {
  ++taken;
  base_ref(&shape->base); /* SHAPE SHOW */
  printf("area %ld\n", shape->area);
  shape_drop(shape);
}

APART void tally_add(struct tally *tally, int number) {
  tally->seen++;
  tally->sum[0] += number;
}

APART void checkpoint(void) { __asm__ volatile(""); }

/* A page on loan: the way out that gives nothing back is the mistake. */
APART int page_show(struct page *page, int number, int forgetful) {
  GET(page);
  if (number == 7 && forgetful) return 0; /* LEAK */
  const int sum = page_sum(page);
  PUT(page, page_end);
  return sum;
}

APART void page_release(struct page *page, int twice) {
  if (twice) {
    PUT(page, page_end); /* EXTRA */
  }
  PUT(page, page_end); /* RELEASE */
}

struct page *subject;

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  struct tally *tally = calloc(1, sizeof *tally);
  subject = page_new(3);
  GET(subject);
  int shown = 0;
  if (!strcmp(how, "dead")) page_release(page_new(0), 1);
  for (int number = 0; number < 12; ++number) {
    struct index *index = index_new();
    for (int i = 0; i < 4; ++i) {
      struct page *page = page_new(i);
      shown += page_show(page, number, i == 0 && !strcmp(how, "leak"));
      index_add(index, i, page);
      tally_add(tally, page->refs);
      page_release(page, number == 9 && i == 2 && !strcmp(how, "extra"));
    }
    struct index *copy = index_copy(index, number == 5 && !strcmp(how, "get") ? 1 : -1);
    copy->pages[0] = page_to_write(copy->pages[0]);
    PUT(index, index_end); /* FIRST INDEX */
    copy->pages[1] = page_to_write(copy->pages[1]);
    PUT(copy, index_end);
    struct shape *shape = shape_new();
    shape_show(shape);
    shape_drop(shape);
  }
  printf("births %d\ntaken %d\ngiven %d\nshown %d\n", births, taken, given, shown);
  fflush(stdout);
  checkpoint();
  PUT(subject, page_end);
  PUT(subject, page_end);
  free(tally);
  return 0;
}
