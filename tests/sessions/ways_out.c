// Functions that give back what they have on all ways but one. Each argument is one of them; the lines that
// may be named say "lost: " and the argument.
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))
#define MOST 24

struct page {
  int refs;
  int number;
  int dirty;
};

APART struct page *page_new(int number) {
  struct page *p = calloc(1, sizeof *p);
  if (p == NULL) abort();
  p->refs = 1;
  p->number = number;
  return p;
}
APART struct page *page_get(struct page *p) {
  ++p->refs;
  return p;
}
APART void page_put(struct page *p) {
  if (--p->refs == 0) free(p);
}

static volatile int written;
static volatile int refused;
static struct page *pages[MOST];

APART struct page *page_find(int number) {
  return number < MOST && pages[number] != NULL ? page_get(pages[number]) : NULL;
}

APART static int write_page(int number, int wrong) {
  struct page *p = page_find(number);
  if (p == NULL) return -1;
  if (p->number % 7 == 3) {
    page_put(p);
    return -2;
  }
  if (wrong && p->number == 5) {
    p->dirty = 1; /* lost: error */
    return -3;    /* lost: error */
  }
  written += p->number;
  page_put(p);
  return 0;
}

APART static int page_look_up(int number, struct page **found) {
  if (number >= MOST || pages[number] == NULL) return -1;
  *found = page_get(pages[number]);
  return 0;
}

APART static int stamp_page(int number, int wrong) {
  struct page *p;
  if (page_look_up(number, &p) != 0) return -1;
  if (p->number % 7 == 3) {
    page_put(p);
    return -2;
  }
  if (wrong && p->number == 6) {
    p->dirty = 2; /* lost: handed */
    return -3;    /* lost: handed */
  }
  written += p->number;
  page_put(p);
  return 0;
}

APART static void finish_page(struct page *p, int wrong) {
  if (wrong && p->number == 4) {
    ++refused; /* lost: late */
    return;    /* lost: late */
  }
  written += p->number;
  page_put(p);
}

APART static int sum_pages(int wrong) {
  int sum = 0;
  for (int i = 0; i < MOST + 2; ++i) {
    struct page *p = page_find(i);
    if (p == NULL) continue;
    if (wrong && p->number == 11) {
      ++refused; /* lost: loop */
      continue;  /* lost: loop */
    }
    sum += p->number;
    page_put(p);
  }
  return sum;
}

// Each turn of the loop gets its page in one of three ways.
static struct page *latest;
APART static struct page *page_again(int number) {
  written += number;
  return page_get(latest);
}
static inline struct page *pick_page(int number) {
  if (latest != NULL && latest->number == number) return page_again(number);
  struct page *p = page_find(number);
  return p != NULL ? p : page_new(number);
}
APART static int count_pages(int wrong) {
  int sum = 0;
  for (int i = 0; i < 3 * MOST; ++i) {
    struct page *p = pick_page(i / 2);
    if (p->number == 7) {
      ++written;
      page_put(p);
      continue;
    }
    if (p->number > 9 && wrong && p->number < 12) {
      ++refused; /* lost: picked */
      continue;  /* lost: picked */
    }
    sum += p->number;
    if (p->number < MOST) latest = pages[p->number];
    page_put(p);
  }
  return sum;
}

// What is found is kept in a variable, and what that had before is forgotten.
APART static struct page *latest_dirty(int wrong) {
  struct page *best = NULL;
  int most = -1;
  for (int i = 0; i < MOST; ++i) {
    struct page *p = page_find(i);
    if (p == NULL) continue;
    if (p->number % 9 != 4 || p->number < most) {
      page_put(p);
      continue;
    }
    if (best != NULL && !(wrong && p->number == 13)) page_put(best); /* lost: best */
    best = p;                                                        /* lost: best */
    most = p->number;                                                /* lost: best */
  }
  return best;
}

static inline int release_page(struct page *p, int wrong) {
  if (p->dirty) ++written;
  if (wrong && p->number == 6) {
    ++refused; /* lost: inlined */
    return -1; /* lost: inlined */
  }
  page_put(p);
  return 0;
}
APART static int close_page(int number, int wrong) {
  struct page *p = page_get(pages[number]);
  return release_page(p, wrong) + 1;
}
APART static int drop_page(int number) {
  struct page *p = page_get(pages[number]);
  p->dirty = 0;
  return release_page(p, 0);
}

APART static void leave_page(int number, int wrong) {
  struct page *p = page_get(pages[number]);
  written += p->number;
  if (!wrong || number != 2) page_put(p); /* lost: only */
}

// Every way gives back, or hands on: the caller is the one that forgets.
static struct page *kept[MOST];
APART static void keep_or_put(struct page *p) {
  if (p->number % 2 != 0) {
    page_put(p);
    return;
  }
  kept[p->number] = p;
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "none";
  for (int i = 0; i < MOST; ++i) pages[i] = page_new(i);
  for (int i = 0; i < MOST; ++i) {
    write_page(i, strcmp(way, "error") == 0);
    stamp_page(i, strcmp(way, "handed") == 0);
    finish_page(page_get(pages[i]), strcmp(way, "late") == 0);
    close_page(i, strcmp(way, "inlined") == 0);
    drop_page(i);
    leave_page(i, strcmp(way, "only") == 0);
    keep_or_put(page_get(pages[i]));
  }
  struct page *best = latest_dirty(strcmp(way, "best") == 0);
  if (best != NULL) page_put(best);
  written += sum_pages(strcmp(way, "loop") == 0);
  written += count_pages(strcmp(way, "picked") == 0);
  for (int i = 0; i < MOST; ++i) {
    const int forget = strcmp(way, "kept") == 0 && i == 8; /* lost: kept */
    if (kept[i] != NULL && !forget) page_put(kept[i]);     /* lost: kept */
    kept[i] = NULL;
    page_put(pages[i]);
    pages[i] = NULL;
  }
  return 0;
}
