/* summary: after gst_pad_push() fails the feeder unrefs the buffer that the push had already consumed, which takes away the history's reference
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: gcc -O2 -g
 * exit: 0
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

#define HISTORY_LEN   16
#define MAX_FRAME     1500

typedef struct
{
  const char *name;
  const char *media;
  gint rate;
  guint n_frames;
  guint jumbo_from;             /* full resolution from this frame on, 0: never */
} StreamSpec;

static const StreamSpec specs[] = {
  {"mic", "audio/x-raw", 16000, 48, 0},
  {"control", "application/x-rtp", 90000, 24, 0},
  {"camera", "video/x-raw", 25, 60, 57},
};

/* what was sent lately, for retransmission */
typedef struct
{
  GstBuffer *slot[HISTORY_LEN];
  guint next;
} History;

typedef struct
{
  const StreamSpec *spec;
  GstPad *src;
  GstPad *sink;
  GstBus *bus;
  History history;
  guint probed, received, rejected;
  guint64 bytes;
} Feed;

/* ---- history -------------------------------------------------------- */

static void
history_add (History * h, GstBuffer * buf)
{
  gst_buffer_replace (&h->slot[h->next], buf);
  h->next = (h->next + 1) % HISTORY_LEN;
}

static GstBuffer *
history_find (History * h, guint64 seq)
{
  for (guint i = 0; i < HISTORY_LEN; i++)
    if (h->slot[i] != NULL && GST_BUFFER_OFFSET (h->slot[i]) == seq)
      return gst_buffer_ref (h->slot[i]);
  return NULL;
}

static void
history_clear (History * h)
{
  for (guint i = 0; i < HISTORY_LEN; i++)
    gst_clear_buffer (&h->slot[i]);
}

/* ---- receiving side ------------------------------------------------- */

static void
feed_post_warning (Feed * feed, gsize size)
{
  GstStructure *s = gst_structure_new ("frame-too-big",
      "stream", G_TYPE_STRING, feed->spec->name,
      "size", G_TYPE_UINT64, (guint64) size, NULL);

  gst_bus_post (feed->bus, gst_message_new_element (GST_OBJECT (feed->sink), s));
}

static GstFlowReturn
sink_chain (GstPad * pad, GstObject * parent, GstBuffer * buf)
{
  Feed *feed = gst_pad_get_element_private (pad);
  gsize size = gst_buffer_get_size (buf);
  GstFlowReturn ret = GST_FLOW_OK;

  if (size > MAX_FRAME) {
    feed_post_warning (feed, size);
    ret = GST_FLOW_CUSTOM_ERROR;
  } else {
    feed->received++;
    feed->bytes += size;
  }
  gst_buffer_unref (buf);
  return ret;
}

static gboolean
sink_event (GstPad * pad, GstObject * parent, GstEvent * event)
{
  gboolean ok = TRUE;

  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    GstCaps *caps, *allowed = gst_pad_get_pad_template_caps (pad);

    gst_event_parse_caps (event, &caps);
    ok = gst_caps_can_intersect (caps, allowed);
    gst_caps_unref (allowed);
  }
  gst_event_unref (event);
  return ok;
}

static GstPadProbeReturn
count_probe (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  Feed *feed = data;

  if (GST_BUFFER_OFFSET_IS_VALID (GST_PAD_PROBE_INFO_BUFFER (info)))
    feed->probed++;
  return GST_PAD_PROBE_OK;
}

/* ---- sending side --------------------------------------------------- */

static GstPad *
make_pad (const StreamSpec * spec, GstPadDirection dir)
{
  GstCaps *caps = gst_caps_new_empty_simple (spec->media);
  GstPadTemplate *templ = gst_pad_template_new (dir == GST_PAD_SRC ? "src" : "sink",
      dir, GST_PAD_ALWAYS, caps);
  GstPad *pad = gst_pad_new_from_template (templ, NULL);

  gst_object_unref (templ);
  gst_caps_unref (caps);
  return pad;
}

