/* summary: weak-reference cache, GTask in threads with main contexts of their own, coalesced requests, cancellation, g_slice jobs, a singleton that is never freed
 * track: glib
 * build: gcc -O2 -g -o OUT glib_thumbs.c $(pkg-config --cflags --libs gio-2.0)
 */
/*
 * glib_thumbs: asynchronous thumbnail cache, the way photo browsers do it.
 *
 * A process-wide loader owns a thread with its own main context.  Requests
 * for one picture are coalesced; the cache only holds weak references.
 */
#include <gio/gio.h>
#include <string.h>

/* ---- a decoded picture ------------------------------------------------- */

#define THUMB_TYPE_IMAGE (thumb_image_get_type ())
G_DECLARE_FINAL_TYPE (ThumbImage, thumb_image, THUMB, IMAGE, GObject)

struct _ThumbImage {
  GObject parent_instance;
  gchar  *name;
  GBytes *pixels;
};

G_DEFINE_TYPE (ThumbImage, thumb_image, G_TYPE_OBJECT)

static void
thumb_image_finalize (GObject *object)
{
  ThumbImage *self = THUMB_IMAGE (object);

  g_clear_pointer (&self->pixels, g_bytes_unref);
  g_free (self->name);
  G_OBJECT_CLASS (thumb_image_parent_class)->finalize (object);
}

static void
thumb_image_class_init (ThumbImageClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = thumb_image_finalize;
}

static void thumb_image_init (ThumbImage *self) { }

static ThumbImage *
thumb_image_new (const gchar *name, GBytes *pixels)
{
  ThumbImage *self = g_object_new (THUMB_TYPE_IMAGE, NULL);

  self->name = g_strdup (name);
  self->pixels = g_bytes_ref (pixels);
  return self;
}

/* ---- the loader -------------------------------------------------------- */

#define THUMB_TYPE_LOADER (thumb_loader_get_type ())
G_DECLARE_FINAL_TYPE (ThumbLoader, thumb_loader, THUMB, LOADER, GObject)

struct _ThumbLoader {
  GObject       parent_instance;
  GMutex        lock;
  GHashTable   *cache;          /* name -> GWeakRef to ThumbImage */
  GHashTable   *pending;        /* name -> GPtrArray of GTask */
  GMainContext *context;
  GMainLoop    *loop;
  GThread      *thread;
};

G_DEFINE_TYPE (ThumbLoader, thumb_loader, G_TYPE_OBJECT)

enum { DECODED, N_SIGNALS };
static guint signals[N_SIGNALS];

typedef struct {
  ThumbLoader *loader;
  gchar       *name;
} Job;

static Job *
job_new (ThumbLoader *loader, const gchar *name)
{
  Job *job = g_slice_new (Job);
  job->loader = g_object_ref (loader);
  job->name = g_strdup (name);
  return job;
}

static void
job_free (gpointer data)
{
  Job *job = data;

  g_object_unref (job->loader);
  g_free (job->name);
  g_slice_free (Job, job);
}

static void
weak_ref_free (gpointer data)
{
  g_weak_ref_clear (data);
  g_free (data);
}

static gpointer
loader_thread (gpointer data)
{
  ThumbLoader *self = data;
  GMainLoop *loop = g_main_loop_ref (self->loop);

  g_main_context_push_thread_default (self->context);
  g_main_loop_run (loop);
  g_main_context_pop_thread_default (self->context);
  g_main_loop_unref (loop);
  g_object_unref (self);
  return NULL;
}

static void
thumb_loader_class_init (ThumbLoaderClass *klass)
{
  signals[DECODED] = g_signal_new ("decoded", THUMB_TYPE_LOADER, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                   NULL, G_TYPE_NONE, 1, THUMB_TYPE_IMAGE);
}

