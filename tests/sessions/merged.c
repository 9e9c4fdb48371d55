// Two copies of page_retain() stand at the ends of two ways: clang makes one instruction of them, of line 0,
// and its debug information tells of no copy there.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline))
#define MOST 8

struct page {
  long number;
  atomic_int refs;
};
// Counts at the same distance, and is no page.
struct reader {
  struct page *last;
  atomic_int reads;
};

static int gets, puts_made;
static struct page *pages[MOST];
static struct page *latest;
static struct reader reader;

static inline __attribute__((always_inline)) void page_retain(struct page *page) {
  atomic_fetch_add_explicit(&page->refs, 1, memory_order_relaxed);
}
APART void page_release(struct page *page) {
  ++puts_made;
  if (atomic_fetch_sub_explicit(&page->refs, 1, memory_order_acq_rel) == 1) free(page);
}
APART struct page *page_new(long number) {
  struct page *page = malloc(sizeof *page);
  if (page == NULL) abort();
  page->number = number;
  atomic_init(&page->refs, 1);
  return page;
}

APART struct page *fetch(long number) {
  struct page *page = pages[number % MOST];
  ++gets;
  if (page != NULL && page->number == number) {
    page_retain(page);
    return page;
  }
  page = page_new(number);
  page_retain(page);
  ++gets;
  latest = page;
  if (pages[number % MOST] != NULL) page_release(pages[number % MOST]);
  pages[number % MOST] = page;
  page_retain(page);
  return page;
}
APART void note(struct page *page, int twice) {
  if (twice) {
    reader.last = page;
    atomic_fetch_add_explicit(&reader.reads, 1, memory_order_relaxed);
    return;
  }
  reader.last = NULL;
  atomic_fetch_add_explicit(&reader.reads, 1, memory_order_relaxed);
}
APART void checkpoint(void) { __asm__ volatile(""); }

int main(void) {
  for (int i = 0; i < 40; ++i) {
    struct page *page = fetch(i * 7 % 12);
    note(page, i % 2);
    page_release(page);
    if (latest != NULL) page_release(latest);
    latest = NULL;
  }
  printf("gets %d\nputs %d\n", gets, puts_made);
  fflush(stdout);
  checkpoint();
  for (int i = 0; i < MOST; ++i) {
    if (pages[i] != NULL) page_release(pages[i]);
  }
  return 0;
}
