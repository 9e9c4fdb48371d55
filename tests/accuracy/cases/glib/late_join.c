/* summary: viewer_wait_for_key() hands the channel's current header to a pad probe whose destroy notify unrefs it, without giving the probe a reference
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: gcc -O0 -g
 * exit: 0
 */
/* late_join - fan a live channel out to its viewers.
 *
 * A viewer that joins at a key frame gets the channel's header and then the
 * frames.  One that joins in the middle of a group of pictures has to wait for
 * the next key frame: a probe on its pad drops the frames until then and puts
 * the header in front of the key frame.  Headers change when the encoder is
 * set up anew.  A recorder keeps every group with the header it belongs to.
 */
#include <gst/gst.h>

#define N_VIEWERS   18
#define N_FRAMES    120
#define GOP         8
#define HEADER_LIFE 20          /* frames until the encoder changes something */

typedef struct {
  GstPad *src, *sink;
  GstBuffer *header;            /* the last one received, owned */
  gboolean joined, waited;
  guint frames, headers, notices;
  gsize bytes;
} Viewer;

typedef struct {
  GstBuffer *header, *key;      /* owned */
  guint frames;
} Group;

typedef struct {
  GstBuffer *header;            /* the current one, owned */
  guint n_headers, pos;
  Viewer viewers[N_VIEWERS];
  GArray *groups;
} Channel;

/* ---- what arrives at a viewer ---------------------------------------------- */

static GstFlowReturn
viewer_chain (GstPad * pad, GstObject * parent, GstBuffer * buf)
{
  Viewer *v = gst_pad_get_element_private (pad);

  (void) parent;
  v->bytes += gst_buffer_get_size (buf);
  if (GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_HEADER)) {
    v->headers++;
    gst_buffer_replace (&v->header, buf);
  } else if (GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_DROPPABLE)) {
    v->notices++;
  } else {
    v->frames++;
  }
  gst_buffer_unref (buf);
  return GST_FLOW_OK;
}

static void
viewer_init (Viewer * v, guint id)
{
  gchar *name = g_strdup_printf ("viewer-%u", id);
  GstSegment segment;

  v->src = gst_pad_new ("src", GST_PAD_SRC);
  v->sink = gst_pad_new ("sink", GST_PAD_SINK);
  gst_pad_set_element_private (v->sink, v);
  gst_pad_set_chain_function (v->sink, viewer_chain);
  gst_pad_set_active (v->src, TRUE);
  gst_pad_set_active (v->sink, TRUE);
  if (gst_pad_link (v->src, v->sink) != GST_PAD_LINK_OK)
    g_error ("cannot link %s", name);
  gst_pad_push_event (v->src, gst_event_new_stream_start (name));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (v->src, gst_event_new_segment (&segment));
  g_free (name);
}

static void
viewer_clear (Viewer * v)
{
  gst_pad_set_active (v->src, FALSE);
  gst_pad_set_active (v->sink, FALSE);
  gst_pad_unlink (v->src, v->sink);
  gst_buffer_replace (&v->header, NULL);
  gst_object_unref (v->src);
  gst_object_unref (v->sink);
}

/* ---- probes ------------------------------------------------------------------ */

/* Send a buffer to the other side of the pad, past the probes. */
static void
send_past_probes (GstPad * pad, GstBuffer * buf)
{
  GstPad *peer = gst_pad_get_peer (pad);

  if (!peer)
    return;
  gst_pad_chain (peer, gst_buffer_ref (buf));
  gst_object_unref (peer);
}

static GstPadProbeReturn
before_key_frame (GstPad * pad, GstPadProbeInfo * info, gpointer header)
{
  GstBuffer *buf = GST_PAD_PROBE_INFO_BUFFER (info);

  if (GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_HEADER))
    return GST_PAD_PROBE_REMOVE;        /* a newer one is on its way */
  if (GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_DELTA_UNIT))
    return GST_PAD_PROBE_DROP;
  send_past_probes (pad, header);
  return GST_PAD_PROBE_REMOVE;
}

static GstPadProbeReturn
before_any_frame (GstPad * pad, GstPadProbeInfo * info, gpointer notice)
{
  (void) info;
  send_past_probes (pad, notice);
  return GST_PAD_PROBE_REMOVE;
}

/* Show a notice to every third viewer. */
static void
channel_notify (Channel * ch, const gchar * text)
{
  GstBuffer *notice = gst_buffer_new_memdup (text, strlen (text));

  GST_BUFFER_FLAG_SET (notice, GST_BUFFER_FLAG_DROPPABLE);
  for (guint i = 0; i < N_VIEWERS; i += 3)
    if (ch->viewers[i].joined)
      gst_pad_add_probe (ch->viewers[i].src, GST_PAD_PROBE_TYPE_BUFFER,
          before_any_frame, gst_buffer_ref (notice),
          (GDestroyNotify) gst_buffer_unref);
  gst_buffer_unref (notice);
}

