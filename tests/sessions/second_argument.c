// A depot whose parts are given back with the depot as the first argument and the part as the second one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL __attribute__((noinline))

struct part {
  int refs;
  int number;
};
struct bench {
  int at;
  struct part *current;
};
struct depot {
  int returned;
  struct part *shelf[64];
  int used;
  struct bench benches[4];
};

CALL struct part *part_new(int number) {
  struct part *part = malloc(sizeof *part);
  part->refs = 1;
  part->number = number;
  return part;
}

CALL struct part *part_get(struct part *part) {
  part->refs++;
  return part;
}

CALL void part_put(struct depot *depot, struct part *part) {
  if (--part->refs > 0) return;
  depot->returned++;
  free(part);
}

/* The next one from the shelf, with a reference. */
CALL struct part *shelf_next(struct depot *depot, int *at) {
  return *at < depot->used ? part_get(depot->shelf[(*at)++]) : NULL;
}

CALL int find(struct depot *depot, int number) {
  struct part *part;
  int at = 0;
  int found = 0;
  while ((part = shelf_next(depot, &at)) != NULL) {
    if (part->number == number) found = part->number + 1;
    part_put(depot, part);
  }
  return found;
}

CALL int find_first(struct depot *depot, int number) {
  struct part *part;
  int at = 0;
  int found = 0;
  while ((part = shelf_next(depot, &at)) != NULL) {
    if (part->number == number) {
      found = part->number + 1;
      break;  // rotated
    }
    part_put(depot, part);
  }
  return found;
}

CALL void bench_take(struct depot *depot, struct bench *bench, struct part *part) {
  if (bench->current) part_put(depot, bench->current);
  bench->current = part_get(part);
}

CALL void bench_change(struct depot *depot, struct bench *bench, int at) {
  struct part *part = depot->shelf[at];
  if (bench->current) part_put(depot, bench->current);
  bench->at = at;
  bench->current = part;  // untaken
}

CALL void benches_clear(struct depot *depot) {
  for (int i = 0; i < 4; i++) {
    if (depot->benches[i].current) part_put(depot, depot->benches[i].current);
    depot->benches[i].current = NULL;
  }
}

CALL void shelf_clear(struct depot *depot) {
  for (int i = 0; i < depot->used; i++) {
    part_put(depot, depot->shelf[i]);
    depot->shelf[i] = NULL;
  }
  depot->used = 0;
}

int main(int argc, char **argv) {
  static struct depot depot;
  const char *way = argc > 1 ? argv[1] : "";
  int sum = 0;
  for (int i = 0; i < 40; i++) depot.shelf[depot.used++] = part_new(i);
  for (int i = 0; i < 12; i++) sum += find(&depot, 3 * i);
  if (strcmp(way, "rotated") == 0) sum += find_first(&depot, 12) + find_first(&depot, 27);
  for (int i = 0; i < 20; i++) bench_take(&depot, &depot.benches[i % 4], depot.shelf[2 * i]);
  if (strcmp(way, "untaken") == 0) bench_change(&depot, &depot.benches[2], 7);
  benches_clear(&depot);
  shelf_clear(&depot);
  printf("%d %d\n", sum, depot.returned);
  return 0;
}
