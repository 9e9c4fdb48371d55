// One reference goes wrong, by the first argument: the first suspect must be the line with that word behind
// it.
//   overwritten  a variable gets another reference while it has one
//   stolen       a list that takes its own reference is thought to take over the caller's
//   late         a reference is taken behind the call that gave the last one back
//   report       a report gives back what it has borrowed
//   embedded     an error path and the common end both give back, by a wrapper of a counter inside of a
//   struct
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"

#define ROUNDS 8

struct counter {
  int refs;
};

struct ticket {
  long number;
  struct counter counter;
  struct ticket *next;
};

static int is(const char *word, const char *way) { return way != NULL && strcmp(word, way) == 0; }

__attribute__((noinline)) static void counter_set(struct counter *counter) { counter->refs = 1; }
__attribute__((noinline)) static void counter_get(struct counter *counter) {
  if (counter->refs++ < 0) abort();
}
__attribute__((noinline)) static void counter_put(struct counter *counter) {
  if (--counter->refs == 0) free((char *)counter - offsetof(struct ticket, counter));
}

__attribute__((noinline)) static struct ticket *ticket_new(long number) {
  struct ticket *ticket = calloc(1, sizeof *ticket);
  ticket->number = number;
  counter_set(&ticket->counter);
  return ticket;
}
__attribute__((noinline)) static void ticket_get(struct ticket *ticket) { counter_get(&ticket->counter); }
__attribute__((noinline)) static void ticket_put(struct ticket *ticket) { counter_put(&ticket->counter); }
__attribute__((noinline)) static int is_busy(const struct ticket *ticket) { return ticket->number % 4 == 3; }

__attribute__((noinline)) static struct ticket *ask_again(const char *way, long number) {
  struct ticket *ticket = ticket_new(number);
  if (is_busy(ticket)) {
    if (!is("overwritten", way)) ticket_put(ticket);
    ticket = ticket_new(number + 1);  // overwritten
  }
  return ticket;
}

static struct ticket *list;

__attribute__((noinline)) static void list_add(struct ticket *ticket) {
  ticket_get(ticket);
  ticket->next = list;
  list = ticket;
}

__attribute__((noinline)) static void list_clear(void) {
  while (list != NULL) {
    struct ticket *first = list;
    list = first->next;
    first->next = NULL;
    ticket_put(first);
  }
}

__attribute__((noinline)) static void fill(int rounds) {
  for (int i = 0; i < rounds; i++) {
    struct ticket *ticket = ticket_new(i);
    list_add(ticket);
    ticket_put(ticket);
  }
}

__attribute__((noinline)) static void fill_more(int rounds) {
  for (int i = 0; i < rounds; i++) {
    struct ticket *ticket = ticket_new(i);
    list_add(ticket);  // stolen
  }
}

__attribute__((noinline)) static void close_if(struct ticket *ticket, int close) {
  if (close) ticket_put(ticket);
}

__attribute__((noinline)) static void serve(const char *way, long number) {
  struct ticket *ticket = ticket_new(number);
  const int late = is("late", way) && number == ROUNDS - 1;
  if (!late) ticket_get(ticket);
  close_if(ticket, 1);
  if (late) ticket_get(ticket);  // late
  ticket_put(ticket);
}

__attribute__((noinline)) static void report(const char *way, struct ticket *ticket) {
  if (is("report", way) && ticket->number == 5) ticket_put(ticket);  // report
}

__attribute__((noinline)) static void borrow(const char *way, long number) {
  struct ticket *ticket = ticket_new(number);
  ticket_get(ticket);
  report(way, ticket);
  ticket_put(ticket);
  ticket_put(ticket);
}

__attribute__((noinline)) static int submit(const char *way, long number) {
  struct ticket *ticket = ticket_new(number);
  int error = 0;
  list_add(ticket);
  if (is("embedded", way) && number == 2) {
    error = -1;
    ticket_put(ticket);  // embedded
  }
  ticket_put(ticket);  // embedded
  return error;
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : NULL;
  for (long i = 0; i < ROUNDS; i++) {
    ticket_put(ask_again(way, i));
    serve(way, i);
    borrow(way, i);
  }
  fill(ROUNDS);
  if (is("stolen", way)) fill_more(2);
  list_clear();
  for (long i = 0; i < ROUNDS; i++) submit(way, i);
  list_clear();
  puts("done");
  checkpoint();
  return 0;
}
