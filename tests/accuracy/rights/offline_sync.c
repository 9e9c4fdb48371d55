/* summary: sources attached to contexts that never run again (their callback data goes with the context), sources destroyed from inside their callback, GTasks whose result nobody propagates, a thread-default context pushed and never popped by a thread that ends, g_rc_box in invoke_full, replaced callback data
 * track: glib
 * build: clang -O2 -g -Wall -o OUT offline_sync.c $(pkg-config --cflags --libs gio-2.0) -pthread
 */
/*
 * offline_sync - uploads notes when the network is there.  It never is in this
 * run, so that many of its things end unfinished.
 */
#include <gio/gio.h>

typedef struct
{
  gint number;
  GBytes *body;
} Note;

static gint notes_live, bodies_freed;

static void
body_free (gpointer data)
{
  g_atomic_int_inc (&bodies_freed);
  g_free (data);
}

static Note *
note_new (gint number)
{
  Note *note = g_atomic_rc_box_new0 (Note);
  gchar *text = g_strdup_printf ("note %d", number);

  note->number = number;
  note->body = g_bytes_new_with_free_func (text, 6, body_free, text);
  g_atomic_int_inc (&notes_live);
  return note;
}

static void
note_clear (gpointer data)
{
  g_bytes_unref (((Note *) data)->body);
  g_atomic_int_add (&notes_live, -1);
}

static void
note_unref (gpointer data)
{
  g_atomic_rc_box_release_full (data, note_clear);
}

/* ---- the uploader's thread ------------------------------------------------ */

typedef struct
{
  GMainContext *context;
  GMainLoop *loop;
  gint tries, sent;
  GHashTable *waiting;          /* number -> body, owned both by the thread */
} Uploader;

typedef struct
{
  Uploader *uploader;
  Note *note;                   /* owned */
} Try;

static void
try_free (gpointer data)
{
  Try *try = data;

  note_unref (try->note);
  g_free (try);
}

/* Every third try ends by returning FALSE, the others destroy themselves. */
static gboolean
try_again (gpointer data)
{
  Try *try = data;
  GSource *self = g_main_current_source ();

  try->uploader->tries++;
  g_hash_table_insert (try->uploader->waiting,
                       GINT_TO_POINTER (try->note->number),
                       g_bytes_ref (try->note->body));
  if (try->note->number % 3 == 0)
    return G_SOURCE_REMOVE;
  /* Data that is replaced: the old one is freed here, while it is used. */
  if (try->note->number % 3 == 1)
    {
      Try *later = g_new (Try, 1);

      later->uploader = try->uploader;
      later->note = note_new (try->note->number + 2 - try->note->number % 3 + 3000);
      later->note->number -= later->note->number % 3;
      g_source_set_callback (self, try_again, later, try_free);
      return G_SOURCE_CONTINUE;
    }
  g_source_destroy (self);
  return G_SOURCE_CONTINUE;
}

static gboolean
enqueue (gpointer data)
{
  Try *try = data;
  GSource *source = g_idle_source_new ();
  Try *copy = g_memdup2 (try, sizeof *try);

  g_atomic_rc_box_acquire (copy->note);
  g_source_set_callback (source, try_again, copy, try_free);
  g_source_attach (source, try->uploader->context);
  g_source_unref (source);
  return G_SOURCE_REMOVE;
}

static gboolean
quit (gpointer data)
{
  g_main_loop_quit (data);
  return G_SOURCE_REMOVE;
}

static gboolean
online (gpointer data)
{
  g_print ("online: %s\n", (const gchar *) g_bytes_get_data (data, NULL));
  return G_SOURCE_REMOVE;
}

static gpointer
uploader_run (gpointer data)
{
  Uploader *self = data;
  GSource *network;

  /* Never popped: the end of the thread gives the reference back. */
  g_main_context_push_thread_default (self->context);
  self->waiting = g_hash_table_new_full (NULL, NULL, NULL,
                                         (GDestroyNotify) g_bytes_unref);

  /* The network comes in an hour. */
  network = g_timeout_source_new_seconds (3600);
  g_source_set_callback (network, online,
                         g_bytes_new_static ("http://notes.example", 21),
                         (GDestroyNotify) g_bytes_unref);
  g_source_attach (network, self->context);
  g_source_unref (network);

  g_main_loop_run (self->loop);
  return g_steal_pointer (&self->waiting);
}

