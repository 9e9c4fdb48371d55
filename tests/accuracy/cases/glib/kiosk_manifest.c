/* summary: slide_from_entry returns for an entry whose timing has the wrong type without giving the picture back that it has looked up before
 * kind: missing-put
 * counts: surplus
 * objects: 6
 * track: glib
 * packages: gio-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/* Screens of a museum: every hall has a manifest, a dictionary of entries that curators edit by hand, and a show that is
 * made of it. A show goes on with the slides it could read. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define HALLS 5
#define ENTRIES 13

/* ------------------------------------------------ slide */

#define KIOSK_TYPE_SLIDE (kiosk_slide_get_type())
G_DECLARE_FINAL_TYPE(KioskSlide, kiosk_slide, KIOSK, SLIDE, GObject)

struct _KioskSlide {
  GObject parent_instance;
  char *title;
  GVariant *picture; /* ay, owned */
  GVariant *labels;  /* a{ss}, owned, may be NULL */
  guint seconds, fade;
};

G_DEFINE_TYPE(KioskSlide, kiosk_slide, G_TYPE_OBJECT)

static void kiosk_slide_finalize(GObject *object) {
  KioskSlide *self = KIOSK_SLIDE(object);

  g_clear_pointer(&self->picture, g_variant_unref);
  g_clear_pointer(&self->labels, g_variant_unref);
  g_free(self->title);
  G_OBJECT_CLASS(kiosk_slide_parent_class)->finalize(object);
}

static void kiosk_slide_class_init(KioskSlideClass *klass) { G_OBJECT_CLASS(klass)->finalize = kiosk_slide_finalize; }

static void kiosk_slide_init(KioskSlide *self) {
  self->seconds = 10;
  self->fade = 1;
}

/* ------------------------------------------------ show */

typedef struct {
  GPtrArray *slides;
  GHashTable *by_title; /* borrows from slides */
  guint skipped, replaced;
  gsize bytes;
} Show;

static Show *show_new(void) {
  Show *show = g_new0(Show, 1);

  show->slides = g_ptr_array_new_with_free_func(g_object_unref);
  show->by_title = g_hash_table_new(g_str_hash, g_str_equal);
  return show;
}

static void show_free(Show *show) {
  g_hash_table_unref(show->by_title);
  g_ptr_array_unref(show->slides);
  g_free(show);
}

/* Takes the slide over. */
static void show_add(Show *show, KioskSlide *slide) {
  KioskSlide *old = g_hash_table_lookup(show->by_title, slide->title);

  if (old != NULL) { /* the later entry counts */
    g_hash_table_remove(show->by_title, old->title);
    show->bytes -= g_variant_get_size(old->picture);
    g_ptr_array_remove(show->slides, old);
    show->replaced++;
  }
  g_ptr_array_add(show->slides, slide);
  g_hash_table_insert(show->by_title, slide->title, slide);
  show->bytes += g_variant_get_size(slide->picture);
}

static guint show_length(Show *show) {
  guint seconds = 0;

  for (guint i = 0; i < show->slides->len; i++) {
    KioskSlide *slide = g_ptr_array_index(show->slides, i);
    seconds += slide->seconds + slide->fade;
  }
  return seconds;
}

/* ------------------------------------------------ manifest */

static gboolean read_labels(KioskSlide *slide, GVariant *entry, GError **error) {
  GVariant *labels = g_variant_lookup_value(entry, "labels", NULL);

  if (labels == NULL)
    return TRUE;
  if (!g_variant_is_of_type(labels, G_VARIANT_TYPE("a{ss}"))) {
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "labels of '%s'", slide->title);
    g_variant_unref(labels);
    return FALSE;
  }
  slide->labels = labels;
  return TRUE;
}

