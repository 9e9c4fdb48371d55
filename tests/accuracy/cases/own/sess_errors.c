/* summary: deliver() has four ways out on error; the one for a full mailbox does not give the reference to the recipient back
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: own
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "error path forgets the put after a lookup", common in network daemons
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBUCKETS 16
#define NSESSIONS 32
#define NMAIL 48

enum { S_OPEN = 1, S_MUTED = 2, S_CLOSED = 4 };

/* One logged-in user. The table owns one reference, each undelivered mail owns one to its sender. */
struct session {
  struct session *next;
  unsigned id;
  unsigned refs;
  unsigned flags;
  unsigned used, quota;
  char user[24];
};

struct mail {
  struct session *from;
  unsigned to, len;
};

struct outbox {
  struct mail mail[NMAIL];
  unsigned n;
};

static struct session *table[NBUCKETS];
static unsigned live;
static unsigned long delivered, bounced, retried;

static inline struct session *session_new(unsigned id, unsigned quota) {
  struct session *s = calloc(1, sizeof *s);
  if (!s)
    abort();
  s->id = id;
  s->refs = 1;
  s->flags = S_OPEN;
  s->quota = quota;
  snprintf(s->user, sizeof s->user, "user%u", id);
  live++;
  return s;
}

static inline struct session *session_get(struct session *s) {
  s->refs++;
  return s;
}

static inline void session_put(struct session *s) {
  if (--s->refs == 0) {
    live--;
    free(s);
  }
}

static void table_add(struct session *s) {
  struct session **b = &table[s->id % NBUCKETS];
  s->next = *b;
  *b = s;
}

/* Returns a reference that the caller has to give back. */
static struct session *table_find(unsigned id) {
  for (struct session *s = table[id % NBUCKETS]; s; s = s->next)
    if (s->id == id)
      return session_get(s);
  return NULL;
}

static void table_remove(unsigned id) {
  for (struct session **p = &table[id % NBUCKETS]; *p; p = &(*p)->next)
    if ((*p)->id == id) {
      struct session *s = *p;
      *p = s->next;
      s->flags = S_CLOSED;
      session_put(s);
      return;
    }
}

/* Takes over the caller's reference to the sender, also when the outbox is full. */
static int outbox_push(struct outbox *o, struct session *from, unsigned to, unsigned len) {
  if (o->n == NMAIL) {
    session_put(from);
    return -ENOBUFS;
  }
  o->mail[o->n++] = (struct mail){from, to, len};
  return 0;
}

static int compose(struct outbox *o, unsigned from, unsigned to, unsigned len) {
  struct session *s = table_find(from);
  if (!s)
    return -ENOENT;
  if (s->flags & S_MUTED) {
    session_put(s);
    return -EPERM;
  }
  return outbox_push(o, s, to, len);
}

static int deliver(const struct mail *m) {
  struct session *to = table_find(m->to); /* ACCEPTED */
  if (!to)
    return -ENOENT;
  if (to == m->from) {
    session_put(to);
    return -ELOOP;
  }
  if (to->flags & S_MUTED) {
    session_put(to);
    return -EPERM;
  }
  if (to->used + m->len > to->quota) {
    to->flags |= S_MUTED;
#ifndef BUG
    session_put(to);
#endif
    return -EDQUOT; /* GUILTY */
  }
  to->used += m->len;
  if (m->from->flags & S_CLOSED)
    retried++;
  session_put(to);
  return 0;
}

static void outbox_flush(struct outbox *o) {
  for (unsigned i = 0; i < o->n; i++) {
    if (deliver(&o->mail[i]) == 0)
      delivered++;
    else
      bounced++;
    session_put(o->mail[i].from);
  }
  o->n = 0;
}

int main(void) {
  static struct outbox box;
  unsigned rnd = 12345;

  for (unsigned i = 0; i < NSESSIONS; i++)
    table_add(session_new(100 + i, i % 10 == 7 ? 160 : 100000));
  for (unsigned round = 0; round < 6; round++) {
    for (unsigned i = 0; i < 40; i++) {
      rnd = rnd * 1103515245u + 12345u;
      unsigned from = 100 + (rnd >> 16) % NSESSIONS, to = 100 + (rnd >> 8) % (NSESSIONS + 2);
      compose(&box, from, to, 50 + (rnd >> 20) % 100);
    }
    if (round == 4) { /* these log out while mail of theirs is still under way */
      table_remove(103);
      table_remove(111);
      table_remove(120);
    }
    outbox_flush(&box);
  }
  for (unsigned i = 0; i < NSESSIONS; i++)
    table_remove(100 + i);
  printf("delivered %lu, bounced %lu, after logout %lu\n", delivered, bounced, retried);
#ifdef TRUTH
  printf("sessions alive at the end: %u\n", live);
#endif
  return 0;
}
