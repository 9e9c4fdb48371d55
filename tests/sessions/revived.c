// Finalisers that take their object back within its last put. A pool does so and keeps the object: right.
// `orphan`'s memory is given back nevertheless: wrong. Both puts in a call and inlined.
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline))
#define COPY static inline __attribute__((always_inline))

struct frame {
  int number;
  int refs;
  struct frame *next;
};

static struct frame *pool;
static int made, revived, taken, given, closing;

APART struct frame *frame_new(void) {
  struct frame *frame = malloc(sizeof *frame);
  frame->number = made++;
  frame->refs = 1;
  return frame;
}

APART void frame_get(struct frame *frame) {
  ++taken;
  ++frame->refs;
}

APART void frame_end(struct frame *frame) {
  if (closing) {
    free(frame);
    return;
  }
  frame_get(frame);
  ++revived;
  frame->next = pool;
  pool = frame;
  __asm__ volatile("");  // no tail call
}

APART void frame_put(struct frame *frame) {
  ++given;
  if (--frame->refs == 0) frame_end(frame);
}

COPY void frame_drop(struct frame *frame) {
  ++given;
  if (--frame->refs == 0) frame_end(frame);
}

APART struct frame *frame_take(void) {
  struct frame *frame = pool;
  if (!frame) return frame_new();
  pool = frame->next;
  return frame;
}

APART void show(int inlined) {
  struct frame *frame = frame_take();
  frame_get(frame);
  frame_put(frame);
  if (inlined)
    frame_drop(frame);
  else
    frame_put(frame);
  __asm__ volatile("");
}

struct orphan {
  int refs;
};
static struct orphan *seen;

APART struct orphan *orphan_new(void) {
  struct orphan *orphan = malloc(sizeof *orphan);
  orphan->refs = 1;
  return orphan;
}

APART void orphan_get(struct orphan *orphan) {
  ++orphan->refs;
  __asm__ volatile("" ::: "memory"); /* the compiler knows what free does */
}

APART void orphan_end(struct orphan *orphan) {
  orphan_get(orphan); /* for a list that nobody empties */
  seen = orphan;
  free(orphan);
}

APART void orphan_put(struct orphan *orphan) {
  if (--orphan->refs == 0) orphan_end(orphan);
}

int main(int argc, char **argv) {
  (void)argv;
  for (int i = 0; i < 10; ++i) show(i % 2);
  closing = 1;
  while (pool) {
    struct frame *frame = pool;
    pool = frame->next;
    frame_put(frame);
  }
  if (argc > 1) orphan_put(orphan_new());
  printf("made=%d\nrevived=%d\ntaken=%d\ngiven=%d\n", made, revived, taken, given);
  return 0;
}
