/* summary: encode() gives its lease of the frame back and then reads the frame's size; sometimes the lease was the last one
 * kind: use-after-put
 * counts: none
 * objects: 0
 * track: own
 * build: clang-14 -O0 -g
 * exit: 0
 * source: bug class "statistics read from a buffer after it was unreferenced"
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most this many users of a frame at a time: the hardware has no more slots. A free frame has all its leases. */
#define MAX_LEASES 12

#define NFRAMES 40
#define NHISTORY 3

struct frame {
  unsigned char *pixels;
  unsigned number;
  unsigned size;
  unsigned char leases_left; /* counts down */
  bool key;
};

struct encoder {
  struct frame *reference; /* the last key frame */
  struct frame *history[NHISTORY];
  unsigned long bytes;
  unsigned long skipped;
  unsigned number;
};

static int live;

static inline struct frame *frame_new(unsigned number, unsigned size, bool key) {
  struct frame *f = calloc(1, sizeof *f);
  if (!f || !(f->pixels = malloc(size)))
    abort();
  memset(f->pixels, (int)(number / 3), size); /* the picture changes slowly */
  f->number = number;
  f->size = size;
  f->key = key;
  f->leases_left = MAX_LEASES - 1; /* the caller has the first */
  live++;
  return f;
}

/* NULL if there are too many users. */
static inline struct frame *frame_lease(struct frame *f) {
  if (f->leases_left == 0)
    return NULL;
  f->leases_left--;
  return f;
}

static inline void frame_return(struct frame *f) {
  if (++f->leases_left == MAX_LEASES) {
    live--;
    free(f->pixels);
    free(f);
  }
}

static void set_reference(struct encoder *e, struct frame *f) {
  struct frame *keep = frame_lease(f);
  if (!keep)
    return;
  if (e->reference)
    frame_return(e->reference);
  e->reference = keep;
}

static void remember(struct encoder *e, struct frame *f) {
  struct frame **h = &e->history[f->number % NHISTORY];
  if (*h)
    frame_return(*h);
  *h = frame_lease(f);
}

static unsigned difference(struct frame *a, struct frame *b) {
  unsigned n = a->size < b->size ? a->size : b->size, sum = 0;
  for (unsigned i = 0; i < n; i += 16)
    sum += (unsigned)abs(a->pixels[i] - b->pixels[i]);
  return sum;
}

/* Takes over the caller's lease. */
static void encode(struct encoder *e, struct frame *f) {
  unsigned change = e->reference ? difference(f, e->reference) : ~0u;

  if (f->key)
    set_reference(e, f);
  if (change < 3) { /* nothing new in it */
    e->skipped++;
    frame_return(f);
    return;
  }
  if (f->number % 4 != 1)
    remember(e, f);
  e->number = f->number;
#ifdef BUG
  frame_return(f);     /* ACCEPTED */
  e->bytes += f->size; /* GUILTY */
#else
  e->bytes += f->size;
  frame_return(f);
#endif
}

/* Shows a frame in as many windows as get one; returns how many that were. */
static unsigned preview(struct frame *f, unsigned windows) {
  struct frame *shown[16];
  unsigned n = 0;
  while (n < windows && n < 16 && (shown[n] = frame_lease(f)))
    n++;
  for (unsigned i = 0; i < n; i++)
    frame_return(shown[i]);
  return n;
}

static struct frame *capture(unsigned i) { return frame_new(i, 256 + i % 7 * 64, i % 10 == 0); }

int main(void) {
  static struct encoder enc, thumbs;
  unsigned shown = 0;

  for (unsigned i = 0; i < NFRAMES; i++) {
    struct frame *f = capture(i);
    shown += preview(f, i % 15);
    if (i % 3 == 0) {
      struct frame *second = frame_lease(f);
      if (second)
        encode(&thumbs, second);
    }
    if (i % 8 == 5) { /* the queue is late, this frame is dropped */
      frame_return(f);
      continue;
    }
    encode(&enc, f);
  }
  struct encoder *all[] = {&enc, &thumbs};
  for (int k = 0; k < 2; k++) {
    if (all[k]->reference)
      frame_return(all[k]->reference);
    for (int i = 0; i < NHISTORY; i++)
      if (all[k]->history[i])
        frame_return(all[k]->history[i]);
  }
  printf("last %u/%u, skipped %lu, shown %u, %s\n", enc.number, thumbs.number, enc.skipped + thumbs.skipped, shown,
         enc.bytes + thumbs.bytes ? "ok" : "empty");
#ifdef TRUTH
  printf("frames alive at the end: %d\n", live);
#endif
  return 0;
}
