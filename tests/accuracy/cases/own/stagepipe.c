/* summary: the two ports of a channel hold each other until one is closed; task_kill() drops a task's ports without closing them, so those between two killed tasks stay
 * kind: cycle
 * counts: surplus
 * objects: 12
 * track: own
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * stagepipe - runs pipelines of small tasks on a few threads.
 *
 * Tasks talk through channels.  A channel is a pair of ports, what is posted
 * at one end arrives at the other one in the next round.  Between the rounds
 * the main thread has everything to itself.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NTHREADS 3
#define NPIPES 6
#define NSTAGES 4
#define NTASKS (NPIPES * NSTAGES)
#define QUEUE 16
#define DEADLINE 40

struct reference { atomic_int count; };

/* True if what dst belongs to has to be destroyed. */
static inline bool reference_move(struct reference *dst, struct reference *src)
{
   if (dst == src)
      return false;
   if (src)
      atomic_fetch_add_explicit(&src->count, 1, memory_order_relaxed);
   return dst && atomic_fetch_sub_explicit(&dst->count, 1, memory_order_acq_rel) == 1;
}

struct message { bool last; long value; };

struct port {
   struct reference reference;
   struct port *peer; /* a reference, while the channel is open */
   pthread_mutex_t lock;
   unsigned n_new, n_queued;
   struct message new[QUEUE], queued[QUEUE];
};

enum { IN, OUT, CONTROL, NPORTS };

struct task {
   struct reference reference;
   struct port *port[NPORTS]; /* a reference each */
   void (*turn)(struct task *);
   unsigned pipe, speed;
   long todo, sum;
   bool done;
};

static pthread_mutex_t pairs_lock = PTHREAD_MUTEX_INITIALIZER;

static struct port *port_create(void)
{
   struct port *p = calloc(1, sizeof *p);

   if (!p)
      abort();
   atomic_init(&p->reference.count, 1);
   pthread_mutex_init(&p->lock, NULL);
   return p;
}

static void port_destroy(struct port *p);

static inline void port_reference(struct port **dst, struct port *src)
{
   struct port *old = *dst;

   *dst = src;
   if (reference_move(old ? &old->reference : NULL, src ? &src->reference : NULL))
      port_destroy(old);
}

static void port_destroy(struct port *p)
{
   port_reference(&p->peer, NULL);
   pthread_mutex_destroy(&p->lock);
   free(p);
}

static void channel_create(struct port **a, struct port **b)
{
   *a = port_create();
   *b = port_create();
   port_reference(&(*a)->peer, *b); /* ACCEPTED */
   port_reference(&(*b)->peer, *a); /* ACCEPTED */
}

static void port_close(struct port *p)
{
   struct port *peer = NULL;

   if (!p)
      return;
   pthread_mutex_lock(&pairs_lock);
   port_reference(&peer, p->peer);
   port_reference(&p->peer, NULL);
   if (peer)
      port_reference(&peer->peer, NULL);
   pthread_mutex_unlock(&pairs_lock);
   port_reference(&peer, NULL);
}

static int port_post(struct port *p, struct message m)
{
   struct port *peer = NULL;
   int r = 0;

   pthread_mutex_lock(&pairs_lock);
   port_reference(&peer, p->peer);
   pthread_mutex_unlock(&pairs_lock);
   if (!peer)
      return -EPIPE;
   pthread_mutex_lock(&peer->lock);
   if (peer->n_new < QUEUE)
      peer->new[peer->n_new++] = m;
   else
      r = -EAGAIN;
   pthread_mutex_unlock(&peer->lock);
   port_reference(&peer, NULL);
   return r;
}

/* Between the rounds. */
static void port_flip(struct port *p)
{
   if (!p || p->n_queued)
      return;
   memcpy(p->queued, p->new, p->n_new * sizeof p->new[0]);
   p->n_queued = p->n_new;
   p->n_new = 0;
}

static void port_pop(struct port *p)
{
   memmove(p->queued, p->queued + 1, --p->n_queued * sizeof p->queued[0]);
}

static void source_turn(struct task *t)
{
   for (unsigned i = 0; i < t->speed && !t->done; i++) {
      struct message m = { t->todo == 0, t->todo * 3 % 101 };
      if (port_post(t->port[OUT], m))
         break;
      t->sum += m.value;
      t->done = t->todo-- == 0;
   }
}

static void filter_turn(struct task *t)
{
   struct port *in = t->port[IN];

   for (unsigned i = 0; i < t->speed && in->n_queued && !t->done; i++) {
      struct message m = in->queued[0];
      if (!m.last && m.value % 7 == (long)t->pipe)
         m.value = 0;
      if (port_post(t->port[OUT], m))
         break;
      port_pop(in);
      t->sum += m.value;
      t->done = m.last;
   }
}

