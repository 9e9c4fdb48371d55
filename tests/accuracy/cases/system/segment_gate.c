/* summary: gate_sink_event() keeps a caps event that came before the gate is open over the one that it keeps already, whose reference is lost; the others go through gate_keep()
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: GstMiniObject
 * packages: gstreamer-1.0
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * A gate in front of a mixer: until it opens, it keeps the last one of each
 * sticky event and the buffers that came meanwhile; then all of them go on in
 * their order. Driven by a script, no pipeline is needed.
 */
#include <gst/gst.h>
#include <stdio.h>

enum { KEEP_SEGMENT, KEEP_TAGS, KEEP_CAPS, N_KEPT };

typedef struct
{
  GstEvent *kept[N_KEPT];       /* owned */
  GQueue buffers;               /* of GstBuffer, owned */
  gboolean open;
  guint forwarded, dropped;
  GstClockTime position;
} Gate;

/* The far end: takes what it gets. */
static void
mixer_take (Gate * gate, GstMiniObject * object)
{
  gate->forwarded++;
  if (GST_IS_BUFFER (object))
    gate->position = GST_BUFFER_PTS (GST_BUFFER_CAST (object));
  gst_mini_object_unref (object);
}

/* Takes the event over. */
static void
gate_keep (Gate * gate, int which, GstEvent * event)
{
  if (gate->kept[which] != NULL) {
    gate->dropped++;
    gst_event_unref (gate->kept[which]);
  }
  gate->kept[which] = event;
}

/* Takes the event over, like any event function of a sink pad. */
static gboolean
gate_sink_event (Gate * gate, GstEvent * event)
{
  if (gate->open) {
    mixer_take (gate, GST_MINI_OBJECT_CAST (event));
    return TRUE;
  }

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_SEGMENT:
      gate_keep (gate, KEEP_SEGMENT, event);
      break;
    case GST_EVENT_TAG:
      gate_keep (gate, KEEP_TAGS, event);
      break;
    case GST_EVENT_CAPS:{
      GstCaps *caps;
      GstStructure *s;

      gst_event_parse_caps (event, &caps);
      s = gst_caps_get_structure (caps, 0);
      if (!gst_structure_has_name (s, "audio/x-raw")) {
        gst_event_unref (event);
        return FALSE;
      }
#ifdef BUG
      gate->kept[KEEP_CAPS] = event;    /* GUILTY */
#else
      gate_keep (gate, KEEP_CAPS, event);
#endif
      break;
    }
    case GST_EVENT_FLUSH_STOP:
      g_queue_clear_full (&gate->buffers, (GDestroyNotify) gst_buffer_unref);
      gst_event_unref (event);
      break;
    default:
      gate->dropped++;
      gst_event_unref (event);
      return FALSE;
  }
  return TRUE;
}

static void
gate_chain (Gate * gate, GstBuffer * buffer)
{
  if (gate->open)
    mixer_take (gate, GST_MINI_OBJECT_CAST (buffer));
  else
    g_queue_push_tail (&gate->buffers, buffer);
}

static void
gate_open (Gate * gate)
{
  GstBuffer *buffer;
  int i;

  gate->open = TRUE;
  for (i = N_KEPT - 1; i >= 0; i--) {
    GstEvent *event = gate->kept[i];

    gate->kept[i] = NULL;
    if (event != NULL)
      mixer_take (gate, GST_MINI_OBJECT_CAST (event));
  }
  while ((buffer = g_queue_pop_head (&gate->buffers)) != NULL)
    mixer_take (gate, GST_MINI_OBJECT_CAST (buffer));
}

static void
gate_shut (Gate * gate)
{
  gate->open = FALSE;
}

static void
gate_clear (Gate * gate)
{
  for (int i = 0; i < N_KEPT; i++)
    gst_clear_event (&gate->kept[i]);
  g_queue_clear_full (&gate->buffers, (GDestroyNotify) gst_buffer_unref);
}

static GstEvent *
caps_event (const gchar * name, int rate)
{
  GstCaps *caps = gst_caps_new_simple (name, "rate", G_TYPE_INT, rate, NULL);
  GstEvent *event = gst_event_new_caps (caps);

  gst_caps_unref (caps);
  return event;
}

static GstEvent *
segment_event (GstClockTime start)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = start;
  return gst_event_new_segment (&segment);
}

int
main (int argc, char **argv)
{
  /* s: segment, t: tags, a and A: audio caps, v: video caps, b: buffer,
   * f: flush, q: a custom event, o: open, x: shut */
  static const char script[] = "tasbbbob" "bbAbtx" "avbsbfsbtbAbob" "xsabsbobqbaAbx" "vbqtAbbtaAsbo";
  Gate gate = { { NULL }, G_QUEUE_INIT, FALSE, 0, 0, 0 };
  GstClockTime t = 0;

  gst_init (&argc, &argv);
  for (const char *p = script; *p; p++)
    switch (*p) {
      case 's':
        gate_sink_event (&gate, segment_event (t));
        break;
      case 't':
        gate_sink_event (&gate, gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "take", NULL)));
        break;
      case 'a':
        gate_sink_event (&gate, caps_event ("audio/x-raw", 44100));
        break;
      case 'A':
        gate_sink_event (&gate, caps_event ("audio/x-raw", 48000));
        break;
      case 'v':
        gate_sink_event (&gate, caps_event ("video/x-raw", 25));
        break;
      case 'f':
        gate_sink_event (&gate, gst_event_new_flush_stop (TRUE));
        break;
      case 'q':
        gate_sink_event (&gate, gst_event_new_gap (t, GST_SECOND));
        break;
      case 'b':{
        GstBuffer *buffer = gst_buffer_new ();

        GST_BUFFER_PTS (buffer) = t += GST_MSECOND * 20;
        gate_chain (&gate, buffer);
        break;
      }
      case 'o':
        gate_open (&gate);
        break;
      case 'x':
        gate_shut (&gate);
        break;
    }
  printf ("%u forwarded, %u events kept to the end, at %" G_GUINT64_FORMAT " ms\n", gate.forwarded,
      (guint) (gate.kept[0] != NULL) + (gate.kept[1] != NULL) + (gate.kept[2] != NULL), gate.position / GST_MSECOND);
  gate_clear (&gate);
  gst_deinit ();
  return 0;
}
