/* summary: send_key_frame reads the timestamp of the buffer that gst_pad_push has already taken over
 * kind: use-after-put
 * counts: none
 * objects: 4
 * track: GstMiniObject GObject
 * packages: gstreamer-1.0
 * build: gcc -O0 -g
 * exit: 0
 */
/* A camera that pushes frames over a pad link into a recorder, and shows small pictures from a buffer pool on the
 * side. The recorder keeps every third frame for a while. */
#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NFRAMES 40
#define FRAME_SIZE 512
#define THUMB_SIZE 32

static GstPad *src, *sink;
static GstBufferPool *pool;
static GQueue kept = G_QUEUE_INIT; /* owned buffers */
static GstBuffer *preview;         /* owned, the newest frame for the viewfinder */
static guint64 recorded, key_time, last_time, shown;

/* Takes the buffer over, as every chain function does. */
static GstFlowReturn chain(GstPad *pad, GstObject *parent, GstBuffer *buf) {
  (void)pad, (void)parent;
  recorded += gst_buffer_get_size(buf);
  if (GST_BUFFER_OFFSET(buf) % 3 == 0) {
    g_queue_push_tail(&kept, buf);
    if (g_queue_get_length(&kept) > 5)
      gst_buffer_unref(g_queue_pop_head(&kept));
    return GST_FLOW_OK;
  }
  if (GST_BUFFER_OFFSET(buf) % 19 == 0) {
    gst_buffer_unref(buf);
    return GST_FLOW_ERROR;
  }
  gst_buffer_unref(buf);
  return GST_FLOW_OK;
}

static GstBuffer *grab(int number) {
  GstBuffer *buf = gst_buffer_new_allocate(NULL, FRAME_SIZE, NULL);

  gst_buffer_memset(buf, 0, (guint8)number, FRAME_SIZE);
  GST_BUFFER_PTS(buf) = (guint64)number * 40 * GST_MSECOND;
  GST_BUFFER_OFFSET(buf) = (guint64)number;
  return buf;
}

/* Of every fourth frame the viewfinder gets a reference too. */
static void show(GstBuffer *buf) {
  gst_buffer_replace(&preview, buf);
  shown++;
}

/* The pool takes the picture back by itself at the last unref. */
static int make_thumb(GstBuffer *frame) {
  GstBuffer *thumb = NULL;
  guint8 px[THUMB_SIZE];
  int value;

  if (gst_buffer_pool_acquire_buffer(pool, &thumb, NULL) != GST_FLOW_OK)
    return -1;
  gst_buffer_extract(frame, 0, px, sizeof(px));
  if (px[0] % 5 == 0) { /* too dark */
    gst_buffer_unref(thumb);
    return 0;
  }
  gst_buffer_fill(thumb, 0, px, sizeof(px));
  gst_buffer_extract(thumb, THUMB_SIZE - 1, px, 1);
  value = px[0];
  gst_buffer_unref(thumb);
  return value;
}

/* Takes the buffer over. */
static int send_key_frame(GstBuffer *buf) {
#ifdef BUG
  if (gst_pad_push(src, buf) != GST_FLOW_OK) /* ACCEPTED */
    return -1;
  key_time = GST_BUFFER_PTS(buf); /* GUILTY */
#else
  guint64 pts = GST_BUFFER_PTS(buf);

  if (gst_pad_push(src, buf) != GST_FLOW_OK)
    return -1;
  key_time = pts;
#endif
  return 0;
}

/* Keeps its buffer over the push. */
static int send_checked(GstBuffer *buf) {
  int ok = gst_pad_push(src, gst_buffer_ref(buf)) == GST_FLOW_OK;

  if (ok)
    last_time = GST_BUFFER_PTS(buf);
  gst_buffer_unref(buf);
  return ok ? 0 : -1;
}

/* Takes the buffer over. */
static int send_plain(GstBuffer *buf) {
  last_time = GST_BUFFER_PTS(buf);
  return gst_pad_push(src, buf) == GST_FLOW_OK ? 0 : -1;
}

static int send_burst(int first, int n) {
  GstBufferList *list = gst_buffer_list_new_sized((guint)n);

  for (int i = 0; i < n; i++)
    gst_buffer_list_add(list, grab(first + i));
  return gst_pad_push_list(src, list) == GST_FLOW_OK ? 0 : -1;
}

static void open_link(void) {
  GstSegment segment;

  src = gst_object_ref_sink(gst_pad_new("src", GST_PAD_SRC));
  sink = gst_object_ref_sink(gst_pad_new("sink", GST_PAD_SINK));
  gst_pad_set_chain_function(sink, chain);
  gst_pad_link(src, sink);
  gst_pad_set_active(sink, TRUE);
  gst_pad_set_active(src, TRUE);
  gst_pad_push_event(src, gst_event_new_stream_start("camera"));
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(src, gst_event_new_segment(&segment));
}

static void open_pool(void) {
  GstStructure *config;

  pool = gst_buffer_pool_new();
  config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, NULL, THUMB_SIZE, 2, 4);
  gst_buffer_pool_set_config(pool, config);
  gst_buffer_pool_set_active(pool, TRUE);
}

static void close_all(void) {
  gst_pad_push_event(src, gst_event_new_eos());
  gst_pad_set_active(src, FALSE);
  gst_pad_set_active(sink, FALSE);
  gst_pad_unlink(src, sink);
  gst_object_unref(src);
  gst_object_unref(sink);
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
  g_queue_clear_full(&kept, (GDestroyNotify)gst_buffer_unref);
  gst_buffer_replace(&preview, NULL);
}

int main(int argc, char **argv) {
  int failed = 0, thumbs = 0;

  gst_init(&argc, &argv);
  open_link();
  open_pool();
  for (int i = 1; i <= NFRAMES; i++) {
    GstBuffer *buf = grab(i);

    thumbs += make_thumb(buf);
    if (i % 4 == 0)
      show(buf);
    if (i % 10 == 0 || i == 19)
      failed += send_key_frame(buf) < 0;
    else if (i % 2)
      failed += send_checked(buf) < 0;
    else
      failed += send_plain(buf) < 0;
  }
  failed += send_burst(NFRAMES + 1, 6) < 0;
  close_all();
  printf("recorded %llu failed %d shown %llu thumbs %d last %llu\n", (unsigned long long)recorded, failed,
         (unsigned long long)shown, thumbs, (unsigned long long)(last_time / GST_MSECOND));
  return key_time == 1;
}
