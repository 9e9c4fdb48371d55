/* summary: GApplication, async reads from a pipe, GThreadPool that hands references to idle sources, g_atomic_rc_box swapped whole, GRefString, floating GVariants, a global list store alive at the end
 * track: glib
 * build: gcc -O2 -g -o OUT glib_ledger.c $(pkg-config --cflags --libs gio-2.0 gio-unix-2.0)
 */
/*
 * glib_ledger: an application object that imports transactions arriving over
 * a pipe, checks them on a thread pool and keeps them in a sorted list model.
 */
#include <gio/gio.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib-unix.h>

/* ---- exchange rates: an immutable table, replaced as a whole ----------- */

typedef struct {
  guint       generation;
  GHashTable *per_mille;        /* GRefString -> rate */
} Rates;

static Rates *
rates_new (guint generation)
{
  static const gchar *codes[] = { "EUR", "USD", "GBP", "CHF" };
  Rates *rates = g_atomic_rc_box_new0 (Rates);

  rates->generation = generation;
  rates->per_mille = g_hash_table_new_full (g_str_hash, g_str_equal, (GDestroyNotify) g_ref_string_release, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    g_hash_table_insert (rates->per_mille, g_ref_string_new_intern (codes[i]),
                         GUINT_TO_POINTER (1000 + 50 * i));
  return rates;
}

static void
rates_clear (gpointer data)
{
  g_hash_table_unref (((Rates *) data)->per_mille);
}

static Rates *
rates_ref (Rates *rates)
{
  return g_atomic_rc_box_acquire (rates);
}

static void
rates_unref (Rates *rates)
{
  g_atomic_rc_box_release_full (rates, rates_clear);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Rates, rates_unref)

static GMutex rates_lock;
static Rates *current_rates;

static Rates *
rates_get (void)
{
  Rates *rates;

  g_mutex_lock (&rates_lock);
  rates = rates_ref (current_rates);
  g_mutex_unlock (&rates_lock);
  return rates;
}

static void
rates_publish (Rates *rates)
{
  Rates *old;

  g_mutex_lock (&rates_lock);
  old = g_steal_pointer (&current_rates);
  current_rates = rates;
  g_mutex_unlock (&rates_lock);
  g_clear_pointer (&old, rates_unref);
}

/* ---- one transaction ---------------------------------------------------- */

#define LEDGER_TYPE_ENTRY (ledger_entry_get_type ())
G_DECLARE_FINAL_TYPE (LedgerEntry, ledger_entry, LEDGER, ENTRY, GObject)

struct _LedgerEntry {
  GObject  parent_instance;
  guint    serial;
  gint64   cents;
  gchar   *currency;            /* GRefString */
  Rates   *rates;               /* the table it was converted with */
};

enum { PROP_0, PROP_CENTS, N_PROPS };

G_DEFINE_TYPE (LedgerEntry, ledger_entry, G_TYPE_OBJECT)

static void
ledger_entry_finalize (GObject *object)
{
  LedgerEntry *self = LEDGER_ENTRY (object);

  g_clear_pointer (&self->currency, g_ref_string_release);
  g_clear_pointer (&self->rates, rates_unref);
  G_OBJECT_CLASS (ledger_entry_parent_class)->finalize (object);
}

static void
ledger_entry_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  LEDGER_ENTRY (object)->cents = g_value_get_int64 (value);
}

static void
ledger_entry_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  g_value_set_int64 (value, LEDGER_ENTRY (object)->cents);
}

