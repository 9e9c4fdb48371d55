// A cache keeps its pages when nobody uses them: the last put leaves one alone, and a lookup takes it from
// zero again. They begin with a reference. "race": a lookup takes a page whose last put is under way, and the
// put frees it: it had looked at the counter before.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"

#define PAGES 8
#define ROUNDS 5

struct page {
  int refs;
  int number;
};

static struct page *pages[PAGES];
static sem_t at_zero, taken;
static int frees_at_zero, waits;

__attribute__((noinline)) static struct page *page_new(int number) {
  struct page *page = calloc(1, sizeof *page);
  page->refs = 1;
  page->number = number;
  return page;
}

__attribute__((noinline)) static struct page *page_get(struct page *page) {
  __atomic_add_fetch(&page->refs, 1, __ATOMIC_SEQ_CST);
  return page;
}

__attribute__((noinline)) static void page_put(struct page *page) {
  if (__atomic_sub_fetch(&page->refs, 1, __ATOMIC_SEQ_CST) != 0) return;
  if (waits) {
    sem_post(&at_zero);
    sem_wait(&taken);
  }
  if (frees_at_zero) free(page);
}

static struct page *lookup(int number) {
  struct page **slot = &pages[number % PAGES];
  if (*slot == NULL) return *slot = page_new(number);
  return page_get(*slot);
}

static void use_all(void) {
  for (int round = 0; round < ROUNDS; round++) {
    struct page *used[PAGES];
    for (int i = 0; i < PAGES; i++) used[i] = lookup(i);
    for (int i = 0; i < PAGES; i++) page_put(used[i]);
  }
}

static void evict_all(void) {
  for (int i = 0; i < PAGES; i++) free(pages[i]);
}

static void *late(void *page) {
  sem_wait(&at_zero);
  page_get(page);
  sem_post(&taken);
  return NULL;
}

static void race(void) {
  pthread_t thread;
  sem_init(&at_zero, 0, 0);
  sem_init(&taken, 0, 0);
  frees_at_zero = waits = 1;
  struct page *page = page_new(PAGES);
  pthread_create(&thread, NULL, late, page);
  page_put(page);
  pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  const int wrong = argc > 1 && strcmp(argv[1], "race") == 0;
  if (wrong) race();
  if (!wrong) use_all();
  if (!wrong) evict_all();
  puts("done");
  checkpoint();
  return 0;
}
