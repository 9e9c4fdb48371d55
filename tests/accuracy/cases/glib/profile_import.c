/* summary: import_profile skips an obsolete option without giving back the value it took out of the entry
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GVariant
 * packages: glib-2.0
 * build: clang -O2 -g
 * exit: 0
 */
/* Imports the profiles of an older version of a program: a file of variants in text form. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    "{'work': {'name': <'Office'>, 'size': <uint32 12>, 'theme': <('dark', 3)>, 'bell': <true>},"
    " 'home': {'name': <'Home'>, 'size': <uint32 14>, 'x11-font': <'fixed'>, 'dirs': <['a', 'b']>},"
    " 'lab': {'size': <uint32 9>, 'x11-color': <'red'>, 'x11-font': <'6x13'>, 'name': <'Lab'>},"
    " 'tv': {'name': <'Big'>, 'size': <uint32 40>, 'theme': <('light', 1)>, 'dirs': <['c']>}}";

struct profile {
  char *id;
  char *name;
  guint32 size;
  GVariant *theme; /* owned, NULL for the default */
  GPtrArray *rest; /* owned variants that nobody understands */
};

static GVariant *default_theme;

static void profile_free(gpointer data) {
  struct profile *p = data;
  g_free(p->id);
  g_free(p->name);
  g_clear_pointer(&p->theme, g_variant_unref);
  g_ptr_array_unref(p->rest);
  g_free(p);
}

/* Options of the old graphics system; the new one has no use for them. */
static gboolean is_obsolete(const char *key) { return g_str_has_prefix(key, "x11-"); }

static struct profile *import_profile(const char *id, GVariant *options, int *skipped) {
  struct profile *p = g_new0(struct profile, 1);
  gsize n = g_variant_n_children(options);

  p->id = g_strdup(id);
  p->rest = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
  for (gsize i = 0; i < n; i++) {
    GVariant *entry = g_variant_get_child_value(options, i);
    GVariant *key = g_variant_get_child_value(entry, 0);
    GVariant *boxed = g_variant_get_child_value(entry, 1);
    GVariant *value = g_variant_get_variant(boxed); /* ACCEPTED */
    const char *k = g_variant_get_string(key, NULL);

    g_variant_unref(boxed);
    g_variant_unref(entry);
    if (is_obsolete(k)) {
      ++*skipped;
#ifndef BUG
      g_variant_unref(value);
#endif
      g_variant_unref(key); /* ACCEPTED */
      continue;             /* GUILTY */
    }
    if (strcmp(k, "name") == 0) {
      p->name = g_variant_dup_string(value, NULL);
      g_variant_unref(value);
    } else if (strcmp(k, "size") == 0) {
      p->size = g_variant_get_uint32(value);
      g_variant_unref(value);
    } else if (strcmp(k, "theme") == 0) {
      p->theme = value; /* the profile has it now */
    } else {
      g_ptr_array_add(p->rest, value);
    }
    g_variant_unref(key);
  }
  return p;
}

static GPtrArray *import_all(GVariant *file, int *skipped) {
  GPtrArray *profiles = g_ptr_array_new_with_free_func(profile_free);
  GVariantIter it;
  const char *id;
  GVariant *options;

  /* the loop frees "options" by itself, for there is no break */
  g_variant_iter_init(&it, file);
  while (g_variant_iter_loop(&it, "{&s@a{sv}}", &id, &options))
    g_ptr_array_add(profiles, import_profile(id, options, skipped));
  return profiles;
}

/* Borrowed. */
static GVariant *profile_theme(struct profile *p) { return p->theme ? p->theme : default_theme; }

static int theme_level(GVariant *theme) {
  GVariant *level = g_variant_get_child_value(theme, 1);
  int n = g_variant_get_int32(level);
  g_variant_unref(level);
  return n;
}

static int count_dirs(struct profile *p) {
  int n = 0;
  for (guint i = 0; i < p->rest->len; i++) {
    GVariant *v = p->rest->pdata[i], *dir;
    GVariantIter it;
    if (!g_variant_is_of_type(v, G_VARIANT_TYPE_STRING_ARRAY))
      continue;
    g_variant_iter_init(&it, v);
    while ((dir = g_variant_iter_next_value(&it)) != NULL) {
      n += (int)g_variant_get_size(dir);
      if (g_variant_get_string(dir, NULL)[0] == 'b') {
        g_variant_unref(dir);
        break;
      }
      g_variant_unref(dir);
    }
  }
  return n;
}

/* Looks one option up without importing anything. */
static guint32 peek_size(GVariant *file, const char *id) {
  guint32 size = 0;
  GVariant *options = g_variant_lookup_value(file, id, G_VARIANT_TYPE_VARDICT);
  if (!options)
    return 0;
  GVariant *v = g_variant_lookup_value(options, "size", NULL);
  if (v && g_variant_is_of_type(v, G_VARIANT_TYPE_UINT32))
    size = g_variant_get_uint32(v);
  g_clear_pointer(&v, g_variant_unref);
  g_variant_unref(options);
  return size;
}

int main(void) {
  GError *error = NULL;
  int skipped = 0, sum = 0;
  GVariant *file = g_variant_parse(G_VARIANT_TYPE("a{sa{sv}}"), text, NULL, NULL, &error);

  if (!file) {
    printf("%s\n", error->message);
    g_error_free(error);
    return 1;
  }
  default_theme = g_variant_ref_sink(g_variant_new("(si)", "plain", 2));
  sum += (int)peek_size(file, "tv") + (int)peek_size(file, "nobody");
  GPtrArray *profiles = import_all(file, &skipped);
  g_variant_unref(file);
  for (guint i = 0; i < profiles->len; i++) {
    struct profile *p = profiles->pdata[i];
    sum += (int)p->size + theme_level(profile_theme(p)) + count_dirs(p);
  }
  printf("%u profiles, sum %d, %d obsolete options\n", profiles->len, sum, skipped);
  g_ptr_array_unref(profiles);
  g_variant_unref(default_theme);
  return 0;
}
