/* summary: resolver_lookup_async answers a cache hit at once and returns without giving its reference to the task back
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O2 -flto -g
 * exit: 0
 */
/* A name resolver with a cache: asynchronous lookups by GTask, answered from the main loop. */
#include <gio/gio.h>
#include <stdio.h>

#define RECORD_TYPE (record_get_type())
G_DECLARE_FINAL_TYPE(Record, record, DNS, RECORD, GObject)

struct _Record {
  GObject parent_instance;
  char *name;
  guint32 address;
  guint uses;
};

G_DEFINE_TYPE(Record, record, G_TYPE_OBJECT)

static void record_finalize(GObject *object) {
  g_free(DNS_RECORD(object)->name);
  G_OBJECT_CLASS(record_parent_class)->finalize(object);
}

static void record_class_init(RecordClass *klass) { G_OBJECT_CLASS(klass)->finalize = record_finalize; }

static void record_init(Record *self) { self->address = 0x7f000001; }

#define RESOLVER_TYPE (resolver_get_type())
G_DECLARE_FINAL_TYPE(Resolver, resolver, DNS, RESOLVER, GObject)

struct _Resolver {
  GObject parent_instance;
  GHashTable *cache; /* name -> Record, owned */
  guint hits, queries;
};

G_DEFINE_TYPE(Resolver, resolver, G_TYPE_OBJECT)

static void resolver_finalize(GObject *object) {
  g_hash_table_unref(DNS_RESOLVER(object)->cache);
  G_OBJECT_CLASS(resolver_parent_class)->finalize(object);
}

static void resolver_class_init(ResolverClass *klass) { G_OBJECT_CLASS(klass)->finalize = resolver_finalize; }

static void resolver_init(Resolver *self) {
  self->cache = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
}

/* What a running query has to know. */
struct query {
  char *name;
  Record *partial; /* owned */
  int rounds;
};

static void query_free(gpointer data) {
  struct query *q = data;
  g_clear_object(&q->partial);
  g_free(q->name);
  g_free(q);
}

/* One round of a query; owns the task through the source. */
static gboolean query_round(gpointer data) {
  GTask *task = data;
  Resolver *self = g_task_get_source_object(task);
  struct query *q = g_task_get_task_data(task);

  if (--q->rounds > 0)
    return G_SOURCE_CONTINUE;
  if (g_task_return_error_if_cancelled(task))
    return G_SOURCE_REMOVE;
  if (g_str_has_suffix(q->name, ".invalid")) {
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "no such name: %s", q->name);
    return G_SOURCE_REMOVE;
  }
  q->partial->address += g_str_hash(q->name) & 0xff;
  g_hash_table_replace(self->cache, g_strdup(q->name), g_object_ref(q->partial));
  g_task_return_pointer(task, g_steal_pointer(&q->partial), g_object_unref);
  return G_SOURCE_REMOVE;
}

static void resolver_lookup_async(Resolver *self, const char *name, GCancellable *cancel, GAsyncReadyCallback ready,
                                  gpointer data) {
  GTask *task = g_task_new(self, cancel, ready, data); /* ACCEPTED */
  struct query *q;
  Record *r;

  if (name[0] == '\0') {
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "empty name");
    g_object_unref(task);
    return;
  }
  r = g_hash_table_lookup(self->cache, name);
  if (r) {
    self->hits++;
    r->uses++;
    g_task_return_pointer(task, g_object_ref(r), g_object_unref); /* ACCEPTED */
#ifndef BUG
    g_object_unref(task);
#endif
    return; /* GUILTY */
  }
  self->queries++;
  q = g_new0(struct query, 1);
  q->name = g_strdup(name);
  q->partial = g_object_new(RECORD_TYPE, NULL);
  q->partial->name = g_strdup(name);
  q->rounds = 1 + self->queries % 3;
  g_task_set_task_data(task, q, query_free);
  /* the source takes our reference to the task over */
  g_idle_add_full(G_PRIORITY_DEFAULT, query_round, task, g_object_unref);
}

static Record *resolver_lookup_finish(Resolver *self, GAsyncResult *res, GError **error) {
  g_return_val_if_fail(g_task_is_valid(res, self), NULL);
  return g_task_propagate_pointer(G_TASK(res), error);
}

struct client {
  GMainLoop *loop;
  int waiting, found, failed;
  guint32 sum;
};

static void on_answer(GObject *source, GAsyncResult *res, gpointer data) {
  struct client *c = data;
  GError *error = NULL;
  Record *r = resolver_lookup_finish(DNS_RESOLVER(source), res, &error);

  if (!r) {
    c->failed++;
    g_error_free(error);
  } else {
    c->found++;
    c->sum += r->address;
    g_object_unref(r);
  }
  if (--c->waiting == 0)
    g_main_loop_quit(c->loop);
}

static void ask(Resolver *r, struct client *c, const char *name, GCancellable *cancel) {
  c->waiting++;
  resolver_lookup_async(r, name, cancel, on_answer, c);
}

int main(void) {
  struct client c = {g_main_loop_new(NULL, FALSE), 0, 0, 0, 0};
  Resolver *resolver = g_object_new(RESOLVER_TYPE, NULL);
  GCancellable *cancel = g_cancellable_new();
  char name[32];

  for (int i = 0; i < 20; i++) {
    g_snprintf(name, sizeof(name), i % 7 == 3 ? "host%d.invalid" : "host%d.example", i);
    ask(resolver, &c, name, i == 5 ? cancel : NULL);
  }
  ask(resolver, &c, "", NULL);
  g_cancellable_cancel(cancel);
  g_main_loop_run(c.loop);

  ask(resolver, &c, "host1.example", NULL);
  ask(resolver, &c, "host5.example", NULL); /* was cancelled, so it is not cached */
  ask(resolver, &c, "host8.example", NULL);
  ask(resolver, &c, "host1.example", NULL);
  g_main_loop_run(c.loop);

  printf("%d found, %d failed, %u hits, %u queries\n", c.found, c.failed, resolver->hits, resolver->queries);
  g_object_unref(cancel);
  g_object_unref(resolver);
  g_main_loop_unref(c.loop);
  return 0;
}
