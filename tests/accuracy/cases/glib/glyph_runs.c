/* summary: atlas_stats declares the bytes it has looked up in the cache g_autoptr, although g_hash_table_lookup() only lends them
 * kind: extra-put
 * counts: deficit
 * objects: 5
 * track: GBytes
 * packages: glib-2.0
 * build: gcc -Og -g
 * exit: 0
 */
/* Text runs of a user interface: the shaped glyphs of a run are kept as GBytes in a cache, lines of text hold those
 * they are made of. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  guint16 glyph;
  gint16 advance;
} Glyph;

typedef struct {
  GHashTable *runs; /* gchar* -> GBytes, owned */
  guint hits, misses;
} Atlas;

typedef struct {
  GPtrArray *runs; /* of GBytes, owned */
  gint width;
} Line;

static GBytes *shape(const gchar *word) {
  gsize n = strlen(word);
  Glyph *glyphs = g_new(Glyph, n);

  for (gsize i = 0; i < n; i++) {
    glyphs[i].glyph = (guint16)(word[i] * 3 + 1);
    glyphs[i].advance = word[i] == 'i' || word[i] == 'l' ? 3 : 7;
  }
  return g_bytes_new_take(glyphs, n * sizeof(Glyph));
}

static Atlas *atlas_new(void) {
  Atlas *atlas = g_new0(Atlas, 1);

  atlas->runs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
  return atlas;
}

static void atlas_free(Atlas *atlas) {
  g_hash_table_unref(atlas->runs);
  g_free(atlas);
}

/* (transfer full) */
static GBytes *atlas_get_run(Atlas *atlas, const gchar *word) {
  GBytes *run = g_hash_table_lookup(atlas->runs, word);

  if (run) {
    atlas->hits++;
    return g_bytes_ref(run);
  }
  atlas->misses++;
  run = shape(word);
  g_hash_table_insert(atlas->runs, g_strdup(word), g_bytes_ref(run));
  return run;
}

/* How many bytes the runs of the named words take. */
static gsize atlas_stats(Atlas *atlas, const gchar *const *words) {
  gsize sum = 0;

  for (; *words; words++) {
#ifdef BUG
    g_autoptr(GBytes) run = g_hash_table_lookup(atlas->runs, *words); /* GUILTY */
#else
    GBytes *run = g_hash_table_lookup(atlas->runs, *words);
#endif
    if (!run)
      continue;
    sum += g_bytes_get_size(run);
  } /* ACCEPTED */
  return sum;
}

static gint run_width(GBytes *run) {
  gsize size;
  const Glyph *g = g_bytes_get_data(run, &size);
  gint width = 0;

  for (gsize i = 0; i < size / sizeof *g; i++)
    width += g[i].advance;
  return width;
}

static Line *line_new(void) {
  Line *line = g_new0(Line, 1);

  line->runs = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
  return line;
}

static void line_free(gpointer p) {
  Line *line = p;

  g_ptr_array_unref(line->runs);
  g_free(line);
}

/* Breaks `text` at `limit`; returns an array of lines. */
static GPtrArray *layout(Atlas *atlas, const gchar *text, gint limit) {
  GPtrArray *lines = g_ptr_array_new_with_free_func(line_free);
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  Line *line = NULL;

  for (guint i = 0; words[i]; i++) {
    g_autoptr(GBytes) run = atlas_get_run(atlas, words[i]);
    gint w = run_width(run);

    if (!line || line->width + w > limit) {
      line = line_new();
      g_ptr_array_add(lines, line);
    }
    line->width += w + 4;
    g_ptr_array_add(line->runs, g_steal_pointer(&run));
  }
  return lines;
}

int main(void) {
  static const gchar *const texts[] = {
      "the quick brown fox jumps over the lazy dog",
      "the dog sleeps while the fox runs over the hill",
      "pack my box with five dozen liquor jugs",
      "how quickly daft jumping zebras vex the dog",
  };
  static const gchar *const common[] = {"the", "dog", "over", "fox", "of", "hill", NULL};
  Atlas *atlas = atlas_new();
  GPtrArray *pages[4];
  guint lines = 0;
  gsize common_size;

  for (int i = 0; i < 4; i++) {
    pages[i] = layout(atlas, texts[i], 90 + 30 * i);
    lines += pages[i]->len;
  }
  common_size = atlas_stats(atlas, common);
  printf("%u lines, %u runs, %u hits, %u misses, common words take %zu bytes\n", lines,
         g_hash_table_size(atlas->runs), atlas->hits, atlas->misses, common_size);
  for (int i = 0; i < 4; i++)
    g_ptr_array_unref(pages[i]);
  atlas_free(atlas);
  return 0;
}
