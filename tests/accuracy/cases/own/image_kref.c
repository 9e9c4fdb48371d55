/* summary: queue_submit() drops the reference it was handed also when the queue is full; prefetch() then drops it a second time
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: clang-14 -O2 -g
 * exit: 0
 * source: bug class "callee consumes the reference on failure too, caller puts again"
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

struct kref {
  int refcount;
};

static inline void kref_init(struct kref *k) { k->refcount = 1; }

static inline void kref_get(struct kref *k) { k->refcount++; }

static inline int kref_put(struct kref *k, void (*release)(struct kref *k)) {
  if (--k->refcount == 0) {
    release(k);
    return 1;
  }
  return 0;
}

/* A decoded picture. */
struct image {
  char name[32];
  unsigned w, h;
  struct kref ref;
  unsigned long hits;
  unsigned char *pixels;
};

#define NIMAGES 30
#define QUEUE_LEN 8

struct queue {
  struct image *slot[QUEUE_LEN];
  unsigned head, count;
};

struct viewer {
  struct image *shown;
  unsigned long painted;
};

static struct image *catalogue[NIMAGES];
static int live;
static unsigned dropped;

static inline struct image *image_new(const char *name, unsigned w, unsigned h) {
  struct image *img = calloc(1, sizeof *img);
  if (!img)
    abort();
  kref_init(&img->ref);
  snprintf(img->name, sizeof img->name, "%s", name);
  img->w = w;
  img->h = h;
  img->pixels = calloc(w, h);
  live++;
  return img;
}

static inline void image_release(struct kref *k) {
  struct image *img = container_of(k, struct image, ref);
  free(img->pixels);
  live--;
  explicit_bzero(img, sizeof *img); /* pictures may be private */
  free(img);
}

static inline struct image *image_get(struct image *img) {
  kref_get(&img->ref);
  return img;
}

static inline int image_put(struct image *img) { return kref_put(&img->ref, image_release); }

static struct image *catalogue_find(const char *name) {
  for (unsigned i = 0; i < NIMAGES; i++)
    if (catalogue[i] && strcmp(catalogue[i]->name, name) == 0)
      return image_get(catalogue[i]);
  return NULL;
}

/* Consumes the caller's reference, whether there was room or not. */
static int queue_submit(struct queue *q, struct image *img) {
  if (q->count == QUEUE_LEN) {
    image_put(img);
    return -1;
  }
  q->slot[(q->head + q->count++) % QUEUE_LEN] = img;
  return 0;
}

static struct image *queue_take(struct queue *q) {
  if (!q->count)
    return NULL;
  struct image *img = q->slot[q->head];
  q->head = (q->head + 1) % QUEUE_LEN;
  q->count--;
  return img; /* the reference moves to the caller */
}

static int show(struct queue *q, const char *name) {
  struct image *img = catalogue_find(name);
  if (!img)
    return -1;
  img->hits++;
  if (queue_submit(q, img) < 0) {
    dropped++;
    return -1;
  }
  return 0;
}

static void prefetch(struct queue *q, unsigned first, unsigned n) {
  for (unsigned i = first; i < first + n; i++) {
    struct image *img = image_get(catalogue[i % NIMAGES]);
    if (img->w > 90) { /* too big, not worth it */
      image_put(img);
      continue;
    }
    if (queue_submit(q, img) < 0) {
#ifdef BUG
      image_put(img); /* GUILTY */
#endif
      dropped++;
    }
  }
}

static void paint(struct viewer *v, struct queue *q, unsigned n) {
  struct image *img;
  while (n-- && (img = queue_take(q))) {
    v->painted += (unsigned long)img->w * img->h + img->pixels[0];
    if (v->shown)
      image_put(v->shown);
    v->shown = img;
  }
}

int main(void) {
  static struct queue q;
  struct viewer v = {0};
  char name[32];

  for (unsigned i = 0; i < NIMAGES; i++) {
    snprintf(name, sizeof name, "img-%02u.png", i);
    catalogue[i] = image_new(name, 16 + i * 3, 16);
  }
  for (unsigned round = 0; round < 5; round++) {
    for (unsigned i = 0; i < 6; i++) {
      snprintf(name, sizeof name, "img-%02u.png", round * 5 + i);
      show(&q, name);
    }
    if (round == 1)
      show(&q, "missing.png");
    paint(&v, &q, round == 2 ? 2 : 6);
  }
  paint(&v, &q, 3);
  /* an eager reader: the queue overflows in both ways of submitting */
  for (unsigned i = 0; i < 6; i++)
    show(&q, "img-29.png");
  show(&q, "img-28.png");
  prefetch(&q, 22, 8);
  paint(&v, &q, QUEUE_LEN);
  prefetch(&q, 12, 6);
  paint(&v, &q, QUEUE_LEN);

  for (unsigned i = 0; i < NIMAGES; i++)
    image_put(catalogue[i]);
  if (v.shown)
    image_put(v.shown);
  printf("painted %lu, dropped %u\n", v.painted, dropped);
#ifdef TRUTH
  printf("images alive at the end: %d\n", live);
#endif
  return 0;
}
