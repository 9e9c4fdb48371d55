/* summary: defer_timeout returns the id of an attached timer without giving its own reference to the source back
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GSource GMainContext GMainLoop
 * packages: glib-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/* Deferred calls on a main context of their own: idle calls, timers, and calls from elsewhere. */
#include <glib.h>
#include <stdio.h>

struct deferrer {
  GMainContext *context;
  GMainLoop *loop;
  GHashTable *named; /* name -> GSource, owned; a second call with this name replaces the first */
  int pending;
  int calls, dropped;
  long sum;
};

/* A call; counted, because its source and the log may own it both. */
struct call {
  gatomicrefcount refs;
  struct deferrer *d;
  int value;
  int repeat;
  char *name; /* NULL if it has none */
};

static struct call *call_new(struct deferrer *d, int value, int repeat, const char *name) {
  struct call *c = g_new0(struct call, 1);
  g_atomic_ref_count_init(&c->refs);
  c->d = d;
  c->value = value;
  c->repeat = repeat;
  c->name = g_strdup(name);
  d->pending++;
  return c;
}

static void call_unref(gpointer data) {
  struct call *c = data;
  if (!g_atomic_ref_count_dec(&c->refs))
    return;
  if (c->repeat > 0)
    c->d->dropped++;
  if (--c->d->pending == 0)
    g_main_loop_quit(c->d->loop);
  g_free(c->name);
  g_free(c);
}

static gboolean call_run(gpointer data) {
  struct call *c = data;
  c->d->calls++;
  c->d->sum += c->value;
  if (--c->repeat > 0)
    return G_SOURCE_CONTINUE;
  if (c->name)
    g_hash_table_remove(c->d->named, c->name);
  return G_SOURCE_REMOVE;
}

static struct deferrer *deferrer_new(void) {
  struct deferrer *d = g_new0(struct deferrer, 1);
  d->context = g_main_context_new();
  d->loop = g_main_loop_new(d->context, FALSE);
  d->named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_source_unref);
  return d;
}

static void deferrer_free(struct deferrer *d) {
  g_hash_table_unref(d->named);
  g_main_loop_unref(d->loop);
  g_main_context_unref(d->context);
  g_free(d);
}

static guint defer_idle(struct deferrer *d, int value, int repeat) {
  GSource *s = g_idle_source_new();
  guint id;

  g_source_set_priority(s, G_PRIORITY_DEFAULT);
  g_source_set_callback(s, call_run, call_new(d, value, repeat, NULL), call_unref);
  id = g_source_attach(s, d->context);
  g_source_unref(s);
  return id;
}

/* With a delay of 0 the call is made as soon as the loop is idle. */
static guint defer_timeout(struct deferrer *d, guint ms, int value, int repeat) {
  GSource *s; /* the context keeps it once it is attached */

  if (ms == 0)
    return defer_idle(d, value, repeat);
  s = g_timeout_source_new(ms); /* ACCEPTED */
  g_source_set_callback(s, call_run, call_new(d, value, repeat, NULL), call_unref);
#ifdef BUG
  return g_source_attach(s, d->context); /* GUILTY */
#else
  guint id = g_source_attach(s, d->context);
  g_source_unref(s);
  return id;
#endif
}

/* The table owns the source besides the context. */
static void defer_named(struct deferrer *d, const char *name, int value) {
  GSource *s, *old = g_hash_table_lookup(d->named, name);

  if (old)
    g_source_destroy(old);
  s = g_idle_source_new();
  g_source_set_callback(s, call_run, call_new(d, value, 1, name), call_unref);
  g_source_attach(s, d->context);
  g_hash_table_replace(d->named, g_strdup(name), s); /* takes our reference; the old one goes */
}

/* At once if the context is ours, else by a source. */
static void call_now(struct deferrer *d, int value) {
  g_main_context_invoke_full(d->context, G_PRIORITY_HIGH, call_run, call_new(d, value, 1, NULL), call_unref);
}

static gboolean cancel(struct deferrer *d, guint id) {
  GSource *s = g_main_context_find_source_by_id(d->context, id);
  if (!s)
    return FALSE;
  /* the destroy notify must not pull the source away under our hands */
  g_source_ref(s);
  g_source_destroy(s);
  gboolean gone = g_source_is_destroyed(s);
  g_source_unref(s);
  return gone;
}

static gboolean tick(gpointer data) {
  *(int *)data += 1;
  return G_SOURCE_CONTINUE;
}

int main(void) {
  struct deferrer *d = deferrer_new();
  guint ids[24];
  int ticks = 0, cancelled = 0;

  /* our own ticker stays attached to the end; the owner destroys it */
  GSource *ticker = g_idle_source_new();
  g_source_set_callback(ticker, tick, &ticks, NULL);
  g_source_attach(ticker, d->context);

  for (int i = 0; i < 24; i++)
    ids[i] = i % 8 == 5 ? defer_timeout(d, 1 + (guint)i / 8, i, 1) : defer_timeout(d, 0, i, 1 + i % 3);
  defer_named(d, "save", 100);
  defer_named(d, "redraw", 200);
  defer_named(d, "save", 300);
  call_now(d, 1000);
  for (int i = 2; i < 24; i += 9)
    cancelled += cancel(d, ids[i]);
  cancelled += cancel(d, 4711);

  g_main_context_push_thread_default(d->context);
  call_now(d, 2000);
  g_main_loop_run(d->loop);
  g_main_context_pop_thread_default(d->context);
  g_source_destroy(ticker);
  g_source_unref(ticker);

  printf("%d calls, sum %ld, %d cancelled, %d dropped, %s\n", d->calls, d->sum, cancelled, d->dropped,
         ticks > 0 ? "ticked" : "silent");
  deferrer_free(d);
  return 0;
}
