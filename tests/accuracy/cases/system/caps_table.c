/* summary: input_event gives the caps from gst_event_parse_caps back when an input is refused, but they belong to the event
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: clang-14 -O2 -g
 * exit: 0
 */
/* The formats of a video switch: a table of modes, inputs that change their format by caps events, and a list of
 * modes that the operator prefers. Equal caps are kept once only. */
#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NMODES 12
#define NINPUTS 10

struct mode {
  GstCaps *caps; /* owned */
  gboolean refused;
};

struct input {
  GstEvent *event;  /* owned, the newest accepted one */
  GstCaps *current; /* owned, from the table */
};

static struct mode modes[NMODES];
static struct input inputs[NINPUTS];
static GPtrArray *preferred; /* owned caps */
static int changed, same, unknown, refused, complaints;

static void on_log(const gchar *domain, GLogLevelFlags level, const gchar *text, gpointer data) {
  (void)domain, (void)level, (void)text, (void)data;
  complaints++;
}

static GstCaps *make_caps(int width, int rate) {
  return gst_caps_new_simple("video/x-raw", "width", G_TYPE_INT, width, "framerate", GST_TYPE_FRACTION, rate, 1, NULL);
}

/* Borrowed. */
static struct mode *find_mode(const GstCaps *caps) {
  for (int i = 0; i < NMODES; i++)
    if (gst_caps_is_equal(modes[i].caps, caps))
      return &modes[i];
  return NULL;
}

/* A new reference: the table's caps if it knows them, else the given ones. */
static GstCaps *canonical(GstCaps *caps) {
  struct mode *m = find_mode(caps);

  return gst_caps_ref(m ? m->caps : caps);
}

static void prefer(GstCaps *caps) {
  GstCaps *c = canonical(caps);

  for (guint i = 0; i < preferred->len; i++)
    if (g_ptr_array_index(preferred, i) == c) {
      gst_caps_unref(c);
      return;
    }
  g_ptr_array_add(preferred, c);
}

/* Takes the event over. */
static gboolean input_event(struct input *in, GstEvent *event) {
  GstCaps *caps = NULL;
  struct mode *m;

  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) {
    gst_event_unref(event);
    return FALSE;
  }
  gst_event_parse_caps(event, &caps); /* ACCEPTED */
  m = find_mode(caps);
  if (!m) {
    unknown++;
    gst_event_unref(event);
    return FALSE;
  }
  if (m->refused) {
    refused++;
#ifdef BUG
    gst_caps_unref(caps); /* GUILTY */
#endif
    gst_event_unref(event);
    return FALSE;
  }
  if (in->current == m->caps) {
    same++;
    gst_event_unref(event);
    return TRUE;
  }
  changed++;
  gst_caps_replace(&in->current, m->caps);
  if (in->event)
    gst_event_unref(in->event);
  in->event = event;
  return TRUE;
}

/* As a source does it: own caps, made for this event. */
static gboolean send_new(struct input *in, int width, int rate) {
  GstCaps *caps = make_caps(width, rate);
  GstEvent *event = gst_event_new_caps(caps);

  gst_caps_unref(caps);
  return input_event(in, event);
}

/* As the switch itself does it: with the table's caps. */
static gboolean send_mode(struct input *in, int mode) { return input_event(in, gst_event_new_caps(modes[mode].caps)); }

/* A source with a range of sizes; canonical() gives the caps that the event carries. */
static gboolean send_range(struct input *in, int low, int high) {
  GstCaps *range = gst_caps_new_simple("video/x-raw", "width", GST_TYPE_INT_RANGE, low, high, "framerate",
                                       GST_TYPE_FRACTION, 25, 1, NULL);
  GstCaps *fixed = gst_caps_fixate(gst_caps_ref(range));
  GstCaps *known = canonical(fixed);
  gboolean ok = input_event(in, gst_event_new_caps(known));

  gst_caps_unref(fixed);
  gst_caps_unref(known);
  gst_caps_unref(range);
  return ok;
}

static int merge_preferred(void) {
  GstCaps *all = gst_caps_new_empty();
  int n;

  for (guint i = 0; i < preferred->len; i++)
    if (!find_mode(g_ptr_array_index(preferred, i))->refused)
      all = gst_caps_merge(all, gst_caps_ref(g_ptr_array_index(preferred, i)));
  n = (int)gst_caps_get_size(all);
  gst_caps_unref(all);
  return n;
}

int main(int argc, char **argv) {
  int offered;

  gst_init(&argc, &argv);
  g_log_set_handler("GStreamer", G_LOG_LEVEL_MASK, on_log, NULL);
  preferred = g_ptr_array_new_with_free_func((GDestroyNotify)gst_caps_unref);
  for (int i = 0; i < NMODES; i++)
    modes[i].caps = make_caps(320 * (i + 1), 25);
  modes[7].refused = modes[9].refused = TRUE;

  for (int i = 0; i < NMODES; i += 2) {
    GstCaps *wish = make_caps(320 * (i + 1), 25);

    prefer(wish);
    prefer(modes[i].caps);
    gst_caps_unref(wish);
  }
  prefer(modes[7].caps);
  prefer(modes[9].caps);

  for (int round = 0; round < 3; round++)
    for (int i = 0; i < NINPUTS; i++) {
      if (i % 3 == 0)
        send_new(&inputs[i], 320 * (1 + (i + round) % 7), 25);
      else if (i % 3 == 1)
        send_mode(&inputs[i], (i + round / 2) % 7);
      else
        send_range(&inputs[i], 640 + round, 4000);
    }
  input_event(&inputs[0], gst_event_new_eos());
  offered = merge_preferred();
  send_mode(&inputs[2], 8);
  send_mode(&inputs[4], 7); /* the operator tries what is refused */
  send_mode(&inputs[5], 9);
  send_mode(&inputs[6], 10);

  for (int i = 0; i < NINPUTS; i++) {
    if (inputs[i].event)
      gst_event_unref(inputs[i].event);
    gst_caps_replace(&inputs[i].current, NULL);
  }
  for (int i = 0; i < NMODES; i++)
    gst_caps_unref(modes[i].caps);
  g_ptr_array_unref(preferred);
  printf("changed %d same %d unknown %d refused %d offered %d log %d\n", changed, same, unknown, refused, offered,
         complaints);
  return 0;
}
