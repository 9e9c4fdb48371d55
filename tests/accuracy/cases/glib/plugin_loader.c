/* summary: activate_default puts a plugin that an automatic variable owns into an array that owns its members, without a reference and without stealing it
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: GObject GPtrArray
 * packages: gobject-2.0
 * build: clang -O2 -g
 * exit: 0
 */
/* Plugins: a registry of all, sets of active ones per document, and one who is asked first. */
#include <glib-object.h>
#include <stdio.h>

#define PLUGIN_TYPE (plugin_get_type())
G_DECLARE_FINAL_TYPE(Plugin, plugin, APP, PLUGIN, GObject)

struct _Plugin {
  GObject parent_instance;
  int id;
  int level;
  int used;
};

G_DEFINE_TYPE(Plugin, plugin, G_TYPE_OBJECT)

static int plugins_ended;

static void plugin_finalize(GObject *object) {
  plugins_ended++;
  G_OBJECT_CLASS(plugin_parent_class)->finalize(object);
}

static void plugin_class_init(PluginClass *klass) { G_OBJECT_CLASS(klass)->finalize = plugin_finalize; }

static void plugin_init(Plugin *self) { self->level = 1; }

#define MAX_PLUGINS 40

/* Every plugin that could be loaded; they stay until the program ends. */
static Plugin *registry[MAX_PLUGINS];
static int n_registry;

/* Returns a new reference, or NULL if the plugin is too new for us. */
static Plugin *plugin_load(int id) {
  g_autoptr(Plugin) p = g_object_new(PLUGIN_TYPE, NULL);

  p->id = id;
  p->level = 1 + id % 5;
  if (p->level == 5 && id > 20)
    return NULL;
  g_assert(n_registry < MAX_PLUGINS);
  registry[n_registry++] = g_object_ref(p);
  return g_steal_pointer(&p);
}

/* Returns a new reference or NULL. */
static Plugin *plugin_find(int id) {
  for (int i = 0; i < n_registry; i++)
    if (registry[i]->id == id)
      return g_object_ref(registry[i]);
  return NULL;
}

/* What a document uses. */
struct document {
  GPtrArray *active; /* owned plugins; shared between copies of a document until one is changed */
  Plugin *first;     /* owned */
};

static struct document *document_new(void) {
  struct document *d = g_new0(struct document, 1);
  d->active = g_ptr_array_new_with_free_func(g_object_unref);
  return d;
}

static struct document *document_copy(const struct document *from) {
  struct document *d = g_new0(struct document, 1);
  d->active = g_ptr_array_ref(from->active);
  if (from->first)
    d->first = g_object_ref(from->first);
  return d;
}

static void document_free(struct document *d) {
  g_clear_object(&d->first);
  g_ptr_array_unref(d->active);
  g_free(d);
}

static gboolean is_active(const struct document *d, const Plugin *p) { return g_ptr_array_find(d->active, p, NULL); }

static gboolean activate(struct document *d, int id) {
  g_autoptr(Plugin) p = plugin_find(id);

  if (!p || is_active(d, p))
    return FALSE;
  g_set_object(&d->first, p);
  g_ptr_array_add(d->active, g_steal_pointer(&p));
  return TRUE;
}

static gboolean deactivate(struct document *d, int id) {
  g_autoptr(Plugin) p = plugin_find(id);
  if (!p)
    return FALSE;
  if (d->first == p)
    g_clear_object(&d->first);
  return g_ptr_array_remove(d->active, p);
}

/* A document without any plugin gets one of its own: the best one of the level that is not in use yet. */
static int activate_default(struct document *d, int level) {
  g_autoptr(Plugin) best = NULL; /* ACCEPTED */

  if (d->active->len > 0)
    return 0;
  for (int i = 0; i < n_registry; i++) {
    g_autoptr(Plugin) p = g_object_ref(registry[i]);
    if (p->level != level || p->used > 0)
      continue;
    g_set_object(&best, p);
  }
  if (!best)
    return -1;
#ifdef BUG
  g_ptr_array_add(d->active, best); /* GUILTY */
#else
  g_ptr_array_add(d->active, g_object_ref(best));
#endif
  return best->id; /* ACCEPTED */
}

/* Changes the set of this copy only. */
static void own_set(struct document *d) {
  g_autoptr(GPtrArray) shared = d->active;
  d->active = g_ptr_array_new_full(shared->len, g_object_unref);
  for (guint i = 0; i < shared->len; i++)
    g_ptr_array_add(d->active, g_object_ref(shared->pdata[i]));
}

static int use(struct document *d) {
  int sum = 0;
  for (guint i = 0; i < d->active->len; i++) {
    Plugin *p = d->active->pdata[i];
    p->used++;
    sum += p->id;
  }
  return sum;
}

int main(void) {
  long sum = 0;
  int failed = 0;

  for (int i = 0; i < 30; i++) {
    g_autoptr(Plugin) p = plugin_load(i);
    if (!p)
      failed++;
  }
  struct document *letter = document_new(), *table = document_new(), *sheet = document_new(), *empty = document_new();
  for (int i = 0; i < 20; i++)
    sum += activate(i % 3 ? letter : table, i);
  sum += activate(letter, 1) + activate(letter, 99) + deactivate(letter, 2) + deactivate(table, 77);

  struct document *copy = document_copy(letter);
  own_set(copy);
  sum += deactivate(copy, 4) + deactivate(copy, 19) + activate(copy, 27);
  sum += use(letter) + use(table) + use(copy);

  sum += activate_default(letter, 2);
  sum += activate_default(sheet, 1);
  sum += activate_default(empty, 2);
  sum += use(sheet) + use(empty);
  document_free(copy);
  document_free(letter);
  document_free(sheet);
  document_free(table);
  document_free(empty);

  for (int i = 0; i < n_registry; i++)
    sum += registry[i]->used * registry[i]->level;
#ifdef TRUTH
  printf("%d plugins ended\n", plugins_ended);
#endif
  printf("sum %ld, %d plugins, %d failed\n", sum, n_registry, failed);
  return 0;
}
