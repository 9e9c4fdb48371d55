/* summary: one memory in many buffers: regions that share it parent-buffer metas, wrapped GBytes whose last owner is a memory, make_writable and append that take references over, qdata stolen, buffer lists copied shallowly, a pool's buffers that outlive the deactivated pool in another thread
 * track: gstreamer glib
 * build: gcc -O2 -g -Wall -o OUT gst_subframes.c $(pkg-config --cflags --libs gstreamer-1.0) -pthread
 */
/*
 * gst_subframes - splits captured blocks into frames, without elements.
 *
 * A block is one memory; its frames are regions of it.  Small frames are
 * copied into buffers of a pool.  A second thread sums the frames up.
 */
#include <gst/gst.h>

#define MARK "sub-frames-mark"

static GQuark mark_quark;
static gint blocks_freed, marks_freed;

static GstMiniObject *const end_of_queue = (GstMiniObject *) &mark_quark;

static void
block_free (gpointer data)
{
  g_atomic_int_inc (&blocks_freed);
  g_free (data);
}

static void
mark_free (gpointer data)
{
  g_atomic_int_inc (&marks_freed);
  g_bytes_unref (data);
}

static void
bytes_done (gpointer data)
{
  g_bytes_unref (data);
}

/* A buffer around a block; the memory owns the bytes. */
static GstBuffer *
capture (guint number, gsize size)
{
  guint8 *data = g_malloc (size);
  GBytes *bytes;
  GstBuffer *block;
  gsize i;

  for (i = 0; i < size; i++)
    data[i] = (guint8) (i + number);
  bytes = g_bytes_new_with_free_func (data, size, block_free, data);
  block = gst_buffer_new ();
  gst_buffer_append_memory (block,
      gst_memory_new_wrapped (GST_MEMORY_FLAG_READONLY, data, size, 0, size,
          g_bytes_ref (bytes), bytes_done));
  if (number % 2)
    gst_mini_object_set_qdata (GST_MINI_OBJECT_CAST (block), mark_quark,
        g_bytes_new_from_bytes (bytes, 4, 8), mark_free);
  g_bytes_unref (bytes);
  GST_BUFFER_OFFSET (block) = number;
  return block;
}

/* A frame as a region; its memory is a share of the block's. */
static GstBuffer *
frame_shared (GstBuffer * block, gsize at, gsize size)
{
  GstBuffer *frame = gst_buffer_copy_region (block, GST_BUFFER_COPY_MEMORY,
      at, size);

  GST_BUFFER_OFFSET (frame) = GST_BUFFER_OFFSET (block) * 1000 + at;
  return frame;
}

/* A frame with the block as its parent, as hardware decoders do. */
static GstBuffer *
frame_parented (GstBuffer * block, gsize at, gsize size)
{
  GstBuffer *frame = gst_buffer_new ();
  GstMemory *whole = gst_buffer_peek_memory (block, 0);

  gst_buffer_append_memory (frame, gst_memory_share (whole, at, size));
  gst_buffer_add_parent_buffer_meta (frame, block);
  return frame;
}

static GstBuffer *
frame_copied (GstBufferPool * pool, GstBuffer * block, gsize at, gsize size)
{
  GstBuffer *frame = NULL;
  GstMapInfo map;

  if (gst_buffer_pool_acquire_buffer (pool, &frame, NULL) != GST_FLOW_OK)
    g_error ("no buffer in the pool");
  gst_buffer_map (frame, &map, GST_MAP_WRITE);
  gst_buffer_extract (block, at, map.data, MIN (size, map.size));
  gst_buffer_unmap (frame, &map);
  return frame;
}

/* Takes `block'; returns the list with all the references. */
static GstBufferList *
split (GstBufferPool * pool, GstBuffer * block)
{
  gsize size = gst_buffer_get_size (block), at;
  GstBufferList *list = gst_buffer_list_new ();
  GstBuffer *both = NULL;
  gint n = 0;

  for (at = 0; at + 256 <= size; at += 256, n++) {
    GstBuffer *frame;

    switch (n % 4) {
      case 0:
        frame = frame_shared (block, at, 256);
        break;
      case 1:
        frame = frame_parented (block, at, 256);
        break;
      case 2:
        frame = frame_copied (pool, block, at, 64);
        break;
      default:                 /* joined with the one before, both are taken */
        both = gst_buffer_append (frame_shared (block, at, 128),
            frame_shared (block, at + 128, 128));
        frame = gst_buffer_ref (both);
        both = gst_buffer_make_writable (both);        /* a copy: two have it */
        GST_BUFFER_PTS (both) = at;
        gst_buffer_list_insert (list, -1, both);
    }
    gst_buffer_list_insert (list, -1, frame);
  }
  gst_buffer_unref (block);
  return list;
}

