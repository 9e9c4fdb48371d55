// The program's own account of what it does to the objects of a library, one line for each call of its own,
// for the script to compare with what refhist recorded.
#pragma once

#include <stdio.h>

static inline void tally(const char *role, const char *family, const void *object) {
  printf("%s %s %p\n", role, family, object);
  fflush(stdout);
}

__attribute__((noinline)) static void checkpoint(void) { __asm__ volatile(""); }

// The life of two objects: one is given back, of the other two references are kept.
#define TWO_LIVES(family, pointer, make, get, put) \
  do {                                             \
    pointer = (make);                              \
    tally("init", family, pointer);                \
    TAKE(family, pointer, get);                    \
    GIVE(family, pointer, put);                    \
    TAKE(family, pointer, get);                    \
    GIVE(family, pointer, put);                    \
    GIVE(family, pointer, put);                    \
    pointer = (make);                              \
    tally("init", family, pointer);                \
    TAKE(family, pointer, get);                    \
    TAKE(family, pointer, get);                    \
    GIVE(family, pointer, put);                    \
  } while (0)
#define TAKE(family, pointer, get) \
  do {                             \
    tally("get", family, pointer); \
    get(pointer);                  \
  } while (0)
#define GIVE(family, pointer, put) \
  do {                             \
    tally("put", family, pointer); \
    put(pointer);                  \
  } while (0)
