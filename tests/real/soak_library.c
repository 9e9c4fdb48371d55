// Is loaded and unloaded again and again by soak_program.
#include <stdatomic.h>
#include <stdlib.h>

struct part {
  atomic_int refs;
};

struct part *part_new(void) {
  struct part *part = malloc(sizeof *part);
  atomic_init(&part->refs, 1);
  return part;
}
void part_get(struct part *part) { atomic_fetch_add(&part->refs, 1); }
void part_put(struct part *part) {
  if (atomic_fetch_sub(&part->refs, 1) == 1) free(part);
}