typedef struct
{
  GAsyncQueue *queue;
  GstBufferList *last;          /* kept until the next one comes */
  guint64 sum;
  gint frames;
} Adder;

static gboolean
add_frame (GstBuffer ** frame, guint index, gpointer data)
{
  Adder *adder = data;
  GstMapInfo map;
  gsize i;

  if (!gst_buffer_map (*frame, &map, GST_MAP_READ))
    return FALSE;
  for (i = 0; i < map.size; i++)
    adder->sum += map.data[i];
  gst_buffer_unmap (*frame, &map);
  adder->frames++;
  if (index % 3 == 2) {         /* out of the list, with its reference */
    gst_buffer_unref (*frame);
    *frame = NULL;
  }
  return TRUE;
}

static gpointer
adder_run (gpointer data)
{
  Adder *adder = data;
  GstMiniObject *item;

  while ((item = g_async_queue_pop (adder->queue)) != end_of_queue) {
    GstBufferList *list = GST_BUFFER_LIST_CAST (item);

    list = gst_buffer_list_make_writable (list);
    gst_buffer_list_foreach (list, add_frame, adder);
    gst_buffer_list_replace (&adder->last, list);
    gst_buffer_list_unref (list);
  }
  return g_steal_pointer (&adder->last);        /* with the result of the join */
}

static GstBufferPool *
pool_start (void)
{
  GstBufferPool *pool = gst_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, NULL, 64, 2, 0);
  if (!gst_buffer_pool_set_config (pool, config)
      || !gst_buffer_pool_set_active (pool, TRUE))
    g_error ("pool");
  return pool;
}

int
main (int argc, char **argv)
{
  Adder adder = { NULL };
  GstBufferPool *pool;
  GstBufferList *last, *shown = NULL;
  GBytes *stolen = NULL;
  GThread *thread;
  gint marked = 0;
  guint i;

  g_setenv ("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init (&argc, &argv);
  mark_quark = g_quark_from_static_string (MARK);
  adder.queue = g_async_queue_new_full ((GDestroyNotify) gst_mini_object_unref);
  thread = g_thread_new ("adder", adder_run, &adder);
  pool = pool_start ();

  for (i = 0; i < 24; i++) {
    GstBuffer *block = capture (i, 1024 + i * 64);
    GstBufferList *list;

    if (i % 4 == 1) {           /* the mark leaves the block without its free function */
      g_clear_pointer (&stolen, g_bytes_unref);
      stolen = gst_mini_object_steal_qdata (GST_MINI_OBJECT_CAST (block),
          mark_quark);
      marked++;
    }
    list = split (pool, block);
    if (i % 5 == 0)             /* so the adder gets one that is not writable */
      gst_buffer_list_replace (&shown, list);
    g_async_queue_push (adder.queue, list);
    if (i == 12) {              /* the frames still out keep the old pool */
      gst_buffer_pool_set_active (pool, FALSE);
      gst_object_replace ((GstObject **) & pool, NULL);
      pool = pool_start ();
    }
  }
  g_async_queue_push (adder.queue, end_of_queue);
  last = g_thread_join (thread);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  g_print ("%d frames, sum %" G_GUINT64_FORMAT ", last has %u, shown %u\n",
      adder.frames, adder.sum, gst_buffer_list_length (last),
      gst_buffer_list_length (shown));
  gst_buffer_list_unref (last);
  gst_buffer_list_replace (&shown, NULL);
  g_bytes_unref (stolen);
  g_async_queue_unref (adder.queue);
  g_print ("%d blocks freed, %d marks freed, %d stolen\n", blocks_freed,
      marks_freed, marked);
  return blocks_freed != 24 || marks_freed + marked != 12;
}
