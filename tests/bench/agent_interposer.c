// The least that a recorder inside the process can do: LD_PRELOAD, one record of object and time for each
// call, no stack, in a ring that nobody reads.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <x86intrin.h>

struct conn;
typedef void (*operation)(struct conn* c);

enum { kRecords = 16384 };
static _Thread_local struct {
  uint64_t object;
  uint64_t time;
} ring[kRecords];
static _Thread_local unsigned next;
static operation real_get, real_put;

__attribute__((constructor)) static void find(void) {
  real_get = (operation)dlsym(RTLD_NEXT, "conn_get");
  real_put = (operation)dlsym(RTLD_NEXT, "conn_put");
}

static void record(struct conn* c) {
  unsigned processor;
  ring[next % kRecords].object = (uint64_t)c;
  ring[next++ % kRecords].time = __rdtscp(&processor);
}

void conn_get(struct conn* c) {
  record(c);
  real_get(c);
}

void conn_put(struct conn* c) {
  record(c);
  real_put(c);
}
