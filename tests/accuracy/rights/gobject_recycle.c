/* summary: GObjects whose dispose resurrects them into a pool queue (last unref does not finalize), toggle reference, floating children sunk by the parent, borrowed results, weak pointers, refs moved through a GAsyncQueue to 3 threads, one default singleton alive at exit with count 1
 * track: glib
 * build: gcc -O1 -g gobject_recycle.c -o OUT $(pkg-config --cflags --libs gobject-2.0)
 */
/* A pool of GObjects.  The last g_object_unref() of a Job does not finalize
 * it: its dispose() takes a new reference and puts the object back on the
 * pool's free queue (GStreamer's GstBufferPool and clutter's actors do so).
 * A language-binding like "wrapper" holds every Job by a toggle reference.
 * Workers get the jobs through a GAsyncQueue, so that the thread which puts
 * is never the one that got.  A default singleton lives until the end.      */
#include <glib-object.h>
#include <string.h>

typedef struct _Pool Pool;

typedef struct {
  GObject parent;
  Pool *pool;                   /* not counted: the pool outlives its jobs */
  guint serial, recycled;
} Job;
typedef struct { GObjectClass parent; } JobClass;

typedef struct {
  GInitiallyUnowned parent;
  GList *kids;
} Node;
typedef struct { GInitiallyUnownedClass parent; } NodeClass;

struct _Pool {
  GMutex lock;
  GQueue idle;
  gboolean flushing;
  guint made, finalized, returned;
};

G_DEFINE_TYPE (Job, job, G_TYPE_OBJECT)
G_DEFINE_TYPE (Node, node, G_TYPE_INITIALLY_UNOWNED)

static guint toggles_up, toggles_down;

static void
job_dispose (GObject *o)
{
  Job *j = (Job *) o;
  Pool *p = j->pool;
  gboolean keep = FALSE;

  if (p) {
    g_mutex_lock (&p->lock);
    if (!p->flushing) {
      g_object_ref (o);                 /* resurrect: owned by p->idle */
      j->recycled++;
      p->returned++;
      g_queue_push_tail (&p->idle, j);
      keep = TRUE;
    }
    g_mutex_unlock (&p->lock);
  }
  if (!keep)
    G_OBJECT_CLASS (job_parent_class)->dispose (o);
}

static void
job_finalize (GObject *o)
{
  Job *j = (Job *) o;
  g_atomic_int_inc (&j->pool->finalized);
  G_OBJECT_CLASS (job_parent_class)->finalize (o);
}

static void job_init (Job *j) { (void) j; }
static void
job_class_init (JobClass *k)
{
  G_OBJECT_CLASS (k)->dispose = job_dispose;
  G_OBJECT_CLASS (k)->finalize = job_finalize;
}

static Job *
pool_acquire (Pool *p)
{
  Job *j;
  g_mutex_lock (&p->lock);
  j = g_queue_pop_head (&p->idle);      /* the queue's reference becomes ours */
  g_mutex_unlock (&p->lock);
  if (!j) {
    j = g_object_new (job_get_type (), NULL);
    j->pool = p;
    j->serial = ++p->made;
  }
  return j;
}

/* Only the flags: jobs come back as they go out. */
static void
pool_clear (Pool *p)
{
  GQueue all;
  g_mutex_lock (&p->lock);
  p->flushing = TRUE;
  all = p->idle;
  g_queue_init (&p->idle);
  g_mutex_unlock (&p->lock);
  g_queue_foreach (&all, (GFunc) g_object_unref, NULL);
  g_queue_clear (&all);
}

/* Nodes: floating children sunk by the parent, returned borrowed. */
static void node_init (Node *n) { (void) n; }
static void
node_dispose (GObject *o)
{
  Node *n = (Node *) o;
  g_list_free_full (g_steal_pointer (&n->kids), g_object_unref);
  G_OBJECT_CLASS (node_parent_class)->dispose (o);
}
static void
node_class_init (NodeClass *k)
{
  G_OBJECT_CLASS (k)->dispose = node_dispose;
}
static Node *
node_add (Node *n, Node *kid)
{
  n->kids = g_list_prepend (n->kids, g_object_ref_sink (kid));
  return kid;                           /* borrowed */
}

static Node *
node_default (void)                     /* lives as long as the program */
{
  static Node *one;
  if (g_once_init_enter (&one)) {
    Node *n = g_object_ref_sink (g_object_new (node_get_type (), NULL));
    g_once_init_leave (&one, n);
  }
  return one;
}

static void
wrapper_toggled (gpointer data, GObject *o, gboolean is_last)
{
  (void) data; (void) o;
  if (is_last) toggles_down++; else toggles_up++;
}

static gpointer
worker (gpointer data)
{
  GAsyncQueue *q = data;
  Job *j;
  guint sum = 0;
  while ((gpointer) (j = g_async_queue_pop (q)) != (gpointer) q) {
    sum += j->serial;
    g_object_unref (j);                 /* came with the queue's entry */
  }
  return GUINT_TO_POINTER (sum);
}

int
main (void)
{
  Pool pool = { .flushing = FALSE };
  GAsyncQueue *q = g_async_queue_new ();
  GThread *t[3];
  g_mutex_init (&pool.lock);
  g_queue_init (&pool.idle);

  for (int i = 0; i < 3; i++)
    t[i] = g_thread_new ("worker", worker, q);
  for (int i = 0; i < 600; i++) {
    Job *j = pool_acquire (&pool);
    if (i % 7 == 0)                     /* one more user for the same job */
      g_async_queue_push (q, g_object_ref (j));
    g_async_queue_push (q, j);
    if (i % 40 == 0)
      g_usleep (200);
  }
  for (int i = 0; i < 3; i++)
    g_async_queue_push (q, q);          /* the sentinel is no object */
  for (int i = 0; i < 3; i++)
    g_thread_join (t[i]);
  g_async_queue_unref (q);

  /* toggle references, as a binding holds its wrapped objects */
  Job *w = pool_acquire (&pool);
  g_object_add_toggle_ref (G_OBJECT (w), wrapper_toggled, &pool);
  g_object_unref (w);                   /* the toggle is now the last one */
  for (int i = 0; i < 50; i++) {
    g_object_ref (w);
    g_object_unref (w);
  }
  g_object_remove_toggle_ref (G_OBJECT (w), wrapper_toggled, &pool);
  /* w is in the pool again */

  for (int r = 0; r < 40; r++) {
    Node *root = g_object_ref_sink (g_object_new (node_get_type (), NULL));
    Node *seen = root;                  /* add_weak_pointer is no reference */
    g_object_add_weak_pointer (G_OBJECT (seen), (gpointer *) &seen);
    for (int i = 0; i < 10; i++) {
      Node *k = node_add (root, g_object_new (node_get_type (), NULL));
      node_add (k, node_default ());    /* the singleton gets a counted parent */
      g_object_set_data_full (G_OBJECT (k), "root-default",
          g_object_ref (node_default ()), g_object_unref);
    }
    g_object_unref (root);
    g_assert (seen == NULL);
  }
  g_assert (G_OBJECT (node_default ())->ref_count == 1);

  pool_clear (&pool);
  g_mutex_clear (&pool.lock);
  g_print ("made %u finalized %u returned %u toggles %u/%u\n", pool.made,
      pool.finalized, pool.returned, toggles_up, toggles_down);
  return pool.made == pool.finalized ? 0 : 1;
}
