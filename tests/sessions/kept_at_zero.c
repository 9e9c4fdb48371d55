// Objects that begin without a reference, as with an intrusive pointer: the last put parks one, and a get
// takes it from zero again. "wrong": one is freed though somebody has it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"

#define ROUNDS 12

struct tile {
  int refs;
  int number;
};

static struct tile *parked;
static int made, taken;

__attribute__((noinline)) static struct tile *tile_new(void) {
  made++;
  return calloc(1, sizeof(struct tile));
}

__attribute__((noinline)) static void tile_get(struct tile *tile) { tile->refs++; }

__attribute__((noinline)) static void tile_put(struct tile *tile) {
  if (--tile->refs == 0) parked = tile;
}

// Whoever still has it is not asked.
__attribute__((noinline, noipa)) static void give_back(void *memory) { free(memory); }

static struct tile *take(void) {
  struct tile *tile = parked != NULL ? parked : tile_new();
  parked = NULL;
  tile_get(tile);
  taken++;
  return tile;
}

int main(int argc, char **argv) {
  const int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  for (int i = 0; i < ROUNDS; i++) {
    struct tile *tile = take();
    tile->number = i;
    if (wrong && i == ROUNDS - 1) {
      give_back(tile);
      tile_put(tile);
      break;
    }
    tile_put(tile);
  }
  printf("made %d\ntaken %d\n", made, taken);
  checkpoint();
  return 0;
}