static void
viewer_wait_for_key (Viewer * v, GstBuffer * header)
{
  v->waited = TRUE;
  gst_pad_add_probe (v->src, GST_PAD_PROBE_TYPE_BUFFER, before_key_frame,       /* ACCEPTED */
#ifdef BUG
      header,                                                   /* GUILTY */
#else
      gst_buffer_ref (header),
#endif
      (GDestroyNotify) gst_buffer_unref);                       /* ACCEPTED */
}

/* ---- the channel --------------------------------------------------------------- */

static void
viewer_join (Viewer * v, Channel * ch)
{
  v->joined = TRUE;
  if (!ch->header)
    return;                     /* it comes with the next frame */
  if (ch->pos % GOP == 0)
    gst_pad_push (v->src, gst_buffer_ref (ch->header));
  else
    viewer_wait_for_key (v, ch->header);
}

static void
channel_push (Channel * ch, GstBuffer * buf)
{
  for (guint i = 0; i < N_VIEWERS; i++)
    if (ch->viewers[i].joined)
      gst_pad_push (ch->viewers[i].src, gst_buffer_ref (buf));
}

/* The encoder was set up anew. */
static void
channel_new_header (Channel * ch)
{
  GstBuffer *header = gst_buffer_new_allocate (NULL, 24, NULL);

  gst_buffer_memset (header, 0, ch->n_headers++, 24);
  GST_BUFFER_FLAG_SET (header, GST_BUFFER_FLAG_HEADER);
  channel_push (ch, header);
  gst_buffer_replace (&ch->header, header);
  gst_buffer_unref (header);
}

static void
channel_record (Channel * ch, GstBuffer * frame)
{
  Group group = { NULL, NULL, 0 };

  if (!GST_BUFFER_FLAG_IS_SET (frame, GST_BUFFER_FLAG_DELTA_UNIT)) {
    group.header = gst_buffer_ref (ch->header);
    group.key = gst_buffer_ref (frame);
    g_array_append_val (ch->groups, group);
  }
  g_array_index (ch->groups, Group, ch->groups->len - 1).frames++;
}

static void
channel_frame (Channel * ch)
{
  GstBuffer *frame = gst_buffer_new_allocate (NULL, 100 + ch->pos % 7 * 10, NULL);

  gst_buffer_memset (frame, 0, ch->pos, -1);
  GST_BUFFER_PTS (frame) = ch->pos * 40 * GST_MSECOND;
  if (ch->pos % GOP)
    GST_BUFFER_FLAG_SET (frame, GST_BUFFER_FLAG_DELTA_UNIT);
  else if (!ch->header || ch->pos / HEADER_LIFE >= ch->n_headers)
    channel_new_header (ch);
  channel_record (ch, frame);
  channel_push (ch, frame);
  gst_buffer_unref (frame);
  ch->pos++;
}

int
main (void)
{
  static Channel ch;
  guint headers = 0, frames = 0, notices = 0, waited = 0;
  gsize bytes = 0;

  /* pads are all we need, spare us the search for plugins */
  g_setenv ("GST_PLUGIN_SYSTEM_PATH_1_0", "", TRUE);
  g_setenv ("GST_REGISTRY_UPDATE", "no", TRUE);
  gst_init (NULL, NULL);

  ch.groups = g_array_new (FALSE, FALSE, sizeof (Group));
  for (guint i = 0; i < N_VIEWERS; i++)
    viewer_init (&ch.viewers[i], i);

  for (guint i = 0; i < N_FRAMES; i++) {
    if (i % 8 == 0 && i / 8 < N_VIEWERS - 4)
      viewer_join (&ch.viewers[i / 8], &ch);
    if (i == 29 || i == 61 || i == 67 || i == 100)
      viewer_join (&ch.viewers[N_VIEWERS - 4 + i / 32], &ch);
    if (i % 33 == 17)
      channel_notify (&ch, "maintenance at midnight");
    channel_frame (&ch);
  }

  for (guint i = 0; i < N_VIEWERS; i++) {
    Viewer *v = &ch.viewers[i];

    headers += v->headers;
    frames += v->frames;
    notices += v->notices;
    waited += v->waited;
    bytes += v->bytes;
    viewer_clear (v);
  }
  g_print ("%u groups recorded; sent %u headers (%u late), %u frames, %u notices, %" G_GSIZE_FORMAT " bytes\n",
      ch.groups->len, headers, waited, frames, notices, bytes);

  gst_buffer_replace (&ch.header, NULL);
  for (guint i = 0; i < ch.groups->len; i++) {
    Group *g = &g_array_index (ch.groups, Group, i);

    gst_buffer_unref (g->header);
    gst_buffer_unref (g->key);
  }
  g_array_unref (ch.groups);
  return 0;
}
