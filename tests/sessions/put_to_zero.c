// Two families; each object is put to zero once. `subject` is the second conn.
#include <stdlib.h>

#include "conn.h"

struct buffer {
  int refs;
};

struct conn *first, *subject;

__attribute__((noinline)) struct buffer *buffer_new(void) {
  struct buffer *buffer = malloc(sizeof *buffer);
  if (buffer == NULL) abort();
  buffer->refs = 1;
  return buffer;
}

__attribute__((noinline)) void buffer_get(struct buffer *buffer) { buffer->refs++; }

__attribute__((noinline)) void buffer_put(struct buffer *buffer) {
  if (--buffer->refs == 0) free(buffer);
}

int main(void) {
  struct buffer *buffer = buffer_new();
  first = conn_new(1);
  subject = conn_new(2);
  conn_get(subject);
  checkpoint();
  buffer_put(buffer);
  conn_put(first);
  conn_put(subject);
  conn_put(subject);
  return 3;
}
