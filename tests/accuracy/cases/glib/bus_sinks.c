/* summary: bus_connect_filtered keeps the sink without a reference, and the destroy notify of the handler gives one back
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/* A message bus: sinks listen by signal handlers that own what they need and drop it by their destroy notify. */
#include <glib-object.h>
#include <stdio.h>

#define SINK_TYPE (sink_get_type())
G_DECLARE_FINAL_TYPE(Sink, sink, BUS, SINK, GObject)

struct _Sink {
  GObject parent_instance;
  int id;
  int received;
};

G_DEFINE_TYPE(Sink, sink, G_TYPE_OBJECT)

static int sinks_ended;

static void sink_finalize(GObject *object) {
  sinks_ended++;
  G_OBJECT_CLASS(sink_parent_class)->finalize(object);
}

static void sink_class_init(SinkClass *klass) { G_OBJECT_CLASS(klass)->finalize = sink_finalize; }

static void sink_init(Sink *self) { self->id = 0; }

#define BUS_TYPE (bus_get_type())
G_DECLARE_FINAL_TYPE(Bus, bus, BUS, BUS, GObject)

struct _Bus {
  GObject parent_instance;
  guint topic;
};

enum { MESSAGE, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_TYPE(Bus, bus, G_TYPE_OBJECT)

static void bus_class_init(BusClass *klass) {
  signals[MESSAGE] = g_signal_new("message", G_TYPE_FROM_CLASS(klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 1, G_TYPE_INT);
}

static void bus_init(Bus *self) { self->topic = 0; }

static void on_message(Bus *bus, int level, gpointer data) { BUS_SINK(data)->received += level; }

static void drop_sink(gpointer data, GClosure *closure) { g_object_unref(data); }

/* The handler owns the sink. */
static gulong bus_connect(Bus *bus, Sink *sink) {
  return g_signal_connect_data(bus, "message", G_CALLBACK(on_message), g_object_ref(sink), drop_sink, 0);
}

/* The handler takes the caller's reference over. */
static gulong bus_connect_take(Bus *bus, Sink *sink) {
  return g_signal_connect_data(bus, "message", G_CALLBACK(on_message), sink, drop_sink, 0);
}

struct filter {
  Sink *sink;
  int threshold;
};

static void on_filtered(Bus *bus, int level, gpointer data) {
  struct filter *f = data;
  if (level >= f->threshold)
    f->sink->received += level;
}

static void filter_free(gpointer data, GClosure *closure) {
  struct filter *f = data;
  g_object_unref(f->sink);
  g_free(f);
}

/* The handler owns the sink and the filter; a filter that lets everything through is not needed. */
static gulong bus_connect_filtered(Bus *bus, Sink *sink, int threshold) {
  struct filter *f;

  if (threshold <= 0)
    return bus_connect(bus, sink);
  f = g_new(struct filter, 1);
#ifdef BUG
  f->sink = sink; /* GUILTY */
#else
  f->sink = g_object_ref(sink);
#endif
  f->threshold = threshold;
  return g_signal_connect_data(bus, "message", G_CALLBACK(on_filtered), f, filter_free, G_CONNECT_AFTER);
}

#define N_SINKS 24

/* All sinks of the program, for the statistics at the end. */
static Sink *all[N_SINKS];
static int n_all;

/* Returns a new reference; the statistics keep another one. */
static Sink *sink_open(int id) {
  Sink *s = g_object_new(SINK_TYPE, NULL);
  s->id = id;
  all[n_all++] = g_object_ref(s);
  return s;
}

static void on_swapped(gpointer data, int level, Bus *bus) { BUS_SINK(data)->received -= level / 2; }

int main(void) {
  Bus *bus = g_object_new(BUS_TYPE, NULL);
  gulong ids[N_SINKS];
  long sum = 0;

  for (int i = 0; i < N_SINKS; i++) {
    Sink *s = sink_open(i);
    switch (i % 5) {
    case 0:
      ids[i] = bus_connect_take(bus, s);
      continue; /* the handler has it now */
    case 1:
      /* a closure with an object does the counting by itself */
      ids[i] = g_signal_connect_object(bus, "message", G_CALLBACK(on_swapped), s, G_CONNECT_SWAPPED);
      break;
    case 2:
      ids[i] = bus_connect_filtered(bus, s, i == 7 || i == 17 ? 3 : 0);
      break;
    default:
      ids[i] = bus_connect(bus, s);
    }
    g_object_unref(s);
  }
  for (int level = 0; level < 6; level++)
    g_signal_emit(bus, signals[MESSAGE], 0, level);

  /* a few go early, the rest goes with the bus */
  for (int i = 0; i < N_SINKS; i += 4) {
    Sink *s = g_object_ref(all[i]);
    g_signal_handler_disconnect(bus, ids[i]);
    sum += s->received;
    g_object_unref(s);
  }
  for (int level = 0; level < 3; level++)
    g_signal_emit(bus, signals[MESSAGE], 0, level);
  g_object_unref(bus);
  for (int i = 0; i < N_SINKS; i++)
    sum += all[i]->received * (i + 1);
#ifdef TRUTH
  printf("%d sinks ended while the statistics still own them\n", sinks_ended);
#endif
  printf("received %ld by %d sinks\n", sum, n_all);
  return 0;
}
