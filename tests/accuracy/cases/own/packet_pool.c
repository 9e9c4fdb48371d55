/* summary: reassemble() drops a datagram with a gap and forgets the first fragment, which never comes back to the free list
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: own
 * build: clang-14 -O2 -g
 * exit: 0
 * source: bug class "buffer of a pool not returned on a drop path"
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLAB 8
#define NFLOWS 4
#define NFRAGS 3

/* A received packet. Its memory comes from slabs, dead packets go to the free list and are used again at once. */
struct packet {
  struct packet *next_free;
  unsigned flow, seq;
  unsigned short refs;
  unsigned short len;
  unsigned char data[32];
};

struct slab {
  struct slab *next;
  struct packet p[SLAB];
};

struct flow {
  struct packet *frag[NFRAGS];
  unsigned nfrag;
  struct packet *last; /* for duplicates */
  unsigned long bytes;
};

static struct slab *slabs;
static struct packet *free_list;
static struct flow flows[NFLOWS];
static unsigned in_use;
static unsigned long gaps, duplicates, copies;

static void slab_grow(void) {
  struct slab *s = calloc(1, sizeof *s);
  if (!s)
    abort();
  s->next = slabs;
  slabs = s;
  for (int i = SLAB - 1; i >= 0; i--) {
    s->p[i].next_free = free_list;
    free_list = &s->p[i];
  }
}

static inline struct packet *packet_new(unsigned flow, unsigned seq, unsigned len) {
  if (!free_list)
    slab_grow();
  struct packet *p = free_list;
  free_list = p->next_free;
  p->next_free = NULL;
  p->flow = flow;
  p->seq = seq;
  p->len = (unsigned short)len;
  p->refs = 1;
  memset(p->data, (int)seq, sizeof p->data);
  in_use++;
  return p;
}

static inline struct packet *packet_get(struct packet *p) {
  p->refs++;
  return p;
}

static inline void packet_put(struct packet *p) {
  if (--p->refs == 0) {
    p->next_free = free_list;
    free_list = p;
    in_use--;
  }
}

static void tap(struct packet *p, struct packet **copy) {
  if (*copy)
    packet_put(*copy);
  *copy = packet_get(p);
  copies++;
}

static bool duplicate(struct flow *f, struct packet *p) {
  if (f->last && f->last->seq == p->seq)
    return true;
  if (f->last)
    packet_put(f->last);
  f->last = packet_get(p);
  return false;
}

/* All fragments of the datagram are there: joins them or drops them. Either way the flow's references end here. */
static bool reassemble(struct flow *f) {
  struct packet *first = f->frag[0]; /* ACCEPTED */
  unsigned n = f->nfrag;
  f->nfrag = 0;
  for (unsigned i = 1; i < n; i++) {
    if (f->frag[i]->seq != first->seq + i) {
      gaps++;
      for (unsigned k = 1; k < n; k++)
        packet_put(f->frag[k]);
#ifndef BUG
      packet_put(first);
#endif
      return false; /* GUILTY */
    }
  }
  for (unsigned i = 0; i < n; i++)
    f->bytes += f->frag[i]->len;
  while (n--)
    packet_put(f->frag[n]);
  return true;
}

/* Takes over the reference of the caller. */
static bool receive(struct packet *p) {
  struct flow *f = &flows[p->flow];
  if (duplicate(f, p)) {
    duplicates++;
    packet_put(p);
    return false;
  }
  if (p->len > sizeof p->data) {
    packet_put(p);
    return false;
  }
  f->frag[f->nfrag++] = p;
  return f->nfrag == NFRAGS && reassemble(f);
}

int main(void) {
  struct packet *copy = NULL;
  unsigned seq[NFLOWS] = {100, 200, 300, 400};
  unsigned joined = 0;

  for (unsigned i = 0; i < 90; i++) {
    unsigned n = (i * 3 + i / 7) % NFLOWS;
    if (i == 31 || i == 62)
      seq[n]++; /* one got lost */
    struct packet *p = packet_new(n, seq[n], i % 29 == 28 ? 40 : 8 + i % 20);
    if (i % 6 == 0)
      tap(p, &copy);
    joined += receive(p);
    if (i % 13 != 12)
      seq[n]++;
  }
  for (unsigned i = 0; i < NFLOWS; i++) {
    struct flow *f = &flows[i];
    while (f->nfrag)
      packet_put(f->frag[--f->nfrag]);
    if (f->last)
      packet_put(f->last);
    joined += f->bytes == 0;
  }
  packet_put(copy);
  printf("%u joined, %lu gaps, %lu duplicates, %lu copies\n", joined, gaps, duplicates, copies);
#ifdef TRUTH
  printf("packets in use at the end: %u\n", in_use);
#endif
  while (slabs) {
    struct slab *s = slabs;
    slabs = s->next;
    free(s);
  }
  return 0;
}