static void sink_turn(struct task *t)
{
   struct port *in = t->port[IN];

   for (unsigned i = 0; i < t->speed && in->n_queued && !t->done; i++) {
      t->sum += in->queued[0].value;
      t->done = in->queued[0].last;
      port_pop(in);
   }
   if (t->done)
      port_post(t->port[CONTROL], (struct message){ true, t->sum });
}

static struct task *task_create(void (*turn)(struct task *), unsigned pipe, unsigned speed)
{
   struct task *t = calloc(1, sizeof *t);

   if (!t)
      abort();
   atomic_init(&t->reference.count, 1);
   t->turn = turn;
   t->pipe = pipe;
   t->speed = speed;
   return t;
}

static void task_reference(struct task **dst, struct task *src)
{
   struct task *old = *dst;

   *dst = src;
   if (reference_move(old ? &old->reference : NULL, src ? &src->reference : NULL)) {
      for (int i = 0; i < NPORTS; i++)
         port_reference(&old->port[i], NULL);
      free(old);
   }
}

static void task_finish(struct task *t)
{
   for (int i = 0; i < NPORTS; i++) {
      port_close(t->port[i]);
      port_reference(&t->port[i], NULL);
   }
}

static void task_kill(struct task *t)
{
   t->done = true;
   for (int i = 0; i < NPORTS; i++) {
#ifndef BUG
      port_close(t->port[i]);
#endif
      port_reference(&t->port[i], NULL); /* GUILTY */
   }
}

/* The threads */

static struct task *tasks[NTASKS]; /* a reference each */
static struct port *console[NPIPES];
static atomic_uint next_task;
static pthread_barrier_t begin, end;
static bool stop;

static void *worker(void *arg)
{
   struct task *t = NULL;

   for (;;) {
      pthread_barrier_wait(&begin);
      if (stop)
         return arg;
      for (unsigned i; (i = atomic_fetch_add(&next_task, 1)) < NTASKS;) {
         task_reference(&t, tasks[i]);
         if (t)
            t->turn(t);
      }
      task_reference(&t, NULL);
      pthread_barrier_wait(&end);
   }
}

static void pipe_create(unsigned pipe, unsigned speed, long todo)
{
   struct task **t = &tasks[pipe * NSTAGES];

   for (unsigned i = 0; i < NSTAGES; i++) {
      t[i] = task_create(i == 0 ? source_turn : i == NSTAGES - 1 ? sink_turn : filter_turn, pipe, speed + i % 2);
      if (i)
         channel_create(&t[i - 1]->port[OUT], &t[i]->port[IN]);
   }
   t[0]->todo = todo;
   channel_create(&t[NSTAGES - 1]->port[CONTROL], &console[pipe]);
}

int main(void)
{
   pthread_t thread[NTHREADS];
   unsigned finished = 0, killed = 0;

   for (unsigned i = 0; i < NPIPES; i++)
      pipe_create(i, i % 3 == 2 ? 1 : 4 + i, 60 + 10 * i);
   pthread_barrier_init(&begin, NULL, NTHREADS + 1);
   pthread_barrier_init(&end, NULL, NTHREADS + 1);
   for (unsigned i = 0; i < NTHREADS; i++)
      pthread_create(&thread[i], NULL, worker, NULL);

   for (unsigned round = 0; round <= DEADLINE; round++) {
      for (unsigned i = 0; i < NTASKS; i++)
         for (int p = 0; tasks[i] && p < NPORTS; p++)
            port_flip(tasks[i]->port[p]);
      atomic_store(&next_task, 0);
      pthread_barrier_wait(&begin);
      pthread_barrier_wait(&end);
      for (unsigned i = 0; i < NTASKS; i++) {
         if (!tasks[i] || (!tasks[i]->done && round < DEADLINE))
            continue;
         if (tasks[i]->done) {
            task_finish(tasks[i]);
            finished++;
         } else {
            task_kill(tasks[i]);
            killed++;
         }
         task_reference(&tasks[i], NULL);
      }
   }
   stop = true;
   pthread_barrier_wait(&begin);
   for (unsigned i = 0; i < NTHREADS; i++)
      pthread_join(thread[i], NULL);
   for (unsigned i = 0; i < NPIPES; i++) {
      port_flip(console[i]);
      printf("pipe %u: %ld\n", i, console[i]->n_queued ? console[i]->queued[0].value : -1);
      port_close(console[i]);
      port_reference(&console[i], NULL);
   }
   printf("%u tasks finished, %u killed\n", finished, killed);
   return 0;
}
