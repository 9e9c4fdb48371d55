/* summary: trace_message() gives a route back that it had only borrowed from route_peek()
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: clang-14 -O2 -flto -g
 * exit: 0
 * source: bug class "put of a borrowed lookup result"
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NROUTES 26
#define NINFLIGHT 32

/* The two low bits of rf are flags, the rest counts the references. */
#define ROUTE_STATIC 1u
#define ROUTE_STALE 2u
#define ROUTE_ONE 4u

struct route {
  char prefix[16];
  unsigned metric;
  unsigned port;
  unsigned rf;
  unsigned long bytes;
};

struct message {
  char to[24];
  unsigned len;
  struct route *via;
};

static struct route *routes[NROUTES + 4];
static unsigned nroutes;
static struct message inflight[NINFLIGHT];
static unsigned ninflight;
static unsigned live, traced;
static unsigned long sent, unroutable;

static inline struct route *route_new(const char *prefix, unsigned port, unsigned flags) {
  struct route *r = calloc(1, sizeof *r);
  if (!r)
    abort();
  snprintf(r->prefix, sizeof r->prefix, "%s", prefix);
  r->port = port;
  r->rf = ROUTE_ONE | flags;
  live++;
  return r;
}

static inline struct route *route_get(struct route *r) {
  r->rf += ROUTE_ONE;
  return r;
}

static inline void route_put(struct route *r) {
  r->rf -= ROUTE_ONE;
  if (r->rf < ROUTE_ONE) {
    live--;
    explicit_bzero(r, sizeof *r);
    free(r);
  }
}

/* The longest prefix wins. The route belongs to the table, use it at once. */
static struct route *route_peek(const char *to) {
  struct route *best = NULL;
  size_t len = 0;
  for (unsigned i = 0; i < nroutes; i++) {
    size_t n = strlen(routes[i]->prefix);
    if (n > len && strncmp(routes[i]->prefix, to, n) == 0) {
      best = routes[i];
      len = n;
    }
  }
  return best;
}

/* The same, but for keeping: the caller gives the route back. */
static struct route *route_lookup(const char *to) {
  struct route *r = route_peek(to);
  return r ? route_get(r) : NULL;
}

static int route_add(const char *prefix, unsigned port, unsigned flags) {
  struct route *r = route_new(prefix, port, flags);
  if (nroutes == sizeof routes / sizeof routes[0]) {
    route_put(r);
    return -1;
  }
  routes[nroutes++] = r;
  return 0;
}

static void route_del(unsigned i) {
  struct route *r = routes[i];
  routes[i] = routes[--nroutes];
  r->rf |= ROUTE_STALE;
  route_put(r);
}

static unsigned cost(const char *to, unsigned len) {
  struct route *r = route_peek(to);
  if (!r)
    return ~0u;
  return (r->rf & ROUTE_STATIC) ? len : len * 2 + r->metric;
}

static int send_message(const char *to, unsigned len) {
  struct route *r = route_lookup(to);
  if (!r) {
    unroutable++;
    return -1;
  }
  if (len > 900 && !(r->rf & ROUTE_STATIC)) { /* too long for this way */
    route_put(r);
    return -1;
  }
  if (ninflight == NINFLIGHT) {
    route_put(r);
    return -1;
  }
  struct message *m = &inflight[ninflight++];
  snprintf(m->to, sizeof m->to, "%s", to);
  m->len = len;
  m->via = r;
  return 0;
}

static void complete(unsigned keep) {
  while (ninflight > keep) {
    struct message *m = &inflight[--ninflight];
    m->via->bytes += m->len;
    sent += m->len;
    if (m->via->rf & ROUTE_STALE)
      traced++;
    route_put(m->via);
    m->via = NULL;
  }
}

static void trace_message(const char *to, unsigned len) {
  struct route *r = route_peek(to);
  if (!r)
    return;
  traced += len > 400 ? r->port : 1;
#ifdef BUG
  route_put(r); /* GUILTY */
#endif
}

int main(void) {
  char name[24];
  unsigned total = 0;

  for (unsigned i = 0; i < NROUTES; i++) {
    snprintf(name, sizeof name, "/%c/", 'a' + i);
    route_add(name, 10 + i, i % 3 ? 0 : ROUTE_STATIC);
  }
  route_add("/a/x/", 77, 0);
  for (unsigned round = 0; round < 4; round++) {
    for (unsigned i = 0; i < 18; i++) {
      snprintf(name, sizeof name, "/%c/%c/%u", 'a' + (round * 7 + i * 5) % NROUTES, i & 1 ? 'x' : 'y', i);
      total += cost(name, 10);
      send_message(name, 300 + (i * 97 + round * 41) % 700);
    }
    if (round == 2)
      send_message("nowhere", 10);
    complete(5);
  }
  send_message("/c/last", 20);
  send_message("/a/x/last", 20);
  route_del(2); /* one that is in use: lives until its messages are through */
  trace_message("/a/x/1", 500);
  trace_message("/q/1", 100);
  trace_message("/none", 100);
  complete(0);
  while (nroutes)
    route_del(nroutes - 1);
  printf("sent %lu bytes, cost %u, %lu unroutable, %u traced\n", sent, total, unroutable, traced);
#ifdef TRUTH
  printf("routes alive at the end: %u\n", live);
#endif
  return 0;
}
