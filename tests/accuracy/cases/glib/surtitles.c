/* summary: production_tour keeps the house's glossary of the new language without a reference of its own, which production_finalize gives back
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: glib
 * packages: gobject-2.0
 * build: gcc -O0 -g
 * exit: 0
 */
/* Surtitles of an opera house. The house has a glossary for each language, a table from words of the libretto to words
 * for the screen. A production uses the house's glossary or, when the director wants other words, one of its own. */
#include <glib-object.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------ house */

typedef struct {
  GHashTable *glossaries; /* language -> GHashTable of words, owned */
  GPtrArray *season;      /* of Production */
  guint tables_made;
} House;

#define PRODUCTION_TYPE (production_get_type())
G_DECLARE_FINAL_TYPE(Production, production, OPERA, PRODUCTION, GObject)

struct _Production {
  GObject parent_instance;
  char *name;
  char *language;
  GHashTable *glossary; /* owned */
  GPtrArray *lines;     /* what was shown */
  guint unknown;
  gboolean on_tour;
};

G_DEFINE_TYPE(Production, production, G_TYPE_OBJECT)

static void production_finalize(GObject *object) {
  Production *self = OPERA_PRODUCTION(object);

  g_ptr_array_unref(self->lines);
  g_clear_pointer(&self->glossary, g_hash_table_unref);
  g_free(self->language);
  g_free(self->name);
  G_OBJECT_CLASS(production_parent_class)->finalize(object);
}

static void production_class_init(ProductionClass *klass) { G_OBJECT_CLASS(klass)->finalize = production_finalize; }

static void production_init(Production *self) { self->lines = g_ptr_array_new_with_free_func(g_free); }

/* ------------------------------------------------ glossaries */

static GHashTable *glossary_new(House *house) {
  house->tables_made++;
  return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

static void glossary_put(GHashTable *glossary, const char *word, const char *prefix) {
  g_hash_table_replace(glossary, g_strdup(word), g_strconcat(prefix, word, NULL));
}

static const char *const words[] = {"amor", "morte", "cor", "notte", "spada", "re", "mare", "addio"};

static void house_fill(House *house, const char *language) {
  GHashTable *glossary = glossary_new(house);

  for (guint i = 0; i < G_N_ELEMENTS(words) - 1; i++)
    glossary_put(glossary, words[i], language);
  g_hash_table_insert(house->glossaries, g_strdup(language), glossary);
}

/* NULL: nobody has translated into that language yet. */
static GHashTable *house_glossary(House *house, const char *language) {
  return g_hash_table_lookup(house->glossaries, language);
}

/* The house's words and on top of them those of the director; a new table. */
static GHashTable *glossary_with(House *house, GHashTable *base, const char *const *extra) {
  GHashTable *glossary = glossary_new(house);
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init(&iter, base);
  while (g_hash_table_iter_next(&iter, &key, &value))
    g_hash_table_insert(glossary, g_strdup(key), g_strdup(value));
  for (guint i = 0; extra[i] != NULL; i++)
    glossary_put(glossary, extra[i], "director:");
  return glossary;
}

/* ------------------------------------------------ productions */

static Production *production_new(House *house, const char *name, const char *language, const char *const *extra) {
  GHashTable *base = house_glossary(house, language);
  Production *p;

  if (base == NULL)
    return NULL;
  p = g_object_new(PRODUCTION_TYPE, NULL);
  p->name = g_strdup(name);
  p->language = g_strdup(language);
  p->glossary = extra != NULL ? glossary_with(house, base, extra) : g_hash_table_ref(base);
  return p;
}

/* Goes to a theatre abroad, where the titles are in another language. The director's words stay at home. */
static gboolean production_tour(Production *p, House *house, const char *language) {
  GHashTable *glossary = house_glossary(house, language); /* ACCEPTED */

  if (glossary == NULL || strcmp(p->language, language) == 0)
    return FALSE;
  g_free(p->language);
  p->language = g_strdup(language);
  g_hash_table_unref(p->glossary);
#ifdef BUG
  p->glossary = glossary; /* GUILTY */
#else
  p->glossary = g_hash_table_ref(glossary);
#endif
  p->on_tour = TRUE;
  return TRUE;
}

/* An evening with a guest who sings one role in her own version. */
static void production_guest(Production *p, House *house, const char *word) {
  const char *extra[] = {word, NULL};
  GHashTable *usual = g_hash_table_ref(p->glossary);
  GHashTable *evening = glossary_with(house, usual, extra);

  g_hash_table_unref(p->glossary);
  p->glossary = evening;
  g_ptr_array_add(p->lines, g_strdup(g_hash_table_lookup(p->glossary, word)));
  g_hash_table_unref(p->glossary);
  p->glossary = usual;
}

static void production_play(Production *p, guint evening) {
  for (guint i = 0; i < 5; i++) {
    const char *shown = g_hash_table_lookup(p->glossary, words[(evening * 3 + i * 5) % G_N_ELEMENTS(words)]);

    if (shown == NULL)
      p->unknown++;
    else
      g_ptr_array_add(p->lines, g_strdup(shown));
  }
}

/* ------------------------------------------------ season */

static void house_open(House *house) {
  static const char *const languages[] = {"de:", "fr:", "en:", "pl:", "fi:"};

  house->glossaries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_hash_table_unref);
  house->season = g_ptr_array_new_with_free_func(g_object_unref);
  for (guint i = 0; i < G_N_ELEMENTS(languages); i++)
    house_fill(house, languages[i]);
}

