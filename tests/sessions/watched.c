// A counter that probes change, and functions that nobody knows as probes: by one, by more, in a thread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

struct item {
  long number;
  int refs;
};

struct item *subject, *others[4];

APART struct item *item_new(void) {
  struct item *item = calloc(1, sizeof *item);
  if (item == NULL) abort();
  item->refs = 1;
  return item;
}

APART void item_get(struct item *item) { __atomic_fetch_add(&item->refs, 1, __ATOMIC_SEQ_CST); }

APART void item_put(struct item *item) {
  if (__atomic_fetch_sub(&item->refs, 1, __ATOMIC_SEQ_CST) == 1) free(item);
}

APART void steal(struct item *item) { item->refs++; }
APART void give_two(struct item *item) { item->refs -= 2; }
APART void checkpoint(void) { __asm__ volatile(""); }

static void *in_thread(void *item) {
  steal(item);
  item_put(item);
  return NULL;
}

int main(int argc, char **argv) {
  subject = item_new();
  for (int i = 0; i < 4; i++) others[i] = item_new();
  checkpoint();
  item_get(subject);
  steal(subject);
  item_get(subject);
  give_two(subject);
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, subject);
  pthread_join(thread, NULL);
  checkpoint();
  if (argc > 1 && strcmp(argv[1], "reuse") == 0) {
    item_put(subject);
    item_put(subject);
    int *again = malloc(sizeof(struct item));  // most likely where the object was
    for (int i = 0; again != NULL && i < 4; i++) again[2] = i;
    checkpoint();
    free(again);
    return 6;
  }
  item_put(subject);
  item_put(subject);
  for (int i = 0; i < 4; i++) item_put(others[i]);
  return 5;
}
