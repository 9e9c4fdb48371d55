/* What `refhist discover` tells of a counted type by its types, where the names or the code alone do not do.
 */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

/* ---- a counter of its own type, which only the functions of one other type use */

struct kref {
  int refcount;
};
static inline void kref_init(struct kref *kref) { kref->refcount = 1; }
static inline void kref_get(struct kref *kref) { __atomic_fetch_add(&kref->refcount, 1, __ATOMIC_RELAXED); }
static inline void kref_put(struct kref *kref, void (*release)(struct kref *)) {
  if (__atomic_sub_fetch(&kref->refcount, 1, __ATOMIC_ACQ_REL) == 0) release(kref);
}

struct flow {
  long key;
  int packets;
  struct kref ref;
};

APART static void flow_release(struct kref *kref) { free((char *)kref - offsetof(struct flow, ref)); }
static inline struct flow *flow_get(struct flow *flow) {
  kref_get(&flow->ref);
  return flow;
}
static inline void flow_put(struct flow *flow) { kref_put(&flow->ref, flow_release); }

/* By its type: no word of the name says what it does. */
APART struct flow *classify(long key) {
  struct flow *flow = malloc(sizeof *flow);
  if (flow == NULL) return NULL;
  flow->key = key;
  kref_init(&flow->ref);
  return flow;
}
/* It returns such an object, and makes none. */
APART struct flow *flow_of(struct flow **table, long key) { return table[key % 4]; }

/* ---- a put that leaves the end to others, and copies whose store the compiler moves away */

struct neigh {
  struct neigh *next;
  int state;
  int users;
};

static struct neigh *unused;
static inline struct neigh *neigh_hold(struct neigh *neigh) {
  assert(neigh->users > 0);
  neigh->users++;
  return neigh;
}
static inline void neigh_release(struct neigh *neigh) {
  assert(neigh->users > 0);
  if (--neigh->users == 0) {
    neigh->next = unused;
    unused = neigh;
  }
}
APART struct neigh *neigh_alloc(void) {
  struct neigh *neigh = calloc(1, sizeof *neigh);
  if (neigh == NULL) abort();
  neigh->users = 1;
  return neigh;
}

/* ---- two objects: what one takes, only the functions of the other take */

struct page {
  int number;
  int refs;
};
APART struct page *page_new(int number) {
  struct page *page = malloc(sizeof *page);
  if (page == NULL) abort();
  page->number = number;
  page->refs = 1;
  return page;
}
APART void page_ref(struct page *page) { page->refs++; }
APART void page_unref(struct page *page) {
  if (--page->refs == 0) free(page);
}

struct view {
  struct page *page;
  long scale;
  int refs;
};
APART struct view *view_new(struct page *page) {
  struct view *view = malloc(sizeof *view);
  if (view == NULL) abort();
  view->page = page;
  view->refs = 1;
  return view;
}
APART struct view *view_ref(struct view *view) {
  view->refs++;
  page_ref(view->page);
  return view;
}
APART void view_unref(struct view *view) {
  page_unref(view->page);
  if (--view->refs == 0) free(view);
}

/* ---- counts something else */

struct gate {
  long owner;
  int open;
};
static inline void gate_hold(struct gate *gate) { gate->open++; }
static inline void gate_release(struct gate *gate) { gate->open--; }

APART int first(struct neigh *neigh, struct flow **flows, struct gate *gate) {
  gate_hold(gate);
  struct flow *flow = flow_get(flow_of(flows, 1));
  neigh_hold(neigh);
  neigh->state = 3;
  neigh_release(neigh);
  const int packets = flow->packets;
  flow_put(flow);
  gate_release(gate);
  return packets;
}
APART int second(struct neigh **neighs, struct flow **flows, struct gate *gate, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++) {
    gate_hold(gate);
    struct neigh *neigh = neigh_hold(neighs[i]);
    sum += neigh->state;
    flow_get(flows[i]);
  }
  for (int i = 0; i < count; i++) {
    neigh_release(neighs[i]);
    flow_put(flows[i]);
    gate_release(gate);
  }
  return sum;
}

int main(void) {
  struct flow *flows[4];
  struct neigh *neighs[4];
  static struct gate gate;
  for (int i = 0; i < 4; i++) {
    flows[i] = classify(i);
    neighs[i] = neigh_alloc();
  }
  const int sum = first(neighs[0], flows, &gate) + second(neighs, flows, &gate, 4);
  for (int i = 0; i < 4; i++) {
    flow_put(flows[i]);
    neigh_release(neighs[i]);
  }
  struct view *view = view_ref(view_new(page_new(1)));
  view_unref(view);
  view_unref(view);
  return sum & 1;
}

/* The put clears the pointer that it is handed, and the maker returns a status. */
struct stream {
  char *data;
  int nrefs;
};

int stream_new(int size, struct stream **made) {
  if (size < 0) return -1;
  *made = calloc(1, sizeof **made);
  (*made)->data = malloc((unsigned)size + 1);
  (*made)->nrefs = 1;
  return 0;
}

struct stream *stream_ref(struct stream *stream) {
  stream->nrefs++;
  return stream;
}

void stream_unref(struct stream **place) {
  struct stream *stream = *place;
  *place = NULL;
  if (stream == NULL || --stream->nrefs != 0) return;
  free(stream->data);
  free(stream);
}
