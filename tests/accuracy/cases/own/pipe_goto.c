/* summary: chain_build() gives the converter back by hand before it jumps to a label that gives it back as well
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: own
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "double put in the unwinding of a goto chain"
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { E_SOURCE, E_CONVERT, E_SINK };

#define NELEMENTS 24
#define NCHAINS 40

/* A processing element. The board owns one reference to each, chains that use it own one more. */
struct element {
  unsigned id;
  unsigned rate;
  unsigned short gain;
  unsigned refs : 24;
  unsigned kind : 8;
  unsigned long frames;
};

struct chain {
  struct element *source, *convert, *sink;
  unsigned rate;
};

static struct element *board[NELEMENTS];
static unsigned live;
static unsigned n_built, n_failed[4];

static inline struct element *element_new(unsigned id, unsigned kind, unsigned rate) {
  struct element *e = calloc(1, sizeof *e);
  if (!e)
    abort();
  e->id = id;
  e->kind = kind;
  e->rate = rate;
  e->refs = 1;
  e->gain = 1;
  live++;
  return e;
}

static inline struct element *element_get(struct element *e) {
  e->refs++;
  return e;
}

static inline void element_put(struct element *e) {
  if (--e->refs == 0) {
    live--;
    explicit_bzero(e, sizeof *e);
    free(e);
  }
}

/* Returns a reference. */
static struct element *board_request(unsigned kind, unsigned id) {
  for (unsigned i = 0; i < NELEMENTS; i++)
    if (board[i]->id == id && board[i]->kind == kind)
      return element_get(board[i]);
  return NULL;
}

static int negotiate(struct chain *c) {
  if (c->source->rate > c->convert->rate)
    return -EINVAL;
  c->rate = c->convert->rate;
  return 0;
}

static int link_sink(struct chain *c) {
  if (c->sink->rate < c->rate)
    return -ERANGE;
  c->sink->gain = c->source->gain;
  return 0;
}

static struct chain *chain_build(unsigned source, unsigned convert, unsigned sink) {
  struct chain *c = calloc(1, sizeof *c);
  if (!c)
    return NULL;
  c->source = board_request(E_SOURCE, source);
  if (!c->source) {
    n_failed[0]++;
    goto err_free;
  }
  c->convert = board_request(E_CONVERT, convert);
  if (!c->convert) {
    n_failed[1]++;
    goto err_source;
  }
  if (negotiate(c) < 0) {
    n_failed[2]++;
    goto err_convert;
  }
  c->sink = board_request(E_SINK, sink);
  if (!c->sink) {
    n_failed[3]++;
#ifdef BUG
    element_put(c->convert); /* GUILTY */
#endif
    goto err_convert; /* ACCEPTED */
  }
  if (link_sink(c) < 0)
    goto err_sink;
  n_built++;
  return c;

err_sink:
  element_put(c->sink);
err_convert:
  element_put(c->convert);
err_source:
  element_put(c->source);
err_free:
  free(c);
  return NULL;
}

static void chain_free(struct chain *c) {
  element_put(c->source);
  element_put(c->convert);
  element_put(c->sink);
  free(c);
}

static void chain_run(struct chain *c, unsigned frames) {
  struct element *e = element_get(c->source); /* may be exchanged under way */
  e->frames += frames;
  c->convert->frames += frames * c->rate;
  c->sink->frames += frames * c->sink->gain;
  element_put(e);
}

static int chain_swap_source(struct chain *c, unsigned id) {
  struct element *e = board_request(E_SOURCE, id);
  if (!e)
    return -ENOENT;
  if (e->rate > c->rate) {
    element_put(e);
    return -EINVAL;
  }
  element_put(c->source);
  c->source = e;
  return 0;
}

int main(void) {
  static struct chain *chains[NCHAINS];
  unsigned long frames = 0;
  int swapped = 0;

  for (unsigned i = 0; i < NELEMENTS; i++)
    board[i] = element_new(i / 3, i % 3, 8 + (i * 5) % 12 + (i % 3) * 7);
  for (unsigned i = 0; i < NCHAINS; i++) {
    unsigned sink = i * 5 % 8;
    if (i == 32)
      sink = 8; /* there is none */
    chains[i] = chain_build(i % 9, i * 3 % 10, sink);
    if (!chains[i])
      continue;
    chain_run(chains[i], 10 + i);
    if (i % 4 == 2)
      swapped += chain_swap_source(chains[i], i % 7 + 2) == 0;
    if (i % 3 == 0) {
      chain_free(chains[i]);
      chains[i] = NULL;
    }
  }
  for (unsigned i = 0; i < NCHAINS; i++)
    if (chains[i])
      chain_free(chains[i]);
  for (unsigned i = 0; i < NELEMENTS; i++) {
    frames += board[i]->frames;
    element_put(board[i]);
  }
  printf("%u chains, failed %u/%u/%u/%u, %d swapped, %s\n", n_built, n_failed[0], n_failed[1], n_failed[2], n_failed[3],
         swapped, frames ? "done" : "idle");
#ifdef TRUTH
  printf("elements alive at the end: %u\n", live);
#endif
  return 0;
}
