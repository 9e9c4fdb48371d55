// "lost": who loses the race for a place in the table drops what it has made; the function returns what was
// faster. "twice": an error path gives a page back that the end of the function gives back again, and the
// cache still has it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

struct entry {
  int refs;
  int key;
  struct entry *chain;
};
static struct entry *table[16];
static int lost;

APART struct entry *entry_new(int key) {
  struct entry *entry = calloc(1, sizeof *entry);
  entry->refs = 1;
  entry->key = key;
  return entry;
}
APART struct entry *entry_get(struct entry *entry) {
  entry->refs++;
  return entry;
}
APART void entry_put(struct entry *entry) {
  if (--entry->refs) return;
  for (struct entry **place = &table[entry->key % 16]; *place; place = &(*place)->chain) {
    if (*place != entry) continue;
    *place = entry->chain;
    break;
  }
  free(entry);
}

APART static struct entry *find(int key) {
  for (struct entry *entry = table[key % 16]; entry; entry = entry->chain)
    if (entry->key == key) return entry_get(entry);
  return NULL;
}

APART static struct entry *obtain(int key, int race) {
  struct entry *entry = find(key);
  if (entry) return entry;
  struct entry *mine = entry_new(key);
  if (race) {
    struct entry *other = entry_new(key);
    other->chain = table[key % 16];
    table[key % 16] = other;
  }
  for (entry = table[key % 16]; entry; entry = entry->chain) {
    if (entry->key != key) continue;
    lost++;
    return entry; /* DROPPED */
  }
  mine->chain = table[key % 16];
  table[key % 16] = mine;
  return mine;
}

APART static int work(int i) {
  struct entry *entry = obtain(i * 7 % 40, i % 5 == 4);
  int key = entry->key;
  if (i % 3) {
    struct entry *again = find(key);
    entry_put(again);
  }
  entry_put(entry);
  return key;
}

struct page {
  int number;
  int refs;
};
static struct page *cache[8];

APART struct page *page_new(int number) {
  struct page *page = malloc(sizeof *page);
  page->number = number;
  page->refs = 1;
  return page;
}
APART struct page *page_get(struct page *page) {
  page->refs++;
  return page;
}
APART void page_put(struct page *page) {
  if (--page->refs == 0) free(page);
}

/* The caller gets a reference of its own. */
APART static void read_page(int number, struct page **out) {
  struct page *page = cache[number % 8];
  if (page && page->number == number) {
    *out = page_get(page);
    return;
  }
  if (page) page_put(page);
  page = page_new(number);
  cache[number % 8] = page_get(page);
  *out = page;
}

APART static int copy(int from, int to, int bytes) {
  struct page *source, *target;
  int failed = 0;
  read_page(from, &source);
  read_page(to, &target);
  if (bytes > 100) {
    page_put(target); /* TWICE */
    failed = 1;
    goto out;
  }
  target->number = to;
out:
  page_put(target);
  page_put(source);
  return failed;
}

APART static int sum_of(int number) {
  struct page *page;
  read_page(number, &page);
  int sum = page->number;
  page_put(page);
  return sum;
}

int main(int argc, char **argv) {
  int sum = 0;
  if (argc > 1 && strcmp(argv[1], "lost") == 0) {
    for (int i = 0; i < 100; i++) sum += work(i);
  } else {
    for (int i = 0; i < 60; i++) {
      sum += copy(i, i + 3, i % 40);
      sum += sum_of(i + 1);
    }
    copy(70, 71, 101);
    sum += sum_of(71);
  }
  printf("lost %d\nsum %d\n", lost, sum);
  return 0;
}