static void
thumb_loader_init (ThumbLoader *self)
{
  g_mutex_init (&self->lock);
  self->cache = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, weak_ref_free);
  self->pending = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                         (GDestroyNotify) g_ptr_array_unref);
  self->context = g_main_context_new ();
  self->loop = g_main_loop_new (self->context, FALSE);
  self->thread = g_thread_new ("thumb-loader", loader_thread, g_object_ref (self));
}

/* Returns (transfer none): lives as long as the process. */
static ThumbLoader *
thumb_loader_get_default (void)
{
  static gsize once;
  static ThumbLoader *instance;

  if (g_once_init_enter (&once)) {
    instance = g_object_new (THUMB_TYPE_LOADER, NULL);
    g_once_init_leave (&once, 1);
  }
  return instance;
}

static gboolean
emit_decoded (gpointer data)
{
  g_signal_emit (thumb_loader_get_default (), signals[DECODED], 0, data);
  return G_SOURCE_REMOVE;
}

static void
on_bytes_read (GObject *source, GAsyncResult *result, gpointer data)
{
  Job *job = data;
  ThumbLoader *self = job->loader;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) raw = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, &error);
  g_autoptr (GPtrArray) waiters = NULL;
  g_autoptr (ThumbImage) image = NULL;
  g_autofree gchar *key = NULL;
  gsize size = 0;

  if (raw != NULL && (g_bytes_get_data (raw, &size), size >= 16)) {
    g_autoptr (GBytes) pixels = g_bytes_new_from_bytes (raw, 4, size - 4);
    GWeakRef *weak = g_new0 (GWeakRef, 1);

    image = thumb_image_new (job->name, pixels);
    g_weak_ref_init (weak, image);
    g_mutex_lock (&self->lock);
    g_hash_table_replace (self->cache, g_strdup (job->name), weak);
    g_mutex_unlock (&self->lock);

    g_idle_add_full (G_PRIORITY_DEFAULT, emit_decoded, g_object_ref (image), g_object_unref);
  }

  g_mutex_lock (&self->lock);
  g_hash_table_steal_extended (self->pending, job->name, (gpointer *) &key, (gpointer *) &waiters);
  g_mutex_unlock (&self->lock);
  for (guint i = 0; i < waiters->len; i++) {
    GTask *task = g_ptr_array_index (waiters, i);

    if (image != NULL)
      g_task_return_pointer (task, g_object_ref (image), g_object_unref);
    else
      g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s: truncated", job->name);
  }
  job_free (job);
}

static gboolean
start_job (gpointer data)
{
  Job *job = data;
  guint side = 16 + (g_str_hash (job->name) % 5) * 8;
  gsize size = g_str_has_prefix (job->name, "bad") ? 7 : side * 4 + 4;
  gchar *file = g_malloc (size);
  g_autoptr (GBytes) contents = NULL;
  g_autoptr (GInputStream) stream = NULL;

  memset (file, job->name[0], size);
  contents = g_bytes_new_take (file, size);
  stream = g_memory_input_stream_new_from_bytes (contents);
  g_input_stream_read_bytes_async (stream, 4096, G_PRIORITY_DEFAULT, NULL, on_bytes_read,
                                   job_new (job->loader, job->name));
  return G_SOURCE_REMOVE;
}

static void
thumb_loader_load_async (ThumbLoader *self, const gchar *name, GCancellable *cancellable,
                         GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  g_autoptr (ThumbImage) hit = NULL;
  GPtrArray *waiters;
  gboolean first = FALSE;
  GWeakRef *weak;

  g_mutex_lock (&self->lock);
  weak = g_hash_table_lookup (self->cache, name);
  if (weak != NULL)
    hit = g_weak_ref_get (weak);
  if (hit == NULL) {
    waiters = g_hash_table_lookup (self->pending, name);
    if (waiters == NULL) {
      waiters = g_ptr_array_new_with_free_func (g_object_unref);
      g_hash_table_insert (self->pending, g_strdup (name), waiters);
      first = TRUE;
    }
    g_ptr_array_add (waiters, g_object_ref (task));
  }
  g_mutex_unlock (&self->lock);

  if (hit != NULL)
    g_task_return_pointer (task, g_steal_pointer (&hit), g_object_unref);
  else if (first) {
    g_autoptr (GSource) source = g_idle_source_new ();

    g_source_set_callback (source, start_job, job_new (self, name), job_free);
    g_source_attach (source, self->context);
  }
}

