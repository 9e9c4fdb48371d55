/* summary: pad probes that drop, replace and refill buffers, wrapped memory kept in counted slabs with a free list, bus watch, buffers inside messages, request pads, destroy notifies with references
 * track: gstreamer glib
 * build: gcc -O2 -g -o OUT gst_probe.c $(pkg-config --cflags --libs gstreamer-1.0)
 */
/*
 * gst_probe: a fakesrc ! queue ! tee ! fakesink pipeline whose pads are
 * probed.  Buffers get payloads from a small counted slab pool, some are
 * dropped or replaced, and events and tags are injected on the way.
 */
#include <gst/gst.h>
#include <string.h>

#define SLAB_SIZE 2048
#define N_BUFFERS 48

/* ---- payload slabs, shared read-only between buffers -------------------- */

typedef struct _Slab Slab;

struct _Slab {
  gint   refs;
  guint  serial;
  Slab  *next_free;
  guint8 data[SLAB_SIZE];
};

static GMutex slab_lock;
static Slab *slab_free_list;
static guint slabs_made, slabs_reused;

static Slab *
slab_new (void)
{
  Slab *slab;

  g_mutex_lock (&slab_lock);
  slab = slab_free_list;
  if (slab != NULL) {
    slab_free_list = slab->next_free;
    slabs_reused++;
  } else {
    slabs_made++;
  }
  g_mutex_unlock (&slab_lock);
  if (slab == NULL)
    slab = g_malloc (sizeof *slab);
  slab->next_free = NULL;
  g_atomic_int_set (&slab->refs, 1);
  return slab;
}

static Slab *
slab_ref (Slab *slab)
{
  g_atomic_int_inc (&slab->refs);
  return slab;
}

static void
slab_unref (gpointer data)
{
  Slab *slab = data;

  if (!g_atomic_int_dec_and_test (&slab->refs))
    return;
  g_mutex_lock (&slab_lock);
  slab->next_free = slab_free_list;
  slab_free_list = slab;
  g_mutex_unlock (&slab_lock);
}

/* ---- the recorder -------------------------------------------------------- */

typedef struct {
  gint        refs;
  GMainLoop  *loop;
  GstElement *pipeline;
  GMutex      lock;
  GQueue      recent;           /* of GstSample, at most 4 */
  Slab       *shared;           /* current payload, refreshed now and then */
  GstCaps    *caps;
  guint       in, dropped, replaced, out[2], events, state_changes, app_messages;
} Recorder;

static Recorder *
recorder_new (GstElement *pipeline)
{
  Recorder *rec = g_new0 (Recorder, 1);

  rec->refs = 1;
  rec->loop = g_main_loop_new (NULL, FALSE);
  rec->pipeline = gst_object_ref (pipeline);
  rec->caps = gst_caps_new_simple ("application/x-slab", "size", G_TYPE_INT, SLAB_SIZE, NULL);
  g_mutex_init (&rec->lock);
  g_queue_init (&rec->recent);
  return rec;
}

static Recorder *
recorder_ref (Recorder *rec)
{
  g_atomic_int_inc (&rec->refs);
  return rec;
}

static void
recorder_unref (gpointer data)
{
  Recorder *rec = data;

  if (!g_atomic_int_dec_and_test (&rec->refs))
    return;
  g_queue_clear_full (&rec->recent, (GDestroyNotify) gst_sample_unref);
  g_clear_pointer (&rec->shared, slab_unref);
  gst_caps_unref (rec->caps);
  gst_clear_object (&rec->pipeline);
  g_main_loop_unref (rec->loop);
  g_mutex_clear (&rec->lock);
  g_free (rec);
}

/* fakesrc's pad: put our own payload in place of the empty buffer. */
static GstPadProbeReturn
fill_probe (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Recorder *rec = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  guint n = rec->in++;

  if (n % 8 == 7) {
    rec->dropped++;
    return GST_PAD_PROBE_DROP;  /* the core releases the buffer */
  }
  if (n % 3 == 0) {
    Slab *slab = slab_new ();

    slab->serial = n;
    memset (slab->data, (int) n, SLAB_SIZE);
    g_clear_pointer (&rec->shared, slab_unref);
    rec->shared = slab;
  }
  if (n % 2 == 0) {
    buffer = gst_buffer_make_writable (buffer);
    gst_buffer_remove_all_memory (buffer);
  } else {
    GstBuffer *fresh = gst_buffer_new ();

    gst_buffer_copy_into (fresh, buffer, GST_BUFFER_COPY_METADATA, 0, -1);
    gst_buffer_unref (buffer);
    buffer = fresh;
    rec->replaced++;
  }
  gst_buffer_append_memory (buffer,
      gst_memory_new_wrapped (GST_MEMORY_FLAG_READONLY, rec->shared->data, SLAB_SIZE, 0,
                              SLAB_SIZE, slab_ref (rec->shared), slab_unref));
  GST_PAD_PROBE_INFO_DATA (info) = buffer;

  if (n == 20) {
    GstTagList *tags = gst_tag_list_new (GST_TAG_TITLE, "slab stream", GST_TAG_TRACK_NUMBER, 2u, NULL);

    gst_pad_push_event (pad, gst_event_new_tag (tags));
  }
  return GST_PAD_PROBE_OK;
}

