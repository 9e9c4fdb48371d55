/* summary: a worker that gives a job up after its last try forgets to take it out of the table of running jobs
 * kind: held
 * counts: surplus
 * objects: 3
 * track: GObject GAsyncQueue
 * packages: gobject-2.0
 * libs: -pthread
 * build: gcc -O2 -g
 * exit: 0
 */
/* A job server: workers take jobs from a queue; what runs is in a table, what ended goes to the collector. */
#include <glib-object.h>
#include <stdio.h>

#define JOB_TYPE (job_get_type())
G_DECLARE_FINAL_TYPE(Job, job, SRV, JOB, GObject)

struct _Job {
  GObject parent_instance;
  int id;
  int cost;
  int tries;
  int result;
};

G_DEFINE_TYPE(Job, job, G_TYPE_OBJECT)

static int jobs_alive; /* atomic */

static void job_finalize(GObject *object) {
  g_atomic_int_add(&jobs_alive, -1);
  G_OBJECT_CLASS(job_parent_class)->finalize(object);
}

static void job_class_init(JobClass *klass) { G_OBJECT_CLASS(klass)->finalize = job_finalize; }

static void job_init(Job *self) { g_atomic_int_inc(&jobs_alive); }

static Job *job_new(int id) {
  Job *j = g_object_new(JOB_TYPE, NULL);
  j->id = id;
  j->cost = 1 + id * 5 % 7;
  return j;
}

#define N_WORKERS 3
#define MAX_TRIES 3
#define N_RECENT 4

struct server {
  GAsyncQueue *todo; /* of Job; a Job with id -1 ends a worker */
  GAsyncQueue *done; /* of Job */
  GMutex lock;
  GHashTable *running; /* id -> Job, owned */
  int failed, gone;
};

/* The server lives as long as the program, and so do the newest results. */
static struct server srv;
static Job *recent[N_RECENT];

static void running_add(Job *j) {
  g_mutex_lock(&srv.lock);
  g_hash_table_insert(srv.running, GINT_TO_POINTER(j->id), g_object_ref(j));
  g_mutex_unlock(&srv.lock);
}

static void running_remove(Job *j) {
  g_mutex_lock(&srv.lock);
  g_hash_table_remove(srv.running, GINT_TO_POINTER(j->id));
  g_mutex_unlock(&srv.lock);
}

/* Returns a new reference or NULL. */
static Job *running_find(int id) {
  g_mutex_lock(&srv.lock);
  Job *j = g_hash_table_lookup(srv.running, GINT_TO_POINTER(id));
  if (j)
    g_object_ref(j);
  g_mutex_unlock(&srv.lock);
  return j;
}

/* One try. Some jobs need two tries, a few never work. */
static gboolean job_try(Job *j) {
  j->tries++;
  if (j->id % 12 == 5)
    return FALSE;
  if (j->id % 5 == 2 && j->tries < 2)
    return FALSE;
  for (int i = 0; i < j->cost * 100; i++)
    j->result = (j->result * 31 + j->id + i) % 1000;
  j->result++;
  return TRUE;
}

static gpointer worker(gpointer data) {
  GAsyncQueue *todo = g_async_queue_ref(srv.todo);
  int handled = 0;

  for (;;) {
    Job *j = g_async_queue_pop(todo);
    Job *same;

    if (j->id < 0) {
      g_object_unref(j);
      break;
    }
    if (j->cost == 1) {
      /* not worth it: the collector shall have it as it is */
      g_async_queue_push(srv.done, j);
      continue;
    }
    running_add(j); /* ACCEPTED */
    while (!job_try(j) && j->tries < MAX_TRIES)
      ;
    handled++;
    if (j->result == 0) {
      g_mutex_lock(&srv.lock);
      srv.failed++;
      g_mutex_unlock(&srv.lock);
#ifndef BUG
      running_remove(j);
#endif
      /* the collector has our reference now */
      g_async_queue_push(srv.done, j); /* ACCEPTED */
      continue;                        /* GUILTY */
    }
    same = running_find(j->id);
    if (same) {
      j->result += same->tries;
      g_object_unref(same);
    }
    running_remove(j);
    g_async_queue_push(srv.done, j);
  }
  g_async_queue_unref(todo);
  return GINT_TO_POINTER(handled);
}

/* Takes n ended jobs; the newest of each remainder is kept. */
static long collect(int n) {
  long sum = 0;
  while (n-- > 0) {
    Job *j = g_async_queue_pop(srv.done);
    int slot = j->id % N_RECENT;
    sum += j->result;
    if (!recent[slot] || recent[slot]->id < j->id) {
      g_clear_object(&recent[slot]);
      recent[slot] = g_object_ref(j);
    }
    g_object_unref(j);
  }
  return sum;
}

int main(void) {
  GThread *threads[N_WORKERS];
  long sum = 0;
  int handled = 0;

  srv.todo = g_async_queue_new_full(g_object_unref);
  srv.done = g_async_queue_new_full(g_object_unref);
  srv.running = g_hash_table_new_full(NULL, NULL, NULL, g_object_unref);
  g_mutex_init(&srv.lock);
  for (int i = 0; i < N_WORKERS; i++)
    threads[i] = g_thread_new("worker", worker, NULL);
  for (int i = 0; i < 40; i++) {
    Job *j = job_new(i);
    if (i % 10 == 9) {
      /* somebody else watches this one for a while */
      g_async_queue_push(srv.todo, g_object_ref(j));
      sum += j->cost;
      g_object_unref(j);
    } else {
      g_async_queue_push(srv.todo, j);
    }
  }
  sum += collect(30);
  for (int i = 0; i < N_WORKERS; i++)
    g_async_queue_push(srv.todo, job_new(-1));
  for (int i = 0; i < N_WORKERS; i++)
    handled += GPOINTER_TO_INT(g_thread_join(threads[i]));
  sum += collect(8);
  /* the last ones nobody wants; the queues drop what is in them */
  g_async_queue_unref(srv.done);
  g_async_queue_unref(srv.todo);
#ifdef TRUTH
  printf("%d jobs alive\n", g_atomic_int_get(&jobs_alive));
#endif
  printf("%d handled, %d failed\n", handled, srv.failed);
  return sum > 0 ? 0 : 1;
}
