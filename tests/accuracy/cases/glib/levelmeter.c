/* summary: gst_pad_get_current_caps returns a new reference that is only used as an argument and never unreffed
 * kind: missing-put
 * counts: surplus
 * objects: 12
 * track: gstreamer
 * packages: gstreamer-1.0 gstreamer-app-1.0
 * libs: -lm
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * levelmeter - push PCM blocks through a GStreamer pipeline and report the
 * level per stream section.  The sample format may change between sections
 * (e.g. programme switched from a 48 kHz feed to a 44.1 kHz one).
 */
#include <gst/gst.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <math.h>
#include <stdio.h>

#define SECTIONS            12
#define BLOCKS_PER_SECTION  20
#define FRAMES              256

typedef struct
{
  GstElement *pipeline;
  GstElement *src;
  GstElement *sink;
  gint        rate;
  gint        channels;
  guint       format_changes;
  guint       blocks;
  gdouble     peak_db;
  guint       events;
} Meter;

static const gint rates[] = { 48000, 44100, 32000, 96000 };

static GstCaps *
section_caps (guint section)
{
  return gst_caps_new_simple ("audio/x-raw",
                              "format", G_TYPE_STRING, "S16LE",
                              "layout", G_TYPE_STRING, "interleaved",
                              "rate", G_TYPE_INT, rates[section % G_N_ELEMENTS (rates)],
                              "channels", G_TYPE_INT, 1 + (gint) (section / 4) % 2,
                              NULL);
}

static GstBuffer *
make_block (guint section, guint block, gint channels)
{
  gsize bytes = FRAMES * channels * sizeof (gint16);
  GstBuffer *buf = gst_buffer_new_allocate (NULL, bytes, NULL);
  GstMapInfo map;

  if (gst_buffer_map (buf, &map, GST_MAP_WRITE))
    {
      gint16 *s = (gint16 *) map.data;
      gint amp = 1000 + 500 * section;

      for (gsize i = 0; i < map.size / sizeof (gint16); i++)
        s[i] = (gint16) (amp * sin (i * 0.05 + block));
      gst_buffer_unmap (buf, &map);
    }
  GST_BUFFER_PTS (buf) = gst_util_uint64_scale (section * BLOCKS_PER_SECTION + block,
                                                FRAMES * GST_SECOND, 48000);
  return buf;
}

static gpointer
feeder (gpointer data)
{
  Meter *m = data;

  for (guint section = 0; section < SECTIONS; section++)
    {
      GstCaps *caps = section_caps (section);
      gint channels = 1;

      gst_structure_get_int (gst_caps_get_structure (caps, 0), "channels", &channels);
      gst_app_src_set_caps (GST_APP_SRC (m->src), caps);
      for (guint b = 0; b < BLOCKS_PER_SECTION; b++)
        {
          GstBuffer *buf = make_block (section, b, channels);

          if (gst_app_src_push_buffer (GST_APP_SRC (m->src), buf) != GST_FLOW_OK)
            {
              gst_caps_unref (caps);
              return NULL;
            }
          g_usleep (400);
        }
      gst_caps_unref (caps);
    }
  gst_app_src_end_of_stream (GST_APP_SRC (m->src));
  return NULL;
}

static GstPadProbeReturn
count_events (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Meter *m = data;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);

  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS || GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT)
    m->events++;
  return GST_PAD_PROBE_OK;
}

static gboolean
same_format (Meter *m, GstCaps *caps)
{
  const GstStructure *s = gst_caps_get_structure (caps, 0);
  gint rate = 0, channels = 0;

  gst_structure_get_int (s, "rate", &rate);
  gst_structure_get_int (s, "channels", &channels);
  if (rate == m->rate && channels == m->channels)
    return TRUE;
  m->rate = rate;
  m->channels = channels;
  return FALSE;
}

/* Sanity check: the pad must not have gone back to an empty format. */
static gboolean
pad_format_is_fixed (GstPad *pad)
{
#ifdef BUG
  return gst_caps_is_fixed (gst_pad_get_current_caps (pad)); /* GUILTY */
#else
  GstCaps *caps = gst_pad_get_current_caps (pad);
  gboolean fixed = gst_caps_is_fixed (caps);
  gst_caps_unref (caps);
  return fixed;
#endif
}

static void
meter_sample (Meter *m, GstSample *sample, GstPad *pad)
{
  GstBuffer *buf = gst_sample_get_buffer (sample);
  GstCaps *caps = gst_sample_get_caps (sample);
  GstMapInfo map;
  gdouble sum = 0, db;

  if (!same_format (m, caps))
    {
      m->format_changes++;
      if (!pad_format_is_fixed (pad))
        g_printerr ("format not fixed\n");
    }
  if (!gst_buffer_map (buf, &map, GST_MAP_READ))
    return;
  const gint16 *s = (const gint16 *) map.data;
  gsize n = map.size / sizeof (gint16);
  for (gsize i = 0; i < n; i++)
    sum += (gdouble) s[i] * s[i];
  gst_buffer_unmap (buf, &map);
  db = 10.0 * log10 (sum / n / (32768.0 * 32768.0) + 1e-12);
  if (m->blocks == 0 || db > m->peak_db)
    m->peak_db = db;
  m->blocks++;
}

static gboolean
meter_build (Meter *m)
{
  m->pipeline = gst_pipeline_new ("meter");
  m->src = gst_element_factory_make ("appsrc", "src");
  m->sink = gst_element_factory_make ("appsink", "sink");
  if (m->pipeline == NULL || m->src == NULL || m->sink == NULL)
    return FALSE;
  g_object_set (m->src, "format", GST_FORMAT_TIME, NULL);
  g_object_set (m->sink, "sync", FALSE, "max-buffers", 8, NULL);
  gst_bin_add_many (GST_BIN (m->pipeline), m->src, m->sink, NULL);
  return gst_element_link (m->src, m->sink);
}

int
main (int argc, char **argv)
{
  Meter m = { 0 };
  GstSample *sample;
  GstPad *pad;
  GThread *thread;
  GstBus *bus;
  GstMessage *msg;

  gst_init (&argc, &argv);
  if (!meter_build (&m))
    {
      g_printerr ("missing GStreamer elements\n");
      return 1;
    }
  pad = gst_element_get_static_pad (m.sink, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, count_events, &m, NULL);
  gst_element_set_state (m.pipeline, GST_STATE_PLAYING);
  thread = g_thread_new ("feeder", feeder, &m);

  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (m.sink))) != NULL)
    {
      meter_sample (&m, sample, pad);
      gst_sample_unref (sample);
    }
  g_thread_join (thread);

  bus = gst_element_get_bus (m.pipeline);
  msg = gst_bus_timed_pop_filtered (bus, GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (msg != NULL)
    gst_message_unref (msg);
  gst_object_unref (bus);

  gst_element_set_state (m.pipeline, GST_STATE_NULL);
  printf ("%u blocks, %u format changes, %u events, peak %.1f dB\n",
          m.blocks, m.format_changes, m.events, m.peak_db);
  gst_object_unref (pad);
  gst_object_unref (m.pipeline);
  gst_deinit ();
  return 0;
}
