/* summary: a calibration frame stores a new value over channel->last without dropping the value that was there
 * kind: overwritten
 * counts: surplus
 * objects: 30
 * track: GVariant
 * packages: glib-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define N_WORKERS    3
#define N_CHANNELS   5      /* per worker */
#define N_ROUNDS     24

typedef struct
{
  char     *name;
  GVariant *last;           /* newest reading, "ad" */
  GBytes   *raw;            /* last raw dump or NULL */
  double    gain;
  guint     n_frames;
} Channel;

typedef struct
{
  GMainContext *context;
  GMainLoop    *loop;
  GHashTable   *channels;   /* name -> Channel */
  guint         workers_left;
  guint         n_unknown;
} Hub;

typedef struct
{
  Hub      *hub;
  GVariant *frame;          /* "(ssv)": channel, kind, payload */
} Delivery;

static Channel *
channel_new (const char *name)
{
  Channel *ch = g_new0 (Channel, 1);

  ch->name = g_strdup (name);
  ch->gain = 1.0;
  return ch;
}

static void
channel_free (gpointer data)
{
  Channel *ch = data;

  g_clear_pointer (&ch->last, g_variant_unref);
  g_clear_pointer (&ch->raw, g_bytes_unref);
  g_free (ch->name);
  g_free (ch);
}

static inline void
replace_variant (GVariant **slot, GVariant *value)
{
  GVariant *old = *slot;

  *slot = value ? g_variant_ref_sink (value) : NULL;
  if (old != NULL)
    g_variant_unref (old);
}

static double
channel_mean (const Channel *ch)
{
  gsize n = 0;
  double sum = 0;
  const double *v;

  if (ch->last == NULL)
    return 0;
  v = g_variant_get_fixed_array (ch->last, &n, sizeof (double));
  for (gsize i = 0; i < n; i++)
    sum += v[i];
  return n ? sum / n : 0;
}

/* New "ad" array with every sample multiplied; floating. */
static GVariant *
scale_samples (GVariant *samples, double factor)
{
  GVariantBuilder builder;
  gsize n = 0;
  const double *v = g_variant_get_fixed_array (samples, &n, sizeof (double));

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("ad"));
  for (gsize i = 0; i < n; i++)
    g_variant_builder_add (&builder, "d", v[i] * factor);
  return g_variant_builder_end (&builder);
}

/* ---- frame handlers, run in the main thread ------------------------- */

static void
handle_samples (Channel *ch, GVariant *payload)
{
  if (ch->gain != 1.0)
    replace_variant (&ch->last, scale_samples (payload, ch->gain));
  else
    replace_variant (&ch->last, payload);
}

static void
handle_calibration (Channel *ch, GVariant *payload)
{
  double gain = g_variant_get_double (payload);

  if (ch->last != NULL)
    {
      /* what we show must match the new gain right away */
      GVariant *fixed = scale_samples (ch->last, gain / ch->gain);

#ifdef BUG
      ch->last = g_variant_ref_sink (fixed);    /* GUILTY */
#else
      replace_variant (&ch->last, fixed);
#endif
    }
  ch->gain = gain;
}

static void
handle_raw (Channel *ch, GVariant *payload)
{
  g_clear_pointer (&ch->raw, g_bytes_unref);
  ch->raw = g_variant_get_data_as_bytes (payload);
}

static const struct
{
  const char *kind;
  const char *type;
  void      (*handle) (Channel *ch, GVariant *payload);
} handlers[] = {
  { "samples", "ad", handle_samples },
  { "calib",   "d",  handle_calibration },
  { "raw",     "ay", handle_raw },
};