static guint house_plan(House *house) {
  static const struct {
    const char *name, *language;
    gboolean own_words;
  } plan[] = {{"Orfeo", "de:", FALSE},  {"Norma", "de:", TRUE},   {"Tosca", "fr:", FALSE}, {"Armida", "en:", FALSE},
              {"Macbeth", "xx:", TRUE}, {"Ernani", "pl:", FALSE}, {"Aida", "fi:", TRUE},   {"Alcina", "de:", FALSE},
              {"Nabucco", "fr:", TRUE}, {"Otello", "en:", FALSE}};
  static const char *const extra[] = {"addio", "re", NULL};
  guint refused = 0;

  for (guint i = 0; i < G_N_ELEMENTS(plan); i++) {
    Production *p = production_new(house, plan[i].name, plan[i].language, plan[i].own_words ? extra : NULL);

    if (p == NULL)
      refused++;
    else
      g_ptr_array_add(house->season, p);
  }
  return refused;
}

static guint house_tours(House *house) {
  static const struct {
    guint production;
    const char *language;
  } tours[] = {{0, "fr:"}, {3, "en:"}, {5, "de:"}, {6, "en:"}, {2, "it:"}};
  guint gone = 0;

  for (guint i = 0; i < G_N_ELEMENTS(tours); i++)
    gone += production_tour(g_ptr_array_index(house->season, tours[i].production), house, tours[i].language);
  return gone;
}

int main(void) {
  House house = {0};
  guint refused, gone;

  house_open(&house);
  refused = house_plan(&house);
  for (guint evening = 0; evening < 6; evening++)
    for (guint i = 0; i < house.season->len; i++) {
      Production *p = g_ptr_array_index(house.season, i);

      production_play(p, evening + i);
      if ((evening + i) % 7 == 3)
        production_guest(p, &house, "mare");
    }
  gone = house_tours(&house);
  for (guint evening = 0; evening < 4; evening++)
    for (guint i = 0; i < house.season->len; i++) {
      Production *p = g_ptr_array_index(house.season, i);

      if (p->on_tour || evening % 2 == 0)
        production_play(p, evening + i);
    }
  for (guint i = 0; i < house.season->len; i++) {
    Production *p = g_ptr_array_index(house.season, i);

    printf("%-8s %s %u lines, %u unknown%s\n", p->name, p->language, p->lines->len, p->unknown,
           p->on_tour ? ", on tour" : "");
  }
  printf("%u tables, %u refused, %u tours\n", house.tables_made, refused, gone);
  g_ptr_array_unref(house.season);
  g_hash_table_unref(house.glossaries);
  return 0;
}