static KioskSlide *slide_from_entry(GVariant *entry, GError **error) {
  GVariant *picture, *timing;
  KioskSlide *slide;
  const char *title;

  if (!g_variant_lookup(entry, "title", "&s", &title)) {
    g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "no title");
    return NULL;
  }
  picture = g_variant_lookup_value(entry, "picture", G_VARIANT_TYPE_BYTESTRING); /* ACCEPTED */
  if (picture == NULL) {
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "no picture of '%s'", title);
    return NULL;
  }
  timing = g_variant_lookup_value(entry, "timing", NULL);
  if (timing != NULL && !g_variant_is_of_type(timing, G_VARIANT_TYPE("(uu)"))) {
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "timing of '%s' is '%s'", title,
                g_variant_get_type_string(timing));
    g_variant_unref(timing);
#ifdef BUG
    return NULL; /* GUILTY */
#else
    g_variant_unref(picture);
    return NULL;
#endif
  }
  slide = g_object_new(KIOSK_TYPE_SLIDE, NULL);
  slide->title = g_strdup(title);
  slide->picture = picture;
  if (timing != NULL) {
    g_variant_get(timing, "(uu)", &slide->seconds, &slide->fade);
    g_variant_unref(timing);
  }
  if (!read_labels(slide, entry, error))
    g_clear_object(&slide);
  return slide;
}

static Show *show_from_manifest(GVariant *manifest) {
  Show *show = show_new();
  gsize n = g_variant_n_children(manifest);

  for (gsize i = 0; i < n; i++) {
    GVariant *entry = g_variant_get_child_value(manifest, i);
    GError *error = NULL;
    KioskSlide *slide = slide_from_entry(entry, &error);

    g_variant_unref(entry);
    if (slide == NULL) {
      show->skipped++;
      g_clear_error(&error);
      continue;
    }
    show_add(show, slide);
  }
  return show;
}

/* ------------------------------------------------ what the curators wrote */

static GVariant *picture_bytes(guint number) {
  guchar data[64];

  for (guint i = 0; i < sizeof data; i++)
    data[i] = (guchar)(number * 31 + i * 7);
  return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, data, 24 + number % 40, 1);
}

static GVariant *timing_value(guint number) {
  if (number % 9 == 4) /* somebody wrote only the seconds */
    return g_variant_new_uint32(12);
  return g_variant_new("(uu)", 6 + number % 9, number % 3);
}

static void write_entry(GVariantBuilder *all, guint number) {
  GVariantBuilder b;
  char title[32];

  snprintf(title, sizeof title, "Object %u", number % 17 == 16 ? number - 1 : number);
  g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
  if (number % 23 != 11)
    g_variant_builder_add(&b, "{sv}", "title", g_variant_new_string(title));
  if (number % 14 != 6)
    g_variant_builder_add(&b, "{sv}", "picture", picture_bytes(number));
  if (number % 4 != 3)
    g_variant_builder_add(&b, "{sv}", "timing", timing_value(number));
  if (number % 5 == 0)
    g_variant_builder_add(&b, "{sv}", "labels",
                          number % 15 == 10 ? g_variant_new_string("see catalogue")
                                            : g_variant_new_parsed("{'en': 'vase', 'fr': 'vase'}"));
  g_variant_builder_add_value(all, g_variant_builder_end(&b));
}

static GVariant *hall_manifest(guint hall) {
  GVariantBuilder all;

  g_variant_builder_init(&all, G_VARIANT_TYPE("aa{sv}"));
  for (guint i = 0; i < ENTRIES; i++)
    write_entry(&all, hall * ENTRIES + i);
  return g_variant_ref_sink(g_variant_builder_end(&all));
}

int main(void) {
  guint skipped = 0;

  for (guint hall = 0; hall < HALLS; hall++) {
    GVariant *manifest = hall_manifest(hall);
    Show *show = show_from_manifest(manifest);

    g_variant_unref(manifest);
    printf("hall %u: %u slides, %u s, %u skipped, %u replaced, %zu bytes\n", hall, show->slides->len,
           show_length(show), show->skipped, show->replaced, show->bytes);
    skipped += show->skipped;
    show_free(show);
  }
  printf("%u entries are to be looked at\n", skipped);
  return 0;
}