static gboolean
feed_open (Feed * feed, const StreamSpec * spec, GstBus * bus)
{
  GstCaps *caps;
  GstSegment segment;
  gboolean ok;

  memset (feed, 0, sizeof *feed);
  feed->spec = spec;
  feed->bus = gst_object_ref (bus);
  feed->src = make_pad (spec, GST_PAD_SRC);
  feed->sink = make_pad (spec, GST_PAD_SINK);
  gst_pad_set_element_private (feed->sink, feed);
  gst_pad_set_chain_function (feed->sink, sink_chain);
  gst_pad_set_event_function (feed->sink, sink_event);
  gst_pad_add_probe (feed->src, GST_PAD_PROBE_TYPE_BUFFER, count_probe, feed, NULL);
  if (gst_pad_link (feed->src, feed->sink) != GST_PAD_LINK_OK)
    return FALSE;
  gst_pad_set_active (feed->sink, TRUE);
  gst_pad_set_active (feed->src, TRUE);

  gst_pad_push_event (feed->src, gst_event_new_stream_start (spec->name));
  caps = gst_caps_new_simple (spec->media, "rate", G_TYPE_INT, spec->rate, NULL);
  ok = gst_pad_push_event (feed->src, gst_event_new_caps (caps));
  gst_caps_unref (caps);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (feed->src, gst_event_new_segment (&segment));
  return ok;
}

static void
feed_close (Feed * feed)
{
  history_clear (&feed->history);
  gst_pad_set_active (feed->src, FALSE);
  gst_pad_set_active (feed->sink, FALSE);
  gst_pad_unlink (feed->src, feed->sink);
  gst_object_unref (feed->src);
  gst_object_unref (feed->sink);
  gst_object_unref (feed->bus);
}

static GstBuffer *
make_frame (const StreamSpec * spec, guint64 seq)
{
  gboolean jumbo = spec->jumbo_from && seq >= spec->jumbo_from;
  gsize size = jumbo ? MAX_FRAME + 100 + seq : 200 + (seq * 37) % 800;
  GstBuffer *buf = gst_buffer_new_allocate (NULL, size, NULL);

  gst_buffer_memset (buf, 0, seq & 0xff, size);
  GST_BUFFER_OFFSET (buf) = seq;
  GST_BUFFER_PTS (buf) = seq * GST_MSECOND * 20;
  return buf;
}

/* Takes the buffer. */
static gboolean
feed_send (Feed * feed, GstBuffer * buf)
{
  GstFlowReturn ret;

  history_add (&feed->history, buf);
  ret = gst_pad_push (feed->src, buf);
  if (ret != GST_FLOW_OK) {
    feed->rejected++;
#ifdef BUG
    gst_buffer_unref (buf);     /* GUILTY */
#else
    GST_INFO ("%s: frame refused: %s", feed->spec->name, gst_flow_get_name (ret));
#endif
    return FALSE;
  }
  return TRUE;
}

static void
feed_resend (Feed * feed, guint64 seq)
{
  GstBuffer *old = history_find (&feed->history, seq);

  if (old == NULL)
    return;
  gst_pad_push (feed->src, gst_buffer_copy (old));
  gst_buffer_unref (old);
}

static void
feed_run (Feed * feed)
{
  for (guint64 seq = 0; seq < feed->spec->n_frames; seq++) {
    gboolean ok = feed_send (feed, make_frame (feed->spec, seq));

    /* the peer lost a packet now and then and asks for it again */
    if (ok && seq % 10 == 4)
      feed_resend (feed, seq - 1);
  }
}

int
main (int argc, char **argv)
{
  Feed feeds[G_N_ELEMENTS (specs)];
  GstBus *bus;
  GstMessage *msg;
  guint warnings = 0;

  gst_init (&argc, &argv);
  bus = gst_bus_new ();
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++) {
    if (!feed_open (&feeds[i], &specs[i], bus))
      fprintf (stderr, "%s: negotiation failed\n", specs[i].name);
    feed_run (&feeds[i]);
  }
  while ((msg = gst_bus_pop (bus)) != NULL) {
    if (gst_message_has_name (msg, "frame-too-big"))
      warnings++;
    gst_message_unref (msg);
  }
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++) {
    printf ("%s: pushed %u, received %u (%" G_GUINT64_FORMAT " bytes), rejected %u\n",
        specs[i].name, feeds[i].probed, feeds[i].received, feeds[i].bytes, feeds[i].rejected);
    feed_close (&feeds[i]);
  }
  printf ("%u warnings on the bus\n", warnings);
  gst_object_unref (bus);
  return 0;
}
