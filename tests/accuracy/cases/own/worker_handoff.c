/* summary: the worker skips a cancelled request with continue and never gives back the reference that came with it
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: own
 * build: gcc -O2 -g
 * libs: -pthread
 * exit: 0
 * source: bug class "cancelled work item leaks in the worker loop"
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NWORKERS 2
#define NREQUESTS 36
#define RING 8

/* A request is shared by the client that waits for it and by the worker that does it. */
struct request {
  unsigned id;
  atomic_bool cancelled;
  atomic_bool done;
  atomic_int refs;
  unsigned long result;
  unsigned char payload[16];
};

struct ring {
  pthread_mutex_t lock;
  pthread_cond_t not_empty, not_full;
  struct request *slot[RING];
  unsigned head, count;
  bool closed;
};

static struct ring ring = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0, 0};
static atomic_int live;
static atomic_uint n_done, n_skipped;

static inline struct request *request_new(unsigned id) {
  struct request *r = calloc(1, sizeof *r);
  if (!r)
    abort();
  r->id = id;
  memset(r->payload, (int)id, sizeof r->payload);
  atomic_init(&r->refs, 1);
  atomic_fetch_add(&live, 1);
  return r;
}

static inline struct request *request_get(struct request *r) {
  atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
  return r;
}

static inline void request_put(struct request *r) {
  if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) {
    atomic_fetch_sub(&live, 1);
    free(r);
  }
}

/* The caller's reference goes into the ring; the worker that takes the request has it from there. */
static bool ring_put(struct ring *q, struct request *r) {
  pthread_mutex_lock(&q->lock);
  while (q->count == RING && !q->closed)
    pthread_cond_wait(&q->not_full, &q->lock);
  if (q->closed) {
    pthread_mutex_unlock(&q->lock);
    request_put(r);
    return false;
  }
  q->slot[(q->head + q->count++) % RING] = r;
  pthread_cond_signal(&q->not_empty);
  pthread_mutex_unlock(&q->lock);
  return true;
}

static struct request *ring_take(struct ring *q) {
  struct request *r = NULL;
  pthread_mutex_lock(&q->lock);
  while (!q->count && !q->closed)
    pthread_cond_wait(&q->not_empty, &q->lock);
  if (q->count) {
    r = q->slot[q->head];
    q->slot[q->head] = NULL;
    q->head = (q->head + 1) % RING;
    q->count--;
    pthread_cond_signal(&q->not_full);
  }
  pthread_mutex_unlock(&q->lock);
  return r;
}

static void ring_close(struct ring *q) {
  pthread_mutex_lock(&q->lock);
  q->closed = true;
  pthread_cond_broadcast(&q->not_empty);
  pthread_cond_broadcast(&q->not_full);
  pthread_mutex_unlock(&q->lock);
}

static void *worker(void *arg) {
  struct ring *q = arg;
  struct request *r;

  while ((r = ring_take(q))) { /* ACCEPTED */
    if (atomic_load(&r->cancelled)) {
      atomic_fetch_add(&n_skipped, 1);
#ifndef BUG
      request_put(r);
#endif
      continue; /* GUILTY */
    }
    if (r->payload[0] % 9 == 4) { /* refused, but answered */
      atomic_store(&r->done, true);
      request_put(r);
      continue;
    }
    for (unsigned i = 0; i < sizeof r->payload; i++)
      r->result = r->result * 31 + r->payload[i];
    atomic_store(&r->done, true);
    atomic_fetch_add(&n_done, 1);
    request_put(r);
  }
  return NULL;
}

/* The client's own references, in the order of the requests. */
static struct request *waiting[NREQUESTS];

static void submit(unsigned i) {
  struct request *r = request_new(i);
  if (i % 12 == 7)
    atomic_store(&r->cancelled, true); /* the client hung up at once */
  if (i % 5 == 3) {
    ring_put(&ring, r); /* nobody waits for this one: the only reference moves */
    return;
  }
  waiting[i] = request_get(r);
  ring_put(&ring, r);
}

int main(void) {
  pthread_t t[NWORKERS];
  unsigned long sum = 0;

  for (unsigned i = 0; i < NWORKERS; i++)
    if (pthread_create(&t[i], NULL, worker, &ring))
      abort();
  for (unsigned i = 0; i < NREQUESTS; i++) {
    submit(i);
    if (i % 6 == 5 && waiting[i - 5]) { /* no longer interested, done or not */
      request_put(waiting[i - 5]);
      waiting[i - 5] = NULL;
    }
  }
  ring_close(&ring);
  for (unsigned i = 0; i < NWORKERS; i++)
    pthread_join(t[i], NULL);
  struct request *late = request_new(999);
  if (!ring_put(&ring, late))
    sum++;
  for (unsigned i = 0; i < NREQUESTS; i++) {
    if (!waiting[i])
      continue;
    if (atomic_load(&waiting[i]->done))
      sum += waiting[i]->result;
    request_put(waiting[i]);
    waiting[i] = NULL;
  }
  printf("done %u, skipped %u, sum %lu\n", n_done, n_skipped, sum);
#ifdef TRUTH
  printf("requests alive at the end: %d\n", live);
#endif
  return 0;
}
