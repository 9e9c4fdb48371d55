/* summary: find_by_addr() takes a plain reference to a cache entry that may have died and only waits for the reaper
 * kind: late-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "kref_get where kref_get_unless_zero is needed" of lookups with deferred freeing
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBUCKETS 16
#define NHOSTS 28
#define NPENDING 64

/* One resolved name. A dead entry stays in its chain until the next call of reap(), lookups must skip it. */
struct entry {
  char name[24];
  unsigned addr;
  unsigned refs;
  unsigned expires;
  struct entry *next;
  struct entry *next_dead;
};

struct query {
  struct entry *answer;
  unsigned due;
};

static struct entry *buckets[NBUCKETS];
static struct entry *dead;
static struct query pending[NPENDING];
static unsigned npending, now;
static unsigned long answered, missed;
#ifdef TRUTH
static unsigned long revived;
#endif

static inline unsigned hash(const char *s) {
  unsigned h = 5381;
  while (*s)
    h = h * 33 + (unsigned char)*s++;
  return h % NBUCKETS;
}

static inline struct entry *entry_new(const char *name, unsigned addr, unsigned ttl) {
  struct entry *e = calloc(1, sizeof *e);
  if (!e)
    abort();
  snprintf(e->name, sizeof e->name, "%s", name);
  e->addr = addr;
  e->refs = 1;
  e->expires = now + ttl;
  return e;
}

static inline struct entry *entry_get(struct entry *e) {
#ifdef TRUTH
  revived += e->refs == 0;
#endif
  e->refs++;
  return e;
}

static inline bool entry_tryget(struct entry *e) {
  if (e->refs == 0)
    return false;
  e->refs++;
  return true;
}

static inline void entry_put(struct entry *e) {
  if (--e->refs == 0) {
    e->next_dead = dead;
    dead = e;
  }
}

static void insert(struct entry *e) {
  unsigned h = hash(e->name);
  e->next = buckets[h];
  buckets[h] = e; /* the caller's reference now belongs to the table */
}

static struct entry *find_by_name(const char *name) {
  for (struct entry *e = buckets[hash(name)]; e; e = e->next)
    if (strcmp(e->name, name) == 0 && entry_tryget(e))
      return e;
  return NULL;
}

static struct entry *find_by_addr(unsigned addr) {
  for (unsigned b = 0; b < NBUCKETS; b++)
    for (struct entry *e = buckets[b]; e; e = e->next) {
      if (e->addr != addr)
        continue;
#ifdef BUG
      return entry_get(e); /* GUILTY */
#else
      if (entry_tryget(e))
        return e;
#endif
    }
  return NULL;
}

/* The table's reference of every entry past its time; users may keep the entry alive for longer. */
static void expire(void) {
  for (unsigned b = 0; b < NBUCKETS; b++)
    for (struct entry *e = buckets[b]; e; e = e->next)
      if (e->expires && e->expires <= now) {
        e->expires = 0;
        entry_put(e);
      }
}

static void reap(void) {
  while (dead) {
    struct entry *e = dead;
    dead = e->next_dead;
    for (struct entry **p = &buckets[hash(e->name)]; *p; p = &(*p)->next)
      if (*p == e) {
        *p = e->next;
        break;
      }
    explicit_bzero(e, sizeof *e); /* what users look up is private */
    free(e);
  }
}

static void ask(struct entry *e, unsigned delay) {
  if (!e) {
    missed++;
    return;
  }
  if (npending == NPENDING) {
    entry_put(e);
    return;
  }
  pending[npending++] = (struct query){entry_get(e), now + delay}; /* the query's own */
  entry_put(e);
}

static void answer(void) {
  unsigned kept = 0;
  for (unsigned i = 0; i < npending; i++) {
    if (pending[i].due > now) {
      pending[kept++] = pending[i];
      continue;
    }
    answered += pending[i].answer->addr != 0;
    entry_put(pending[i].answer);
  }
  npending = kept;
}

int main(void) {
  char name[24];

  for (unsigned i = 0; i < NHOSTS; i++) {
    snprintf(name, sizeof name, "host%u.lan", i);
    struct entry *e = entry_new(name, 0x0a000001 + i, 3 + i % 7);
    insert(e);
  }
  for (now = 1; now < 14; now++) {
    for (unsigned i = 0; i < 4; i++) {
      snprintf(name, sizeof name, "host%u.lan", (now * 5 + i * 3) % NHOSTS);
      ask(find_by_name(name), 1 + i % 2);
      if (now < 4) {
        struct entry *e = find_by_addr(0x0a000001 + (now * 7 + i) % NHOSTS);
        ask(e, 2);
      }
    }
    expire();
    if (now == 9) { /* hosts 6, 13, 20 and 27 have just run out, a query still holds 20 */
      ask(find_by_addr(0x0a000001 + 13), 3);
      ask(find_by_addr(0x0a000001 + 27), 2);
      ask(find_by_addr(0x0a000001 + 20), 2);
      ask(find_by_name("host6.lan"), 1);
      ask(find_by_addr(0x0a000001 + 99), 1);
    }
    reap();
    answer();
  }
  for (; npending; now++)
    answer();
  reap();
  printf("answered %lu, missed %lu\n", answered, missed);
#ifdef TRUTH
  printf("dead entries revived: %lu\n", revived);
#endif
  return 0;
}