static ThumbImage *
thumb_loader_load_finish (ThumbLoader *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* ---- the grid that shows the pictures ---------------------------------- */

typedef struct {
  GMainLoop *loop;
  GQueue     shown;             /* of ThumbImage, newest first */
  guint      outstanding, got, cancelled, failed, decoded;
} Grid;

static void
grid_loaded (GObject *source, GAsyncResult *result, gpointer data)
{
  Grid *grid = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (ThumbImage) image = thumb_loader_load_finish (THUMB_LOADER (source), result, &error);

  if (image != NULL) {
    grid->got++;
    g_queue_push_head (&grid->shown, g_object_ref (image));
    if (g_queue_get_length (&grid->shown) > 6)
      g_object_unref (g_queue_pop_tail (&grid->shown));
  } else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    grid->cancelled++;
  } else {
    grid->failed++;
  }
  if (--grid->outstanding == 0)
    g_main_loop_quit (grid->loop);
}

static void
grid_decoded (ThumbLoader *loader, ThumbImage *image, Grid *grid)
{
  grid->decoded++;
}

/* Hash of what is on screen, worked out on GIO's own thread pool. */
static void
sum_thread (GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
  GPtrArray *images = task_data;
  gssize sum = 0;

  for (guint i = 0; i < images->len; i++)
    sum = sum * 31 + g_bytes_hash (THUMB_IMAGE (images->pdata[i])->pixels);
  g_task_return_int (task, sum ? sum : 1);
}

static void
sum_done (GObject *source, GAsyncResult *result, gpointer data)
{
  Grid *grid = data;

  g_assert (g_task_propagate_int (G_TASK (result), NULL) != -1);
  g_main_loop_quit (grid->loop);
}

int
main (void)
{
  ThumbLoader *loader = thumb_loader_get_default ();
  Grid grid = { .loop = g_main_loop_new (NULL, FALSE), .shown = G_QUEUE_INIT };
  gulong handler = g_signal_connect (loader, "decoded", G_CALLBACK (grid_decoded), &grid);

  for (guint round = 0; round < 3; round++) {
    g_autoptr (GCancellable) scrolled_away = g_cancellable_new ();
    g_autoptr (GPtrArray) images = g_ptr_array_new_with_free_func (g_object_unref);
    GTask *task;

    for (guint i = 0; i < 24; i++) {
      g_autofree gchar *name = g_strdup_printf ("%s%02u.jpg", i % 12 == 11 ? "bad" : "img", i % 12);

      grid.outstanding++;
      thumb_loader_load_async (loader, name, i % 12 == 5 ? scrolled_away : NULL, grid_loaded, &grid);
    }
    g_cancellable_cancel (scrolled_away);
    g_main_loop_run (grid.loop);

    for (GList *l = grid.shown.head; l != NULL; l = l->next)
      g_ptr_array_add (images, g_object_ref (l->data));
    task = g_task_new (NULL, NULL, sum_done, &grid);
    g_task_set_task_data (task, g_steal_pointer (&images), (GDestroyNotify) g_ptr_array_unref);
    g_task_run_in_thread (task, sum_thread);
    g_object_unref (task);
    g_main_loop_run (grid.loop);
  }

  g_signal_handler_disconnect (loader, handler);
  g_print ("got %u cancelled %u failed %u shown %u\n", grid.got, grid.cancelled, grid.failed,
           g_queue_get_length (&grid.shown));
  g_queue_clear_full (&grid.shown, g_object_unref);
  g_main_loop_unref (grid.loop);

  g_main_loop_quit (loader->loop);
  g_thread_join (g_steal_pointer (&loader->thread));
  return 0;                     /* the loader itself is never freed */
}
