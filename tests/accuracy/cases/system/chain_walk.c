/* summary: find_origin replaces the element at hand by the next one upstream without giving its reference back
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: GObject GstMiniObject
 * packages: gstreamer-1.0
 * build: clang-14 -O1 -g
 * exit: 0
 */
/* Looks through a patch bay of elements: what is the origin of a monitor, how many delays lie between, which queue
 * comes last. Nothing is played. */
#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NCHAINS 6
#define LENGTH 4

static GstElement *bay;               /* owned */
static GstElement *monitors[NCHAINS]; /* owned */
static GHashTable *labels;            /* name -> owned element, to the end of the process */

static GstElement *add(const char *factory, const char *fmt, int a, int b) {
  char *name = g_strdup_printf(fmt, a, b);
  GstElement *e = gst_element_factory_make(factory, name);

  if (!e)
    exit(1);
  gst_bin_add(GST_BIN(bay), e); /* the bay takes the floating reference */
  g_free(name);
  return e;
}

/* A new reference, NULL if nothing is plugged in. */
static GstElement *upstream(GstElement *e) {
  GstPad *pad = gst_element_get_static_pad(e, "sink"), *peer;
  GstElement *parent;

  if (!pad)
    return NULL;
  peer = gst_pad_get_peer(pad);
  gst_object_unref(pad);
  if (!peer)
    return NULL;
  parent = gst_pad_get_parent_element(peer);
  gst_object_unref(peer);
  return parent;
}

static gboolean is_a(GstElement *e, const char *factory) {
  GstElementFactory *f = gst_element_get_factory(e); /* borrowed */

  return f && !strcmp(GST_OBJECT_NAME(f), factory);
}

static int count_delays(GstElement *monitor) {
  GstElement *e = gst_object_ref(monitor), *next;
  int n = 0;

  while (e) {
    n += is_a(e, "queue");
    next = upstream(e);
    gst_object_unref(e);
    e = next;
  }
  return n;
}

/* A new reference to the fakesrc at the beginning, or NULL. */
static GstElement *find_origin(GstElement *monitor) {
  GstElement *e = upstream(monitor); /* ACCEPTED */

  while (e && !is_a(e, "fakesrc")) {
#ifdef BUG
    e = upstream(e); /* GUILTY */
#else
    GstElement *next = upstream(e);

    gst_object_unref(e);
    e = next;
#endif
  }
  return e;
}

/* A new reference to the queue nearest to the monitor, or NULL. */
static GstElement *last_queue(GstElement *monitor) {
  GstElement *e = upstream(monitor);

  while (e) {
    GstElement *next;

    if (is_a(e, "queue"))
      return e;
    next = upstream(e);
    gst_object_replace((GstObject **)&e, (GstObject *)next);
    if (next)
      gst_object_unref(next);
  }
  return NULL;
}

static void label(GstElement *e) {
  if (!g_hash_table_contains(labels, GST_OBJECT_NAME(e)))
    g_hash_table_insert(labels, g_strdup(GST_OBJECT_NAME(e)), gst_object_ref(e));
}

/* Pads of all elements, by an iterator. */
static int count_open_pads(void) {
  GstIterator *it = gst_bin_iterate_elements(GST_BIN(bay));
  GValue v = G_VALUE_INIT;
  int n = 0;

  while (gst_iterator_next(it, &v) == GST_ITERATOR_OK) {
    GstElement *e = g_value_get_object(&v);
    GstPad *pad = gst_element_get_static_pad(e, "src");

    if (pad) {
      n += !gst_pad_is_linked(pad);
      gst_object_unref(pad);
    }
    g_value_reset(&v);
  }
  g_value_unset(&v);
  gst_iterator_free(it);
  return n;
}

/* A chain: source, some in between, monitor. */
static void plug(int chain, int between) {
  GstElement *prev = add("fakesrc", "origin%d", chain, 0);

  for (int i = 0; i < between; i++) {
    GstElement *e = add((chain + i) % 2 ? "queue" : "identity", "step%d_%d", chain, i);

    gst_element_link(prev, e);
    prev = e;
  }
  monitors[chain] = gst_object_ref(add("fakesink", "monitor%d", chain, 0));
  if (chain != NCHAINS - 1)
    gst_element_link(prev, monitors[chain]);
}

static void unplug(int chain) {
  GstElement *e = upstream(monitors[chain]);

  if (e) {
    gst_element_unlink(e, monitors[chain]);
    gst_object_unref(e);
  }
  gst_bin_remove(GST_BIN(bay), monitors[chain]);
  gst_object_unref(monitors[chain]);
  monitors[chain] = NULL;
}

int main(int argc, char **argv) {
  int delays = 0, origins = 0, queues = 0, open;

  gst_init(&argc, &argv);
  labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, gst_object_unref);
  bay = gst_object_ref_sink(gst_bin_new("bay"));
  for (int c = 0; c < NCHAINS; c++)
    plug(c, c == 1 ? 0 : LENGTH);
  for (int c = 0; c < NCHAINS; c++) {
    GstElement *q = last_queue(monitors[c]);

    delays += count_delays(monitors[c]);
    if (q) {
      queues++;
      label(q);
      gst_object_unref(q);
    }
  }
  /* only two are of interest: a direct one and a long one; the last hangs in the air */
  for (int c = 1; c < NCHAINS; c += 2) {
    GstElement *o = find_origin(monitors[c]);

    if (o) {
      origins++;
      label(o);
      gst_object_unref(o);
    }
  }
  open = count_open_pads();
  unplug(2);
  unplug(4);
  open += count_open_pads();
#ifdef TRUTH
  for (int i = 0; i < LENGTH; i++) {
    char name[16];
    snprintf(name, sizeof(name), "step3_%d", i);
    GstElement *e = gst_bin_get_by_name(GST_BIN(bay), name);
    printf("%s %d\n", name, GST_OBJECT_REFCOUNT_VALUE(e) - 1);
    gst_object_unref(e);
  }
#endif
  for (int c = 0; c < NCHAINS; c++)
    gst_clear_object(&monitors[c]);
  gst_object_unref(bay);
  printf("delays %d queues %d origins %d open %d labels %u\n", delays, queues, origins, open,
         g_hash_table_size(labels));
  return 0;
}
