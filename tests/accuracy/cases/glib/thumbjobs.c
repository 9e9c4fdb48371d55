/* summary: GBytes propagated from the GTask is not unreffed when the picture is a duplicate of the cached one (early return)
 * kind: missing-put
 * counts: surplus
 * objects: 8
 * track: glib
 * packages: gio-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * thumbjobs - asynchronous thumbnail producer.
 *
 * Requests are run on the GTask thread pool.  Finished thumbnails are GBytes
 * kept in a hash table by URI; metadata is a GVariant dictionary kept in a
 * GPtrArray for the contact sheet.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

typedef struct
{
  gchar *uri;
  guint  size;
} ThumbRequest;

typedef struct
{
  GMainLoop  *loop;
  GHashTable *cache;            /* uri -> GBytes */
  GPtrArray  *sheet;            /* GVariant a{sv} */
  guint       outstanding;
  guint       stored;
  guint       duplicates;
  guint       failures;
  guint64     checksum;
} Studio;

static void
thumb_request_free (gpointer data)
{
  ThumbRequest *req = data;

  g_free (req->uri);
  g_free (req);
}

/* Deterministic stand-in for the decoder. */
static GBytes *
render_thumb (const ThumbRequest *req, GError **error)
{
  guint n = req->size * req->size;
  guint h = g_str_hash (req->uri);
  guint8 *px;

  if (g_str_has_suffix (req->uri, ".raw"))
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                   "no decoder for %s", req->uri);
      return NULL;
    }
  px = g_malloc (n);
  for (guint i = 0; i < n; i++)
    {
      h = h * 1103515245u + 12345u;
      px[i] = h >> 16;
    }
  return g_bytes_new_take (px, n);
}

static void
thumb_thread (GTask *task, gpointer source, gpointer task_data, GCancellable *cancel)
{
  ThumbRequest *req = task_data;
  GError *error = NULL;
  GBytes *bytes = render_thumb (req, &error);

  if (bytes == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  g_usleep (3000);
  g_task_return_pointer (task, bytes, (GDestroyNotify) g_bytes_unref);
}

static void
thumb_make_async (const gchar *uri, guint size, GAsyncReadyCallback cb, gpointer user_data)
{
  GTask *task = g_task_new (NULL, NULL, cb, user_data);
  ThumbRequest *req = g_new0 (ThumbRequest, 1);

  req->uri = g_strdup (uri);
  req->size = size;
  g_task_set_task_data (task, req, thumb_request_free);
  g_task_run_in_thread (task, thumb_thread);
  g_object_unref (task);
}

static GBytes *
thumb_make_finish (GAsyncResult *res, GError **error)
{
  return g_task_propagate_pointer (G_TASK (res), error);
}

static GVariant *
describe (const gchar *uri, GBytes *bytes)
{
  GVariantBuilder b;

  g_variant_builder_init (&b, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&b, "{sv}", "uri", g_variant_new_string (uri));
  g_variant_builder_add (&b, "{sv}", "length",
                         g_variant_new_uint64 (g_bytes_get_size (bytes)));
  return g_variant_ref_sink (g_variant_builder_end (&b));
}

static void
studio_release_one (Studio *studio)
{
  if (--studio->outstanding == 0)
    g_main_loop_quit (studio->loop);
}

/* Does an equal picture already hang in the cache under that name? */
static gboolean
studio_has_same (Studio *studio, const gchar *uri, GBytes *bytes)
{
  GBytes *old = g_hash_table_lookup (studio->cache, uri);

  return old != NULL && g_bytes_equal (old, bytes);
}

static void
on_thumb_ready (GObject *source, GAsyncResult *res, gpointer user_data)
{
  Studio *studio = user_data;
  ThumbRequest *req = g_task_get_task_data (G_TASK (res));
  GError *error = NULL;
  GBytes *bytes = thumb_make_finish (res, &error);

  if (bytes == NULL)
    {
      studio->failures++;
      g_error_free (error);
      studio_release_one (studio);
      return;
    }

  if (studio_has_same (studio, req->uri, bytes))
    {
      studio->duplicates++;
#ifdef BUG
      studio_release_one (studio); /* GUILTY */
#else
      g_bytes_unref (bytes);
      studio_release_one (studio);
#endif
      return;   /* ACCEPTED */
    }

  g_ptr_array_add (studio->sheet, describe (req->uri, bytes));
  g_hash_table_replace (studio->cache, g_strdup (req->uri), bytes);
  studio->stored++;
  studio_release_one (studio);
}

static void
studio_audit (Studio *studio)
{
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, studio->cache);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      gsize len;
      const guint8 *px = g_bytes_get_data (value, &len);

      for (gsize i = 0; i < len; i += 61)
        studio->checksum += px[i];
    }
  for (guint i = 0; i < studio->sheet->len; i++)
    {
      GVariant *meta = g_ptr_array_index (studio->sheet, i);
      GVariant *len = g_variant_lookup_value (meta, "length", G_VARIANT_TYPE_UINT64);

      studio->checksum += g_variant_get_uint64 (len);
      g_variant_unref (len);
    }
}

int
main (int argc, char **argv)
{
  Studio studio = { 0 };
  guint n = argc > 1 ? (guint) g_ascii_strtoull (argv[1], NULL, 10) : 240;

  studio.loop = g_main_loop_new (NULL, FALSE);
  studio.cache = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                        (GDestroyNotify) g_bytes_unref);
  studio.sheet = g_ptr_array_new_with_free_func ((GDestroyNotify) g_variant_unref);

  for (guint i = 0; i < n; i++)
    {
      gchar *uri;

      if (i % 30 == 29)
        uri = g_strdup_printf ("file:///cam/%04u.raw", i);
      else if (i % 24 == 23)
        uri = g_strdup_printf ("file:///cam/%04u.jpg", i - 7);
      else
        uri = g_strdup_printf ("file:///cam/%04u.jpg", i);
      studio.outstanding++;
      thumb_make_async (uri, 48, on_thumb_ready, &studio);
      g_free (uri);
    }
  g_main_loop_run (studio.loop);
  studio_audit (&studio);

  printf ("stored %u, duplicates %u, failures %u, checksum %" G_GUINT64_FORMAT "\n",
          studio.stored, studio.duplicates, studio.failures, studio.checksum);

  g_ptr_array_unref (studio.sheet);
  g_hash_table_unref (studio.cache);
  g_main_loop_unref (studio.loop);
  return 0;
}
