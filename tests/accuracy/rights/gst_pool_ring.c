/* summary: GstBufferPool buffers and an own GstMiniObject (Tick) resurrected by dispose in the last unref, make_writable that eats a reference, merged/simplified caps that eat, lists/qdata/meta that own, static caps kept to the end by the library, thread takes all through GAsyncQueue
 * track: gstreamer glib
 * build: gcc -O2 -g gst_pool_ring.c -o OUT $(pkg-config --cflags --libs gstreamer-1.0)
 */
/* GstMiniObjects whose last unref does not free: a GstBufferPool's buffers
 * (dispose resurrects), an own mini object with dispose -> ring of idle ones,
 * copy on write of buffers (make_writable eats a reference), lists that own
 * their buffers, memories shared by sub-buffers, qdata with references,
 * parents that make a mini object not writable, static caps with a reference
 * of the program's lifetime, events handed over by gst_pad-less queues.      */
#include <gst/gst.h>

typedef struct {
  GstMiniObject mini;
  guint64 stamp;
} Tick;

#define RING 8
static Tick *ring[RING];
static guint n_ring, born, died, recycled;
static GMutex ring_lock;
static gboolean ring_open = TRUE;
static GType tick_type;

GST_DEFINE_MINI_OBJECT_TYPE (Tick, tick);

static gboolean
tick_dispose (GstMiniObject *o)
{
  gboolean really = TRUE;
  g_mutex_lock (&ring_lock);
  if (ring_open && n_ring < RING) {
    gst_mini_object_ref (o);            /* the ring's reference */
    ring[n_ring++] = (Tick *) o;
    recycled++;
    really = FALSE;
  }
  g_mutex_unlock (&ring_lock);
  return really;
}

static void
tick_free (GstMiniObject *o)
{
  g_atomic_int_inc (&died);
  g_free (o);
}

static Tick *
tick_new (guint64 stamp)
{
  Tick *t = NULL;
  g_mutex_lock (&ring_lock);
  if (n_ring)
    t = ring[--n_ring];
  g_mutex_unlock (&ring_lock);
  if (!t) {
    t = g_new0 (Tick, 1);
    gst_mini_object_init (GST_MINI_OBJECT_CAST (t), 0, tick_type, NULL,
        tick_dispose, tick_free);
    g_atomic_int_inc (&born);
  }
  t->stamp = stamp;
  return t;
}

static void
ring_close (void)
{
  g_mutex_lock (&ring_lock);
  ring_open = FALSE;
  guint n = n_ring;
  n_ring = 0;
  g_mutex_unlock (&ring_lock);
  while (n)
    gst_mini_object_unref (GST_MINI_OBJECT_CAST (ring[--n]));
}

static gpointer
sink (gpointer data)
{
  GAsyncQueue *q = data;
  guint64 sum = 0;
  for (;;) {
    GstMiniObject *o = g_async_queue_pop (q);
    if (GST_MINI_OBJECT_TYPE (o) == tick_type)
      sum += ((Tick *) o)->stamp;
    else if (GST_IS_BUFFER (o))
      sum += gst_buffer_get_size (GST_BUFFER_CAST (o));
    else if (GST_IS_EVENT (o) && GST_EVENT_TYPE (o) == GST_EVENT_EOS) {
      gst_mini_object_unref (o);
      break;
    }
    gst_mini_object_unref (o);
  }
  return GSIZE_TO_POINTER ((gsize) sum);
}

static GstStaticCaps raw_caps =
GST_STATIC_CAPS ("video/x-raw, format=(string)I420, width=(int)16, height=(int)8");

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  tick_type = tick_get_type ();

  GAsyncQueue *q = g_async_queue_new ();
  GThread *th = g_thread_new ("sink", sink, q);

  GstCaps *caps = gst_static_caps_get (&raw_caps); /* the static keeps its own */
  GstBufferPool *pool = gst_buffer_pool_new ();
  GstStructure *conf = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (conf, caps, 256, 2, 12);
  gst_buffer_pool_set_config (pool, conf);         /* eats conf */
  gst_caps_unref (caps);
  gst_buffer_pool_set_active (pool, TRUE);

  for (int i = 0; i < 300; i++) {
    GstBuffer *b = NULL;
    if (gst_buffer_pool_acquire_buffer (pool, &b, NULL) != GST_FLOW_OK)
      return 2;
    GST_BUFFER_PTS (b) = i;
    if (i % 3 == 0) {                   /* copy on write */
      gst_buffer_ref (b);               /* shared: not writable */
      GstBuffer *c = gst_buffer_make_writable (b); /* eats one of the two */
      g_assert (c != b);
      g_async_queue_push (q, c);
    } else if (i % 3 == 1) {            /* a part shares the memory */
      GstBuffer *part = gst_buffer_copy_region (b, GST_BUFFER_COPY_MEMORY, 16, 64);
      g_async_queue_push (q, part);
    }
    g_async_queue_push (q, b);
    g_async_queue_push (q, tick_new (i));
    if (i % 10 == 0) {
      Tick *x = tick_new (1);
      for (int k = 0; k < 3; k++)
        g_async_queue_push (q, gst_mini_object_ref (GST_MINI_OBJECT_CAST (x)));
      gst_mini_object_unref (GST_MINI_OBJECT_CAST (x));
    }
  }
  g_async_queue_push (q, gst_event_new_eos ());
  g_thread_join (th);

  /* lists own their members; the qdata of a buffer owns its parent's count */
  for (int i = 0; i < 50; i++) {
    GstBufferList *l = gst_buffer_list_new ();
    GstBuffer *keep = gst_buffer_new_allocate (NULL, 32, NULL);
    gst_buffer_list_add (l, gst_buffer_ref (keep));
    gst_buffer_list_add (l, gst_buffer_new ());
    gst_mini_object_set_qdata (GST_MINI_OBJECT_CAST (l),
        g_quark_from_static_string ("keep"), gst_buffer_ref (keep),
        (GDestroyNotify) gst_buffer_unref);
    l = gst_buffer_list_make_writable (l);
    GstBuffer *w = gst_buffer_list_get_writable (l, 0); /* borrowed copy */
    GST_BUFFER_DTS (w) = i;
    gst_buffer_add_parent_buffer_meta (w, keep);        /* takes its own */
    gst_buffer_replace (&keep, NULL);
    gst_clear_mini_object ((GstMiniObject **) &l);
  }

  for (int i = 0; i < 50; i++) {        /* samples, caps, messages */
    GstCaps *a = gst_caps_new_simple ("audio/x-raw", "rate", G_TYPE_INT, 8000 + i, NULL);
    GstCaps *any = gst_static_caps_get (&raw_caps);
    GstCaps *m = gst_caps_merge (a, gst_caps_ref (any)); /* eats both */
    m = gst_caps_simplify (m);                           /* eats and gives */
    GstSample *s = gst_sample_new (NULL, m, NULL, NULL);
    gst_caps_unref (m);
    g_assert (gst_caps_get_size (gst_sample_get_caps (s)) == 2);
    gst_sample_unref (s);
    gst_caps_unref (any);
  }

  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  ring_close ();
  g_async_queue_unref (q);
  g_print ("ticks born %u died %u recycled %u\n", born, died, recycled);
  gst_deinit ();
  return born == died ? 0 : 1;
}
