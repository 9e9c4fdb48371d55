// A library's type whose exported put checks its argument and hands on to an internal function, which the
// library's own code calls as well. Built without debug information and stripped.
#include <stdlib.h>

struct ticket {
  long number;
  int refs;
};

static int served;

__attribute__((noinline, noclone)) static void ticket_unref_internal(struct ticket *ticket, int quiet) {
  if (__atomic_sub_fetch(&ticket->refs, 1, __ATOMIC_SEQ_CST) != 0) return;
  if (!quiet) served++;
  free(ticket);
}

struct ticket *ticket_new(long number) {
  struct ticket *ticket = malloc(sizeof *ticket);
  ticket->number = number;
  ticket->refs = 1;
  return ticket;
}

__attribute__((noinline)) struct ticket *ticket_ref(struct ticket *ticket) {
  __atomic_add_fetch(&ticket->refs, 1, __ATOMIC_SEQ_CST);
  return ticket;
}

void ticket_unref(struct ticket *ticket) {
  if (ticket == 0 || ticket->refs <= 0) return;
  ticket_unref_internal(ticket, 0);
}

// The library takes a reference and gives it back by itself.
__attribute__((noinline)) int ticket_serve(struct ticket *ticket) {
  ticket_ref(ticket);
  const int number = (int)ticket->number;
  ticket_unref_internal(ticket, 1);
  return number;
}

int ticket_served(void) { return served; }
