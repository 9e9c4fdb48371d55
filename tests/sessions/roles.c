// Families of other kinds: a get that may fail, objects born with count 0, a put that frees, a pointer to the
// pointer.
#include <stdlib.h>

#include "conn.h"

struct handle {
  int refs;
};

struct handle *subject;

__attribute__((noinline)) int handle_new(struct handle **out) {
  struct handle *handle = malloc(sizeof *handle);
  if (handle == NULL) abort();
  handle->refs = 0;
  *out = handle;
  return 0;
}

__attribute__((noinline)) void handle_ref(struct handle *handle) { handle->refs++; }

__attribute__((noinline)) int handle_try_ref(struct handle *handle) {
  if (handle->refs == 0) return 0;
  handle->refs++;
  return 1;
}

__attribute__((noinline)) void handle_free(struct handle *handle) {
  if (handle != NULL && --handle->refs == 0) free(handle);
}

__attribute__((noinline)) void handle_clear(struct handle **place) {
  handle_free(*place);
  *place = NULL;
}

int main(void) {
  struct handle *own = NULL;
  handle_new(&own);
  subject = own;
  int refused = handle_try_ref(own);
  handle_ref(own);
  int taken = handle_try_ref(own);
  checkpoint();
  handle_free(NULL);
  handle_free(own);
  handle_clear(&own);
  return taken * 10 + refused;
}
