// Loads a library more than 4 GiB away from everything else.
//   far_library LIBRARY
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

#include "conn.h"

static unsigned long distance(void *a) {
  const unsigned long one = (unsigned long)a, other = (unsigned long)puts;
  return one < other ? other - one : one - other;
}

// Takes what room there is near the libraries: the kernel then places what is mapped next further down.
static int take_room(void) {
  for (unsigned long size = 8UL << 30; size >= 1UL << 12; size /= 2) {
    void *taken;
    do {
      taken = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (taken == MAP_FAILED) return 0;
    } while (distance(taken) < 4UL << 30);
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 2) return 1;
  struct conn *near = conn_new(1);
  if (!take_room()) return 2;
  void *library = dlopen(argv[1], RTLD_NOW);
  int (*use)(int) = library != NULL ? (int (*)(int))dlsym(library, "plugin_use") : NULL;
  if (use == NULL) return 3;
  printf("far %d\n", distance((void *)use) > 1UL << 32);
  use(3);
  conn_get(near);
  conn_put(near);
  conn_put(near);
  return 14;
}
