/* summary: station_poll_later gives its timeout a reference to the station, but no destroy notify that gives it back
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2
 * exit: 0
 */
/* A weather applet: stations are polled by timers that hold them, a station is added to the list and removed from it
 * by the user. */
#include <glib-object.h>
#include <stdio.h>
#include <string.h>

#define WEATHER_TYPE_STATION (weather_station_get_type())
G_DECLARE_FINAL_TYPE(WeatherStation, weather_station, WEATHER, STATION, GObject)

struct _WeatherStation {
  GObject parent_instance;
  gchar *code;
  gint temperature;
  guint polls, failures;
  guint poll_id, backoff_id;
};

G_DEFINE_TYPE(WeatherStation, weather_station, G_TYPE_OBJECT)

enum { CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

static void weather_station_finalize(GObject *object) {
  WeatherStation *self = WEATHER_STATION(object);

  g_free(self->code);
  G_OBJECT_CLASS(weather_station_parent_class)->finalize(object);
}

static void weather_station_class_init(WeatherStationClass *klass) {
  G_OBJECT_CLASS(klass)->finalize = weather_station_finalize;
  signals[CHANGED] = g_signal_new("changed", WEATHER_TYPE_STATION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 1, G_TYPE_INT);
}

static void weather_station_init(WeatherStation *self) { self->temperature = 12; }

static WeatherStation *weather_station_new(const gchar *code) {
  WeatherStation *self = g_object_new(WEATHER_TYPE_STATION, NULL);

  self->code = g_strdup(code);
  return self;
}

/* The "network": tells the next temperature, or FALSE for a failure. */
static gboolean fetch(WeatherStation *self, gint *temperature) {
  guint h = g_str_hash(self->code) + self->polls * 2654435761u;

  *temperature = 5 + (gint)(h >> 16) % 20;
  return (h >> 8) % 5 != 0;
}

static gboolean station_poll(gpointer data);

static gboolean station_retry(gpointer data) {
  WeatherStation *self = WEATHER_STATION(data);

  self->backoff_id = 0;
  station_poll(self);
  return G_SOURCE_REMOVE;
}

static void station_back_off(WeatherStation *self) {
  if (self->backoff_id)
    return;
  self->backoff_id = g_timeout_add_full(G_PRIORITY_HIGH, 2, station_retry, g_object_ref(self), g_object_unref);
}

static gboolean station_poll(gpointer data) {
  WeatherStation *self = WEATHER_STATION(data);
  gint t;

  self->polls++;
  if (!fetch(self, &t)) {
    self->failures++;
    station_back_off(self);
  } else if (t != self->temperature) {
    self->temperature = t;
    g_signal_emit(self, signals[CHANGED], 0, t);
  }
  return G_SOURCE_CONTINUE;
}

static void station_poll_later(WeatherStation *self, guint interval) {
  if (self->poll_id)
    g_source_remove(self->poll_id);
#ifdef BUG
  self->poll_id = g_timeout_add_full(G_PRIORITY_DEFAULT, interval, station_poll, g_object_ref(self), NULL); /* GUILTY */
#else
  self->poll_id =
      g_timeout_add_full(G_PRIORITY_DEFAULT, interval, station_poll, g_object_ref(self), g_object_unref);
#endif
}

static void station_stop(WeatherStation *self) {
  if (self->poll_id) {
    g_source_remove(self->poll_id);
    self->poll_id = 0;
  }
  if (self->backoff_id) {
    g_source_remove(self->backoff_id);
    self->backoff_id = 0;
  }
}

/* ---- the applet ---- */

typedef struct {
  GPtrArray *stations; /* owned */
  guint changes;
  guint ticks;
  GMainLoop *loop;
} Applet;

static void on_changed(WeatherStation *station, gint t, gpointer data) {
  Applet *applet = data;

  (void)station;
  applet->changes += t != 0;
}

static void applet_add(Applet *applet, const gchar *code) {
  g_autoptr(WeatherStation) s = weather_station_new(code);

  g_signal_connect(s, "changed", G_CALLBACK(on_changed), applet);
  /* stations abroad are only looked at when somebody asks */
  if (code[0] != 'X')
    station_poll_later(s, 3);
  g_ptr_array_add(applet->stations, g_steal_pointer(&s));
}

static void applet_remove(Applet *applet, const gchar *code) {
  for (guint i = 0; i < applet->stations->len; i++) {
    WeatherStation *s = g_ptr_array_index(applet->stations, i);

    if (strcmp(s->code, code) == 0) {
      station_stop(s);
      g_ptr_array_remove_index(applet->stations, i);
      return;
    }
  }
}

static gboolean on_tick(gpointer data) {
  Applet *applet = data;

  switch (++applet->ticks) {
  case 2:
    applet_remove(applet, "EDDH");
    break;
  case 3:
    applet_add(applet, "XKJFK");
    break;
  case 4:
    applet_remove(applet, "XRJTT");
    break;
  case 5:
    g_main_loop_quit(applet->loop);
    return G_SOURCE_REMOVE;
  }
  return G_SOURCE_CONTINUE;
}

int main(void) {
  static const gchar *const codes[] = {"EDDH", "LOWW", "XRJTT", "LSZH", "XYSSY"};
  Applet applet = {g_ptr_array_new_with_free_func(g_object_unref), 0, 0, g_main_loop_new(NULL, FALSE)};

  for (guint i = 0; i < G_N_ELEMENTS(codes); i++)
    applet_add(&applet, codes[i]);
  g_timeout_add(10, on_tick, &applet);
  g_main_loop_run(applet.loop);
  printf("%u stations, %u ticks\n", applet.stations->len, applet.ticks);
  for (guint i = 0; i < applet.stations->len; i++)
    station_stop(g_ptr_array_index(applet.stations, i));
  g_ptr_array_unref(applet.stations);
  g_main_loop_unref(applet.loop);
  return 0;
}
