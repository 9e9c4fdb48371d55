/* summary: zone_watch_gain binds the gain of the zone's own amplifier with a reference to the zone as the data of the transformation, which lives as long as the amplifier does
 * kind: cycle
 * counts: surplus
 * objects: 18
 * track: GObject
 * packages: gstreamer-1.0
 * build: clang-14 -O0 -g
 * exit: 0
 */
/* Public address of an airport: announcements go to zones, each with an amplifier of its own that follows the noise of
 * the room. The console hears about overloads by messages. */
#include <gst/gst.h>
#include <stdio.h>

#define FRAME 256
#define SHIFTS 3

/* ------------------------------------------------ amplifier */

#define PA_TYPE_AMP (pa_amp_get_type())
G_DECLARE_FINAL_TYPE(PaAmp, pa_amp, PA, AMP, GstElement)

struct _PaAmp {
  GstElement element;
  double gain;
  guint limit;
  guint64 energy;
};

enum { AMP_PROP_GAIN = 1 };

G_DEFINE_TYPE(PaAmp, pa_amp, GST_TYPE_ELEMENT)

static void pa_amp_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
  if (id == AMP_PROP_GAIN)
    PA_AMP(object)->gain = g_value_get_double(value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void pa_amp_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
  if (id == AMP_PROP_GAIN)
    g_value_set_double(value, PA_AMP(object)->gain);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void pa_amp_class_init(PaAmpClass *klass) {
  GObjectClass *oc = G_OBJECT_CLASS(klass);

  oc->set_property = pa_amp_set_property;
  oc->get_property = pa_amp_get_property;
  g_object_class_install_property(oc, AMP_PROP_GAIN,
                                  g_param_spec_double("gain", "Gain", "Amplification", 0.0, 64.0, 1.0,
                                                      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "Amplifier", "Sink/Audio", "Drives loudspeakers",
                                        "Airport");
}

static void pa_amp_init(PaAmp *self) {
  self->gain = 1.0;
  self->limit = 900;
}

/* Takes the buffer over. FALSE: it was too loud and was cut. */
static gboolean pa_amp_play(PaAmp *self, GstBuffer *buf) {
  GstMapInfo map;
  gboolean fine = TRUE;

  if (!gst_buffer_map(buf, &map, GST_MAP_READ)) {
    gst_buffer_unref(buf);
    return FALSE;
  }
  for (gsize i = 0; i < map.size; i++) {
    guint level = (guint)(map.data[i] * self->gain);

    if (level > self->limit) {
      level = self->limit;
      fine = FALSE;
    }
    self->energy += level;
  }
  gst_buffer_unmap(buf, &map);
  gst_buffer_unref(buf);
  return fine;
}

/* ------------------------------------------------ zone */

#define PA_TYPE_ZONE (pa_zone_get_type())
G_DECLARE_FINAL_TYPE(PaZone, pa_zone, PA, ZONE, GObject)

struct _PaZone {
  GObject parent_instance;
  char *name;
  guint area;     /* square metres */
  PaAmp *amp;     /* owned */
  GQueue pending; /* of GstBuffer */
  double loudness;
  guint corrections;
};

enum { ZONE_PROP_LOUDNESS = 1 };
static guint overload_signal;

G_DEFINE_TYPE(PaZone, pa_zone, G_TYPE_OBJECT)

static void pa_zone_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
  if (id == ZONE_PROP_LOUDNESS)
    PA_ZONE(object)->loudness = g_value_get_double(value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void pa_zone_dispose(GObject *object) {
  PaZone *self = PA_ZONE(object);

  g_queue_clear_full(&self->pending, (GDestroyNotify)gst_buffer_unref);
  gst_clear_object(&self->amp);
  G_OBJECT_CLASS(pa_zone_parent_class)->dispose(object);
}

static void pa_zone_finalize(GObject *object) {
  g_free(PA_ZONE(object)->name);
  G_OBJECT_CLASS(pa_zone_parent_class)->finalize(object);
}

static void pa_zone_class_init(PaZoneClass *klass) {
  GObjectClass *oc = G_OBJECT_CLASS(klass);

  oc->set_property = pa_zone_set_property;
  oc->dispose = pa_zone_dispose;
  oc->finalize = pa_zone_finalize;
  g_object_class_install_property(oc, ZONE_PROP_LOUDNESS,
                                  g_param_spec_double("loudness", "Loudness", "As heard in the room", 0.0, 1e6, 0.0,
                                                      G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
  overload_signal = g_signal_new("overload", PA_TYPE_ZONE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void pa_zone_init(PaZone *self) { g_queue_init(&self->pending); }

/* Big rooms swallow sound. */
static gboolean gain_to_loudness(GBinding *binding, const GValue *from, GValue *to, gpointer data) {
  PaZone *zone = data;

  (void)binding;
  g_value_set_double(to, g_value_get_double(from) * 100.0 / zone->area);
  zone->corrections++;
  return TRUE;
}

static void zone_watch_gain(PaZone *zone) {
  if (zone->area <= 100) {
    g_object_bind_property(zone->amp, "gain", zone, "loudness", G_BINDING_SYNC_CREATE);
    return;
  }
  g_object_bind_property_full(zone->amp, "gain", zone, "loudness", G_BINDING_SYNC_CREATE, /* ACCEPTED */
#ifdef BUG
                              gain_to_loudness, NULL, g_object_ref(zone), g_object_unref); /* GUILTY */
#else
                              gain_to_loudness, NULL, zone, NULL);
#endif
}

static PaZone *zone_new(const char *name, guint area) {
  PaZone *z = g_object_new(PA_TYPE_ZONE, NULL);

  z->name = g_strdup(name);
  z->area = area;
  z->amp = gst_object_ref_sink(g_object_new(PA_TYPE_AMP, "name", name, NULL));
  zone_watch_gain(z);
  return z;
}

static void zone_noise(PaZone *zone, guint decibels) {
  g_object_set(zone->amp, "gain", 1.0 + decibels / 20.0, NULL);
}

/* ------------------------------------------------ console */

struct console {
  GPtrArray *zones;
  GstBus *bus;
  guint played, overloads, dropped;
  double loudest;
};

static void on_overload(PaZone *zone, gpointer data) {
  struct console *c = data;
  GstStructure *s = gst_structure_new("overload", "zone", G_TYPE_STRING, zone->name, NULL);

  gst_bus_post(c->bus, gst_message_new_element(GST_OBJECT(zone->amp), s));
}

/* The zones that are open in this shift; some are closed at night. */
static void console_open(struct console *c, guint shift) {
  static const struct {
    const char *name;
    guint area;
    gboolean night;
  } plan[] = {{"gate-a", 80, FALSE},  {"gate-b", 90, TRUE},    {"hall", 900, TRUE},      {"lounge", 60, FALSE},
              {"garage", 100, FALSE}, {"customs", 240, FALSE}, {"belt-1", 100, FALSE}};

  c->zones = g_ptr_array_new_with_free_func(g_object_unref);
  for (guint i = 0; i < G_N_ELEMENTS(plan); i++) {
    PaZone *z;

    if (shift == SHIFTS - 1 && !plan[i].night)
      continue;
    z = zone_new(plan[i].name, plan[i].area + (i == 6 ? shift * 25 : 0));
    g_signal_connect(z, "overload", G_CALLBACK(on_overload), c);
    g_ptr_array_add(c->zones, z);
  }
}

static GstBuffer *announcement(guint number) {
  GstBuffer *buf = gst_buffer_new_allocate(NULL, FRAME, NULL);

  gst_buffer_memset(buf, 0, (guint8)(60 + number * 29 % 190), FRAME);
  GST_BUFFER_OFFSET(buf) = number;
  return buf;
}

/* All zones of the announcement share the buffer. */
static void console_announce(struct console *c, guint number) {
  GstBuffer *buf = announcement(number);

  for (guint i = 0; i < c->zones->len; i++) {
    PaZone *z = g_ptr_array_index(c->zones, i);

    if ((number + i) % 3 == 0)
      continue;
    if (g_queue_get_length(&z->pending) == 2) {
      gst_buffer_unref(g_queue_pop_head(&z->pending));
      c->dropped++;
    }
    g_queue_push_tail(&z->pending, gst_buffer_ref(buf));
  }
  gst_buffer_unref(buf);
}

static void console_play(struct console *c, guint minute) {
  for (guint i = 0; i < c->zones->len; i++) {
    PaZone *z = g_ptr_array_index(c->zones, i);
    GstBuffer *buf;

    zone_noise(z, 10 + (minute * 7 + i * 13) % 60);
    c->loudest = MAX(c->loudest, z->loudness);
    if ((buf = g_queue_pop_head(&z->pending)) == NULL)
      continue;
    c->played++;
    if (!pa_amp_play(z->amp, buf))
      g_signal_emit(z, overload_signal, 0);
  }
}

static void console_read(struct console *c) {
  GstMessage *msg;

  while ((msg = gst_bus_pop(c->bus)) != NULL) {
    if (gst_message_has_name(msg, "overload")) {
      PaAmp *amp = PA_AMP(GST_MESSAGE_SRC(msg));
      amp->limit += 20;
      c->overloads++;
    }
    gst_message_unref(msg);
  }
}

int main(int argc, char **argv) {
  struct console c = {0};

  gst_init(&argc, &argv);
  c.bus = gst_bus_new();
  for (guint shift = 0; shift < SHIFTS; shift++) {
    guint corrections = 0;

    console_open(&c, shift);
    for (guint minute = 0; minute < 12; minute++) {
      console_announce(&c, shift * 100 + minute);
      if (minute % 2)
        console_announce(&c, shift * 100 + 50 + minute);
      console_play(&c, minute);
      console_read(&c);
    }
    for (guint i = 0; i < c.zones->len; i++)
      corrections += PA_ZONE(g_ptr_array_index(c.zones, i))->corrections;
    printf("shift %u: %u zones, %u corrections\n", shift, c.zones->len, corrections);
    g_ptr_array_unref(c.zones);
  }
  printf("played %u, dropped %u, %u overloads, loudest %.2f\n", c.played, c.dropped, c.overloads, c.loudest);
  gst_object_unref(c.bus);
  gst_deinit();
  return 0;
}
