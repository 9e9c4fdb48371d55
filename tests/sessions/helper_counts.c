// Gets and puts are inlined, and a helper that is not changes the counter: libdbus' _dbus_atomic_inc(). Two
// functions are the same code, and the compiler keeps the debug information of one.
#include <stdio.h>
#include <stdlib.h>

#include "conn.h"

#define APART __attribute__((noipa))
#define INLINED static inline __attribute__((always_inline))
#define ROUNDS 12

// -- the helpers ------------------------------------------------------------------------------------------

struct atomic {
  int value;
};

APART int atomic_inc(struct atomic *atomic) {
  return __atomic_fetch_add(&atomic->value, 1, __ATOMIC_SEQ_CST);
}
APART int atomic_dec(struct atomic *atomic) {
  return __atomic_fetch_sub(&atomic->value, 1, __ATOMIC_SEQ_CST);
}
APART int count_down(struct atomic *atomic, int *seen) {
  *seen = atomic_dec(atomic) - 1;
  return *seen == 0;
}
/// Not each time: nothing is armed for it.
APART int inc_if_odd(struct atomic *atomic) { return atomic->value % 2 ? atomic_inc(atomic) : 0; }

// -- the counter in the middle ----------------------------------------------------------------------------

struct link {
  char name[24];
  long sent;
  struct atomic refs;
};

INLINED struct link *link_ref(struct link *link) {
  atomic_inc(&link->refs);
  return link;
}
INLINED void link_unref(struct link *link) {
  int left = 0;
  if (count_down(&link->refs, &left)) free(link);
}
APART struct link *link_new(long sent) {
  struct link *link = calloc(1, sizeof *link);
  link->sent = sent;
  link->refs.value = 1;
  return link;
}

// -- the counter at the beginning -------------------------------------------------------------------------

struct rule {
  struct atomic refs;
  long number;
  struct rule *next;
};

INLINED void rule_ref(struct rule *rule) { atomic_inc(&rule->refs); }
INLINED void rule_unref(struct rule *rule) {
  if (atomic_dec(&rule->refs) == 1) free(rule);
}
APART struct rule *rule_new(long number) {
  struct rule *rule = calloc(1, sizeof *rule);
  rule->number = number;
  rule->refs.value = 1;
  return rule;
}

// -- one code of two functions ----------------------------------------------------------------------------

struct page {
  int refs;
  int number;
};

APART void page_free(struct page *page) { free(page); }
static void page_unref(struct page *page) {
  if (--page->refs == 0) page_free(page);
}
APART struct page *page_new(int number) {
  struct page *page = calloc(1, sizeof *page);
  page->number = number;
  page->refs = 1;
  return page;
}
APART void page_ref(struct page *page) { page->refs++; }
static void drop_page(void *data, void *unused) {
  (void)unused;
  struct page *page = data;
  page_unref(page);
}
static void clear_page(void *data, void *unused) {
  (void)unused;
  struct page *page = data;
  page_unref(page);
}
typedef void (*each)(void *data, void *unused);
static each volatile callbacks[] = {drop_page, clear_page};

// ---------------------------------------------------------------------------------------------------------

APART void use_link(struct link *link) {
  struct link *mine = link_ref(link);
  mine->sent++;
  inc_if_odd((struct atomic *)mine->name);
  link_unref(mine);
}
APART void use_rule(struct rule *rule) {
  rule_ref(rule);
  rule->number++;
  rule_unref(rule);
}

int main(void) {
  for (int i = 0; i < ROUNDS; i++) {
    struct link *link = link_new(i);
    struct rule *rule = rule_new(i);
    struct page *page = page_new(i);
    use_link(link);
    use_rule(rule);
    page_ref(page);
    callbacks[0](page, NULL);
    callbacks[1](page, NULL);
    link_unref(link);
    rule_unref(rule);
  }
  printf("callbacks_differ %d\n", callbacks[0] != callbacks[1]);
  fflush(stdout);
  checkpoint();
  return 0;
}