/* ---- tasks ---------------------------------------------------------------- */

static gint tasks_done;

static void
task_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancel)
{
  Note *note = data;

  if (note->number % 4 == 0)
    g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_HOST_UNREACHABLE,
                             "no network for note %d", note->number);
  else
    g_task_return_pointer (task, g_bytes_ref (note->body),
                           (GDestroyNotify) g_bytes_unref);
}

/* The answer of a task, taken by half of the callers only. */
static void
answered (GObject *source, GAsyncResult *result, gpointer data)
{
  tasks_done++;
  if (GPOINTER_TO_INT (data) % 2)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) body = g_task_propagate_pointer (G_TASK (result), &error);

      if (body == NULL && error == NULL)
        g_error ("neither");
    }
}

static void
start_task (gint number, GCancellable *cancel)
{
  GTask *task = g_task_new (NULL, cancel, answered, GINT_TO_POINTER (number));

  g_task_set_task_data (task, note_new (number), note_unref);
  if (number % 5 == 4)          /* answered at once; from an idle source */
    g_task_return_pointer (task, g_bytes_new_static ("none", 4),
                           (GDestroyNotify) g_bytes_unref);
  else
    g_task_run_in_thread (task, task_thread);
  g_object_unref (task);
}

int
main (void)
{
  Uploader uploader = { NULL };
  GMainContext *never = g_main_context_new (), *late;
  GCancellable *cancel = g_cancellable_new ();
  GHashTable *waiting;
  GThread *thread;
  GSource *kept = NULL, *stop;
  gint i;

  uploader.context = g_main_context_new ();
  uploader.loop = g_main_loop_new (uploader.context, FALSE);
  thread = g_thread_new ("uploader", uploader_run, &uploader);

  for (i = 0; i < 30; i++)
    {
      Try *try = g_new (Try, 1);

      try->uploader = &uploader;
      try->note = note_new (i);
      if (i % 6 == 5)
        {
          /* Attached where nobody iterates. */
          GSource *source = g_idle_source_new ();

          g_source_set_callback (source, try_again, try, try_free);
          g_source_attach (source, never);
          if (i == 17)
            kept = g_source_ref (source);
          g_source_unref (source);
        }
      else
        {
          g_main_context_invoke_full (uploader.context, G_PRIORITY_DEFAULT,
                                      enqueue, try, try_free);
        }
      if (i % 2)
        start_task (i, i % 3 ? cancel : NULL);
    }
  while (tasks_done < 15)
    g_main_context_iteration (NULL, TRUE);

  /* Of a context of their own, which runs no more than they need. */
  late = g_main_context_new ();
  g_main_context_push_thread_default (late);
  start_task (4, NULL);
  start_task (9, cancel);
  g_main_context_pop_thread_default (late);
  while (tasks_done < 17)
    g_main_context_iteration (late, TRUE);
  g_main_context_unref (late);

  /* After what waits there at the default priority; the idle ones may stay. */
  stop = g_timeout_source_new (10);
  g_source_set_callback (stop, quit, uploader.loop, NULL);
  g_source_attach (stop, uploader.context);
  waiting = g_thread_join (thread);
  g_source_unref (stop);
  g_print ("%d tries, %u waiting, %d tasks done\n", uploader.tries,
           g_hash_table_size (waiting), tasks_done);
  g_hash_table_unref (waiting);
  g_main_loop_unref (uploader.loop);
  g_main_context_unref (uploader.context);
  g_main_context_unref (never);
  g_print ("kept source destroyed: %d\n", g_source_is_destroyed (kept));
  g_source_unref (kept);
  g_object_unref (cancel);
  g_print ("%d notes live, %d bodies freed\n", notes_live, bodies_freed);
  return notes_live != 0;
}
