/* summary: set_geometry gives back a floating variant that the store has already sunk
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: GVariant
 * packages: glib-2.0
 * build: gcc -O3 -g
 * exit: 0
 */
/* A settings store: keys with variant values, an undo history, and listeners who take snapshots. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

struct store {
  GHashTable *values; /* key -> GVariant, owned */
  GQueue history;     /* of GVariant, owned: what was set lately */
  guint limit;
  int changes;
};

/* Warnings of the libraries go to the log of the program, which is only counted here. */
static int warnings;

static void count_warning(const char *domain, GLogLevelFlags level, const char *message, gpointer data) { warnings++; }

static struct store *store_new(guint limit) {
  struct store *s = g_new0(struct store, 1);
  s->values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_variant_unref);
  g_queue_init(&s->history);
  s->limit = limit;
  return s;
}

static void store_trim(struct store *s, guint limit) {
  while (s->history.length > limit)
    g_variant_unref(g_queue_pop_head(&s->history));
}

static void store_free(struct store *s) {
  g_hash_table_unref(s->values);
  store_trim(s, 0);
  g_free(s);
}

/* A floating value is consumed, of others the store takes a reference of its own. */
static void store_set(struct store *s, const char *key, GVariant *value) {
  g_variant_ref_sink(value);
  g_queue_push_tail(&s->history, g_variant_ref(value));
  g_hash_table_replace(s->values, g_strdup(key), value);
  s->changes++;
  store_trim(s, s->limit);
}

static gboolean store_reset(struct store *s, const char *key) { return g_hash_table_remove(s->values, key); }

/* Returns a new reference or NULL. */
static GVariant *store_get(struct store *s, const char *key) {
  GVariant *v = g_hash_table_lookup(s->values, key);
  return v ? g_variant_ref(v) : NULL;
}

static gint64 store_get_int(struct store *s, const char *key, gint64 otherwise) {
  GVariant *v = store_get(s, key);
  gint64 n = otherwise;

  if (!v)
    return otherwise;
  if (g_variant_is_of_type(v, G_VARIANT_TYPE_INT64))
    n = g_variant_get_int64(v);
  g_variant_unref(v);
  return n;
}

/* Writes a value only if it is another one. */
static void store_update(struct store *s, const char *key, GVariant *value) {
  GVariant *old;

  g_variant_ref_sink(value);
  old = store_get(s, key);
  if (old && g_variant_equal(old, value)) {
    g_variant_unref(old);
    g_variant_unref(value);
    return;
  }
  store_set(s, key, value);
  g_clear_pointer(&old, g_variant_unref);
  g_variant_unref(value);
}

static void set_geometry(struct store *s, const char *window, int x, int y, int w, int h) {
  char *key = g_strconcat("geometry/", window, NULL);

  if (w <= 0 || h <= 0) {
    store_reset(s, key);
  } else if (x < 0) {
    /* let the window manager find a place */
    store_set(s, key, g_variant_new("(ii)", w, h));
  } else {
    GVariant *v = g_variant_new("(iiii)", x, y, w, h); /* ACCEPTED */
    store_set(s, key, v);
#ifdef BUG
    g_variant_unref(v); /* GUILTY */
#endif
  }
  g_free(key);
}

/* All values in one; the children are kept by it. */
static GVariant *snapshot(struct store *s, const char *prefix) {
  GVariantBuilder b;
  GHashTableIter it;
  gpointer key, value;

  g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
  g_hash_table_iter_init(&it, s->values);
  while (g_hash_table_iter_next(&it, &key, &value))
    if (g_str_has_prefix(key, prefix))
      g_variant_builder_add(&b, "{sv}", key, value);
  return g_variant_ref_sink(g_variant_builder_end(&b));
}

static int load(struct store *s) {
  char key[32];

  for (int i = 0; i < 24; i++) {
    g_snprintf(key, sizeof(key), "number/%d", i);
    store_set(s, key, g_variant_new_int64(i * i));
  }
  for (int i = 0; i < 24; i += 3) {
    g_snprintf(key, sizeof(key), "number/%d", i);
    store_update(s, key, g_variant_new_int64(i % 2 ? i * i : -i));
  }
  GVariant *shared = g_variant_ref_sink(g_variant_new_strv((const char *const[]){"en", "de"}, 2));
  store_set(s, "languages", shared);
  store_set(s, "fallback", shared);
  g_variant_unref(shared);
  return s->changes;
}

int main(void) {
  g_log_set_default_handler(count_warning, NULL);
  struct store *s = store_new(6);
  gint64 sum = load(s);

  GVariant *snap = snapshot(s, "number/1");
  sum += (gint64)g_variant_n_children(snap);
  for (int i = 0; i < 24; i++) {
    char key[32];
    g_snprintf(key, sizeof(key), "number/%d", i);
    sum += store_get_int(s, key, 0);
  }
  g_variant_unref(snap);

  set_geometry(s, "main", -1, -1, 800, 600);
  set_geometry(s, "help", 0, 0, 0, 0);
  set_geometry(s, "tools", 10, 20, 120, 400);
  set_geometry(s, "log", 30, 700, 600, 90);
  /* the session ends: no more undo, and the places of the windows are not kept */
  store_trim(s, 0);
  sum += store_reset(s, "geometry/tools") + store_reset(s, "geometry/log") + store_reset(s, "geometry/none");
  store_free(s);
#ifdef TRUTH
  printf("%d warnings\n", warnings);
#endif
  printf("sum %" G_GINT64_FORMAT "\n", sum);
  return 0;
}
