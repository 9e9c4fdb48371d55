/* summary: cancel_user() leaves the hand-over-hand iteration of the jobs with a break and keeps the reference of the current job
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: own
 * build: clang-14 -O3 -g
 * exit: 0
 * source: bug class "for_each_child loop left early without node_put"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NPRINTERS 4
#define NJOBS 40

enum { J_WAITING, J_HELD, J_PRINTING, J_CANCELLED, J_DONE };

struct job {
  struct job *next;
  int id;
  int refs;
  int state;
  int user;
  int pages;
};

/* The list owns one reference to each of its jobs. */
struct printer {
  struct job *first, **last;
  struct job *current;
  long printed;
};

static struct printer printers[NPRINTERS];
static int live;

static inline struct job *job_new(int id, int user, int pages) {
  struct job *j = malloc(sizeof *j);
  if (!j)
    abort();
  *j = (struct job){.id = id, .refs = 1, .user = user, .pages = pages};
  live++;
  return j;
}

static inline struct job *job_get(struct job *j) {
  if (j)
    j->refs++;
  return j;
}

static inline void job_put(struct job *j) {
  if (j && --j->refs == 0) {
    live--;
    free(j);
  }
}

/* Iteration: a step takes the next job and gives the one before back. */
static inline struct job *job_step(struct printer *p, struct job *prev) {
  struct job *j = job_get(prev ? prev->next : p->first);
  job_put(prev);
  return j;
}

#define for_each_job(p, j) for (j = job_step(p, NULL); j; j = job_step(p, j))

static void enqueue(struct printer *p, struct job *j) {
  *p->last = job_get(j);
  p->last = &j->next;
}

static void unlink_job(struct printer *p, struct job *j) {
  struct job **q = &p->first;
  while (*q && *q != j)
    q = &(*q)->next;
  if (!*q)
    return;
  *q = j->next;
  if (p->last == &j->next)
    p->last = q;
  j->next = NULL;
  job_put(j);
}

static struct job *find_job(struct printer *p, int id) {
  struct job *j;
  for_each_job(p, j) {
    if (j->id == id)
      return j; /* with the loop's reference */
  }
  return NULL;
}

static int hold(struct printer *p, int id) {
  struct job *j = find_job(p, id);
  int r = -1;
  if (j && j->state == J_WAITING) {
    j->state = J_HELD;
    r = 0;
  }
  job_put(j);
  return r;
}

static int pages_before(struct printer *p, int id) {
  struct job *j;
  int n = 0;
  for_each_job(p, j) {
    if (j->id == id) {
      job_put(j);
      break;
    }
    if (j->state == J_HELD)
      continue;
    n += j->pages;
  }
  return n;
}

static int cancel_user(struct printer *p, int user) {
  struct job *j;
  int found = 0;
  for_each_job(p, j) { /* ACCEPTED */
    if (j->user != user)
      continue;
    if (j == p->current) {
      j->state = J_CANCELLED;
      found = 1;
      continue;
    }
    if (j->state == J_WAITING) { /* one at a time, the list changes */
      j->state = J_CANCELLED;
      unlink_job(p, j);
      found = 1;
#ifndef BUG
      job_put(j);
#endif
      break; /* GUILTY */
    }
  }
  return found;
}

static void print_one(struct printer *p) {
  struct job *j;
  for_each_job(p, j) {
    if (j->state == J_HELD)
      continue;
    p->current = j; /* takes over the loop's reference */
    break;
  }
  if (!p->current)
    return;
  p->current->state = J_PRINTING;
  p->printed += p->current->pages;
  unlink_job(p, p->current);
  p->current->state = J_DONE;
  job_put(p->current);
  p->current = NULL;
}

int main(void) {
  long total = 0;
  int before = 0, cancelled = 0;

  for (int i = 0; i < NPRINTERS; i++)
    printers[i].last = &printers[i].first;
  for (int i = 0; i < NJOBS; i++) {
    struct job *j = job_new(i, i % 7, 1 + i % 5);
    enqueue(&printers[i % NPRINTERS], j);
    job_put(j);
  }
  for (int i = 0; i < NPRINTERS; i++)
    print_one(&printers[i]);
  hold(&printers[1], 9);
  hold(&printers[2], 14);
  hold(&printers[2], 99);
  for (int i = 0; i < NPRINTERS; i++)
    before += pages_before(&printers[i], 20 + i) + pages_before(&printers[i], 77);
  cancelled += cancel_user(&printers[0], 5); /* 12 */
  cancelled += cancel_user(&printers[3], 6); /* 27 */
  cancelled += cancel_user(&printers[2], 3); /* 10 */
  cancelled += cancel_user(&printers[2], 11);
  for (int i = 0; i < NPRINTERS; i++) {
    struct job *j;
    for_each_job(&printers[i], j) { j->state = J_WAITING; }
    while (printers[i].first)
      print_one(&printers[i]);
    total += printers[i].printed;
  }
  printf("printed %ld pages, %d before, %d cancelled\n", total, before, cancelled);
#ifdef TRUTH
  printf("jobs alive at the end: %d\n", live);
#endif
  return 0;
}