/* sink pads: remember the last few samples, and report to the application. */
static GstPadProbeReturn
sink_probe (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Recorder *rec = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  GstElement *sink = gst_pad_get_parent_element (pad);
  guint which = g_str_has_suffix (GST_OBJECT_NAME (sink), "b");
  GstSample *old = NULL;

  g_mutex_lock (&rec->lock);
  rec->out[which]++;
  g_queue_push_head (&rec->recent, gst_sample_new (buffer, rec->caps, NULL, NULL));
  if (g_queue_get_length (&rec->recent) > 4)
    old = g_queue_pop_tail (&rec->recent);
  g_mutex_unlock (&rec->lock);
  if (old != NULL)
    gst_sample_unref (old);

  if (which == 0 && rec->out[0] % 10 == 0)
    gst_element_post_message (sink, gst_message_new_application (GST_OBJECT (sink),
        gst_structure_new ("progress", "count", G_TYPE_UINT, rec->out[0],
                           "buffer", GST_TYPE_BUFFER, buffer, NULL)));
  gst_object_unref (sink);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
event_probe (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Recorder *rec = data;
  GstEvent *event = gst_event_ref (GST_PAD_PROBE_INFO_EVENT (info));

  g_mutex_lock (&rec->lock);
  if (GST_EVENT_TYPE (event) == GST_EVENT_TAG || GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    rec->events++;
  g_mutex_unlock (&rec->lock);
  gst_event_unref (event);
  return GST_PAD_PROBE_OK;
}

static gboolean
bus_watch (GstBus *bus, GstMessage *message, gpointer data)
{
  Recorder *rec = data;

  switch (GST_MESSAGE_TYPE (message)) {
  case GST_MESSAGE_STATE_CHANGED:
    if (GST_MESSAGE_SRC (message) == GST_OBJECT (rec->pipeline))
      rec->state_changes++;
    break;
  case GST_MESSAGE_APPLICATION: {
    GstBuffer *buffer = NULL;

    gst_structure_get (gst_message_get_structure (message), "buffer", GST_TYPE_BUFFER, &buffer, NULL);
    if (gst_buffer_get_size (buffer) == SLAB_SIZE)
      rec->app_messages++;
    gst_buffer_unref (buffer);
    break;
  }
  case GST_MESSAGE_ERROR: {
    GError *error = NULL;
    gchar *debug = NULL;

    gst_message_parse_error (message, &error, &debug);
    g_printerr ("%s (%s)\n", error->message, debug ? debug : "");
    g_error_free (error);
    g_free (debug);
  }                             /* fallthrough */
  case GST_MESSAGE_EOS:
    g_main_loop_quit (rec->loop);
    break;
  default:
    break;
  }
  return G_SOURCE_CONTINUE;
}

static GstElement *
add (GstElement *bin, const gchar *factory, const gchar *name)
{
  GstElement *element = gst_element_factory_make (factory, name);

  if (element == NULL)
    g_error ("no element %s", factory);
  gst_bin_add (GST_BIN (bin), element);   /* takes the floating reference */
  return element;
}

static void
watch_pad (Recorder *rec, GstElement *element, const gchar *name, GstPadProbeType type, GstPadProbeCallback cb)
{
  GstPad *pad = gst_element_get_static_pad (element, name);

  gst_pad_add_probe (pad, type, cb, recorder_ref (rec), recorder_unref);
  gst_object_unref (pad);
}

static void
run_once (guint run)
{
  GstElement *pipeline = gst_pipeline_new ("slabs");
  GstElement *src = add (pipeline, "fakesrc", NULL), *tee = add (pipeline, "tee", NULL);
  Recorder *rec = recorder_new (pipeline);
  GstBus *bus = gst_pipeline_get_bus (GST_PIPELINE (pipeline));
  GstPad *request[2];
  gsize bytes = 0;
  guint watch;

  g_object_set (src, "num-buffers", N_BUFFERS, "sizetype", 2, "sizemax", 64, NULL);
  gst_element_link (src, tee);
  watch_pad (rec, src, "src", GST_PAD_PROBE_TYPE_BUFFER, fill_probe);
  for (guint i = 0; i < 2; i++) {
    GstElement *queue = add (pipeline, "queue", NULL);
    GstElement *sink = add (pipeline, "fakesink", i ? "sink-b" : "sink-a");
    GstPad *in = gst_element_get_static_pad (queue, "sink");

    request[i] = gst_element_request_pad_simple (tee, "src_%u");
    g_assert (gst_pad_link (request[i], in) == GST_PAD_LINK_OK);
    gst_object_unref (in);
    gst_element_link (queue, sink);
    watch_pad (rec, sink, "sink", GST_PAD_PROBE_TYPE_BUFFER, sink_probe);
    watch_pad (rec, sink, "sink", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, event_probe);
  }

  watch = gst_bus_add_watch_full (bus, G_PRIORITY_DEFAULT, bus_watch, recorder_ref (rec), recorder_unref);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_main_loop_run (rec->loop);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_source_remove (watch);
  gst_clear_object (&rec->pipeline);      /* its pads' probes hold us */
  gst_object_unref (bus);

  for (guint i = 0; i < 2; i++) {
    gst_element_release_request_pad (tee, request[i]);
    gst_object_unref (request[i]);
  }
  for (GList *l = rec->recent.head; l != NULL; l = l->next)
    bytes += gst_buffer_get_size (gst_sample_get_buffer (l->data));
  g_print ("run %u: in %u dropped %u replaced %u out %u/%u events %u messages %u kept %" G_GSIZE_FORMAT "\n", run,
           rec->in, rec->dropped, rec->replaced, rec->out[0], rec->out[1], rec->events,
           rec->app_messages, bytes);
  gst_object_unref (pipeline);
  recorder_unref (rec);
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  for (guint run = 0; run < 2; run++)
    run_once (run);

  g_print ("slab pool used: %s\n", slabs_reused > 0 ? "yes" : "no");
  while (slab_free_list != NULL) {
    Slab *slab = slab_free_list;

    slab_free_list = slab->next_free;
    g_free (slab);
  }
  return 0;
}