static void
ledger_entry_class_init (LedgerEntryClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = ledger_entry_finalize;
  object_class->set_property = ledger_entry_set_property;
  object_class->get_property = ledger_entry_get_property;
  g_object_class_install_property (object_class, PROP_CENTS,
      g_param_spec_int64 ("cents", NULL, NULL, G_MININT64, G_MAXINT64, 0,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
}

static void
ledger_entry_init (LedgerEntry *self)
{
}

static LedgerEntry *
ledger_entry_parse (const gchar *line)
{
  g_auto (GStrv) fields = g_strsplit (line, ",", 3);
  LedgerEntry *self;

  if (g_strv_length (fields) != 3)
    return NULL;
  self = g_object_new (LEDGER_TYPE_ENTRY, "cents", g_ascii_strtoll (fields[1], NULL, 10), NULL);
  self->serial = (guint) g_ascii_strtoull (fields[0], NULL, 10);
  self->currency = g_ref_string_new_intern (fields[2]);
  return self;
}

static gint
ledger_entry_compare (gconstpointer a, gconstpointer b, gpointer data)
{
  return (gint) ((const LedgerEntry *) a)->serial - (gint) ((const LedgerEntry *) b)->serial;
}

/* ---- the application ---------------------------------------------------- */

static GListStore *journal;     /* stays until the process goes */
static GThreadPool *pool;
static guint in_flight, rejected;
static gboolean at_eof;

static void
maybe_finish (GApplication *app)
{
  if (at_eof && in_flight == 0) {
    g_action_group_activate_action (G_ACTION_GROUP (app), "report", g_variant_new ("(su)", "all", 12u));
    g_application_release (app);
  }
}

static gboolean
entry_checked (gpointer data)
{
  LedgerEntry *entry = data;

  in_flight--;
  if (entry->rates != NULL)
    g_list_store_insert_sorted (journal, entry, ledger_entry_compare, NULL);
  else
    rejected++;
  maybe_finish (g_application_get_default ());
  return G_SOURCE_REMOVE;
}

/* On a pool thread; the reference in the queue is handed on to the idle source. */
static void
check_entry (gpointer data, gpointer user_data)
{
  LedgerEntry *entry = data;
  g_autoptr (Rates) rates = rates_get ();
  guint rate = GPOINTER_TO_UINT (g_hash_table_lookup (rates->per_mille, entry->currency));

  if (rate != 0) {
    g_object_set (entry, "cents", entry->cents * rate / 1000, NULL);
    entry->rates = g_steal_pointer (&rates);
  }
  g_idle_add_full (G_PRIORITY_DEFAULT, entry_checked, entry, g_object_unref);
}

static void
line_read (GObject *source, GAsyncResult *result, gpointer data)
{
  GDataInputStream *stream = G_DATA_INPUT_STREAM (source);
  g_autoptr (GApplication) app = data;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *line = g_data_input_stream_read_line_finish (stream, result, NULL, &error);
  LedgerEntry *entry;

  g_assert_no_error (error);
  if (line == NULL) {
    at_eof = TRUE;
    g_input_stream_close (G_INPUT_STREAM (stream), NULL, NULL);
    maybe_finish (app);
    return;
  }
  entry = ledger_entry_parse (line);
  if (entry != NULL) {
    in_flight++;
    if (entry->serial % 16 == 0)
      rates_publish (rates_new (entry->serial / 16));
    g_thread_pool_push (pool, entry, NULL);
  }
  g_data_input_stream_read_line_async (stream, G_PRIORITY_DEFAULT, NULL, line_read, g_steal_pointer (&app));
}

static gpointer
bank_thread (gpointer data)
{
  g_autoptr (GOutputStream) out = data;
  static const gchar *codes[] = { "EUR", "USD", "XXX", "GBP", "CHF" };

  for (guint i = 0; i < 64; i++) {
    g_autofree gchar *text = i == 40 ? g_strdup ("# page 2\n")
        : g_strdup_printf ("%u,%d,%s\n", i, (gint) (i * 731 % 1000) - 300, codes[i % G_N_ELEMENTS (codes)]);

    if (!g_output_stream_write_all (out, text, strlen (text), NULL, NULL, NULL))
      break;
  }
  g_output_stream_close (out, NULL, NULL);
  return NULL;
}

static void
on_report (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  g_autoptr (GVariant) state = g_action_get_state (G_ACTION (action));
  g_autoptr (GVariant) dump = NULL;
  GVariantBuilder builder;
  const gchar *what;
  guint limit, n = g_list_model_get_n_items (G_LIST_MODEL (journal));
  gint64 sum = 0;

  g_variant_get (parameter, "(&su)", &what, &limit);
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(uxs)"));
  for (guint i = 0; i < n; i++) {
    g_autoptr (LedgerEntry) entry = g_list_model_get_item (G_LIST_MODEL (journal), i);

    sum += entry->cents;
    if (i < limit)
      g_variant_builder_add (&builder, "(uxs)", entry->serial, entry->cents, entry->currency);
  }
  dump = g_variant_ref_sink (g_variant_builder_end (&builder));
  g_simple_action_set_state (action, g_variant_new_int32 (g_variant_get_int32 (state) + 1));
  g_print ("report %s: %u entries, sum %" G_GINT64_FORMAT ", %" G_GSIZE_FORMAT " listed, %u rejected\n", what, n, sum,
           g_variant_n_children (dump), rejected);
}

static void
on_startup (GApplication *app, gpointer data)
{
  g_autoptr (GSimpleAction) report =
      g_simple_action_new_stateful ("report", G_VARIANT_TYPE ("(su)"), g_variant_new_int32 (0));

  g_signal_connect_object (report, "activate", G_CALLBACK (on_report), app, 0);
  g_action_map_add_action (G_ACTION_MAP (app), G_ACTION (report));
  journal = g_list_store_new (LEDGER_TYPE_ENTRY);
  pool = g_thread_pool_new_full (check_entry, NULL, g_object_unref, 2, FALSE, NULL);
  rates_publish (rates_new (0));
}

static void
on_activate (GApplication *app, gpointer data)
{
  gint fds[2];
  g_autoptr (GInputStream) raw = NULL;
  g_autoptr (GDataInputStream) lines = NULL;

  g_assert_true (g_unix_open_pipe (fds, FD_CLOEXEC, NULL));
  raw = g_unix_input_stream_new (fds[0], TRUE);
  lines = g_data_input_stream_new (raw);
  g_thread_unref (g_thread_new ("bank", bank_thread, g_unix_output_stream_new (fds[1], TRUE)));
  g_application_hold (app);
  g_data_input_stream_read_line_async (lines, G_PRIORITY_DEFAULT, NULL, line_read, g_object_ref (app));
}

static void
on_shutdown (GApplication *app, gpointer data)
{
  g_autoptr (LedgerEntry) last = NULL;
  guint n = g_list_model_get_n_items (G_LIST_MODEL (journal));

  g_thread_pool_free (g_steal_pointer (&pool), FALSE, TRUE);
  while (n > 20)                /* archive all but the newest */
    g_list_store_remove (journal, 0), n--;
  last = g_list_model_get_item (G_LIST_MODEL (journal), n - 1);
  g_print ("newest %u %s\n", last->serial, last->currency);
}

int
main (int argc, char **argv)
{
  g_autoptr (GApplication) app = g_application_new (NULL, G_APPLICATION_NON_UNIQUE);

  g_signal_connect (app, "startup", G_CALLBACK (on_startup), NULL);
  g_signal_connect (app, "activate", G_CALLBACK (on_activate), NULL);
  g_signal_connect (app, "shutdown", G_CALLBACK (on_shutdown), NULL);
  return g_application_run (app, argc, argv);
}