static gboolean
hub_dispatch (gpointer data)
{
  Delivery *d = data;
  const char *name, *kind;
  g_autoptr (GVariant) payload = NULL;
  Channel *ch;

  g_variant_get (d->frame, "(&s&sv)", &name, &kind, &payload);
  ch = g_hash_table_lookup (d->hub->channels, name);
  if (ch == NULL)
    {
      ch = channel_new (name);
      g_hash_table_insert (d->hub->channels, ch->name, ch);
    }
  for (guint i = 0; i < G_N_ELEMENTS (handlers); i++)
    if (strcmp (handlers[i].kind, kind) == 0
        && g_variant_is_of_type (payload, G_VARIANT_TYPE (handlers[i].type)))
      {
        ch->n_frames++;
        handlers[i].handle (ch, payload);
        return G_SOURCE_REMOVE;
      }
  d->hub->n_unknown++;
  return G_SOURCE_REMOVE;
}

static void
delivery_free (gpointer data)
{
  Delivery *d = data;

  g_variant_unref (d->frame);
  g_free (d);
}

static gboolean
hub_worker_done (gpointer data)
{
  Hub *hub = data;

  if (--hub->workers_left == 0)
    g_main_loop_quit (hub->loop);
  return G_SOURCE_REMOVE;
}

typedef struct
{
  Hub  *hub;
  guint number;
} Worker;

static void
worker_post (Hub *hub, const char *channel, const char *kind, GVariant *payload)
{
  Delivery *d = g_new (Delivery, 1);

  d->hub = hub;
  d->frame = g_variant_ref_sink (g_variant_new ("(ssv)", channel, kind, payload));
  g_main_context_invoke_full (hub->context, G_PRIORITY_DEFAULT, hub_dispatch, d, delivery_free);
}

static gpointer
worker_run (gpointer data)
{
  Worker *w = data;
  double buf[8];
  guint8 dump[20];

  for (guint round = 0; round < N_ROUNDS; round++)
    for (guint c = 0; c < N_CHANNELS; c++)
      {
        g_autofree char *name = g_strdup_printf ("w%u.ch%u", w->number, c);

        for (guint i = 0; i < G_N_ELEMENTS (buf); i++)
          buf[i] = (w->number + 1) * 10 + c + i * 0.25 + round;
        worker_post (w->hub, name, "samples",
                     g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, buf,
                                                G_N_ELEMENTS (buf), sizeof (double)));
        if (round % 12 == 7)
          worker_post (w->hub, name, "calib", g_variant_new_double (1.0 + 0.125 * (round / 7)));
        if (round % 8 == 5)
          {
            memset (dump, 'a' + c, sizeof dump);
            worker_post (w->hub, name, "raw",
                         g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, dump,
                                                    c % 2 ? 12 : sizeof dump, 1));
          }
      }
  worker_post (w->hub, "control", "bye", g_variant_new_uint32 (w->number));
  g_main_context_invoke (w->hub->context, hub_worker_done, w->hub);
  return NULL;
}

int
main (void)
{
  Hub hub = { 0 };
  Worker workers[N_WORKERS];
  GThread *threads[N_WORKERS];
  g_autoptr (GList) names = NULL;

  hub.context = g_main_context_ref (g_main_context_default ());
  hub.loop = g_main_loop_new (hub.context, FALSE);
  hub.channels = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, channel_free);
  hub.workers_left = N_WORKERS;

  g_main_context_acquire (hub.context);
  for (guint i = 0; i < N_WORKERS; i++)
    {
      workers[i] = (Worker) { &hub, i };
      threads[i] = g_thread_new ("sensor", worker_run, &workers[i]);
    }
  g_main_loop_run (hub.loop);
  g_main_context_release (hub.context);
  for (guint i = 0; i < N_WORKERS; i++)
    g_thread_join (threads[i]);

  names = g_list_sort (g_hash_table_get_keys (hub.channels), (GCompareFunc) strcmp);
  for (GList *l = names; l != NULL; l = l->next)
    {
      Channel *ch = g_hash_table_lookup (hub.channels, l->data);

      if (g_str_has_suffix (ch->name, "ch0"))
        printf ("%s: %u frames, mean %.2f\n", ch->name, ch->n_frames, channel_mean (ch));
    }
  printf ("%u channels, %u unknown frames\n", g_hash_table_size (hub.channels), hub.n_unknown);

  g_hash_table_unref (hub.channels);
  g_main_loop_unref (hub.loop);
  g_main_context_unref (hub.context);
  return 0;
}
