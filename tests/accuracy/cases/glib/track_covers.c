/* summary: the setter of the "cover" property stores a new owned cover over the old one without dropping it
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/* A music library: tracks with cover pictures that are shared through a cache. */
#include <glib-object.h>
#include <stdio.h>

#define COVER_TYPE (cover_get_type())
G_DECLARE_FINAL_TYPE(Cover, cover, MUSIC, COVER, GObject)

struct _Cover {
  GObject parent_instance;
  char *path;
  int width;
};

G_DEFINE_TYPE(Cover, cover, G_TYPE_OBJECT)

static void cover_finalize(GObject *object) {
  g_free(MUSIC_COVER(object)->path);
  G_OBJECT_CLASS(cover_parent_class)->finalize(object);
}

static void cover_class_init(CoverClass *klass) { G_OBJECT_CLASS(klass)->finalize = cover_finalize; }

static void cover_init(Cover *self) { self->width = 300; }

static Cover *cover_new(const char *path, int width) {
  Cover *c = g_object_new(COVER_TYPE, NULL);
  c->path = g_strdup(path);
  c->width = width;
  return c;
}

#define TRACK_TYPE (track_get_type())
G_DECLARE_FINAL_TYPE(Track, track, MUSIC, TRACK, GObject)

struct _Track {
  GObject parent_instance;
  char *title;
  Cover *cover;   /* owned */
  Cover *booklet; /* owned, set at construction only */
  Track *next;    /* weak: the playlist owns the tracks */
};

enum { PROP_0, PROP_TITLE, PROP_COVER, PROP_BOOKLET, PROP_NEXT, N_PROPS };
static GParamSpec *props[N_PROPS];

G_DEFINE_TYPE(Track, track, G_TYPE_OBJECT)

static void track_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
  Track *self = MUSIC_TRACK(object);
  switch (id) {
  case PROP_TITLE:
    g_free(self->title);
    self->title = g_value_dup_string(value);
    break;
  case PROP_COVER:
#ifdef BUG
    self->cover = g_value_dup_object(value); /* GUILTY */
#else
    g_set_object(&self->cover, g_value_get_object(value));
#endif
    break;
  case PROP_BOOKLET:
    /* construct only, so there is nothing to replace */
    self->booklet = g_value_dup_object(value);
    break;
  case PROP_NEXT:
    g_set_weak_pointer(&self->next, g_value_get_object(value));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

static void track_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
  Track *self = MUSIC_TRACK(object);
  switch (id) {
  case PROP_TITLE:
    g_value_set_string(value, self->title);
    break;
  case PROP_COVER:
    g_value_set_object(value, self->cover);
    break;
  case PROP_BOOKLET:
    g_value_set_object(value, self->booklet);
    break;
  case PROP_NEXT:
    g_value_set_object(value, self->next);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

static void track_dispose(GObject *object) {
  Track *self = MUSIC_TRACK(object);
  g_clear_object(&self->cover);
  g_clear_object(&self->booklet);
  g_clear_weak_pointer(&self->next);
  G_OBJECT_CLASS(track_parent_class)->dispose(object);
}

static void track_finalize(GObject *object) {
  g_free(MUSIC_TRACK(object)->title);
  G_OBJECT_CLASS(track_parent_class)->finalize(object);
}

static void track_class_init(TrackClass *klass) {
  GObjectClass *oc = G_OBJECT_CLASS(klass);
  const GParamFlags rw = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  oc->set_property = track_set_property;
  oc->get_property = track_get_property;
  oc->dispose = track_dispose;
  oc->finalize = track_finalize;
  props[PROP_TITLE] = g_param_spec_string("title", NULL, NULL, NULL, rw);
  props[PROP_COVER] = g_param_spec_object("cover", NULL, NULL, COVER_TYPE, rw);
  props[PROP_BOOKLET] = g_param_spec_object("booklet", NULL, NULL, COVER_TYPE, rw | G_PARAM_CONSTRUCT_ONLY);
  props[PROP_NEXT] = g_param_spec_object("next", NULL, NULL, TRACK_TYPE, rw);
  g_object_class_install_properties(oc, N_PROPS, props);
}

static void track_init(Track *self) { self->title = g_strdup("unknown"); }

/* path -> Cover, owned by the table */
static GHashTable *covers;

/* Returns a new reference. */
static Cover *covers_get(const char *path) {
  Cover *c = g_hash_table_lookup(covers, path);
  if (c)
    return g_object_ref(c);
  c = cover_new(path, 300);
  g_hash_table_insert(covers, c->path, g_object_ref(c));
  return c;
}

static void load(GPtrArray *playlist) {
  for (int i = 0; i < 24; i++) {
    char *path = g_strdup_printf("/music/album%d/front.jpg", i / 3);
    char *inside = g_strdup_printf("/music/album%d/inside.jpg", i / 6);
    char *title = g_strdup_printf("Track %02d", i);
    Cover *front = covers_get(path), *booklet = covers_get(inside);

    g_ptr_array_add(playlist, g_object_new(TRACK_TYPE, "title", title, "booklet", booklet, "cover", front, NULL));
    g_object_unref(front);
    g_object_unref(booklet);
    g_free(path);
    g_free(inside);
    g_free(title);
    if (i > 0)
      g_object_set(playlist->pdata[i - 1], "next", playlist->pdata[i], NULL);
  }
}

/* Some tracks have a better picture of their own inside the sound file. */
static int retag(GPtrArray *playlist) {
  static const int tagged[] = {2, 9, 16};
  int wide = 0;

  for (guint i = 0; i < G_N_ELEMENTS(tagged); i++) {
    Track *t = g_ptr_array_index(playlist, tagged[i]);
    Cover *own = cover_new("embedded", 600 + i), *now = NULL;

    g_object_set(t, "cover", own, NULL);
    g_object_unref(own);
    g_object_get(t, "cover", &now, NULL);
    wide += now->width >= 600;
    g_object_unref(now);
  }
  return wide;
}

static long total_width(GPtrArray *playlist) {
  long sum = 0;
  for (guint i = 0; i < playlist->len; i++) {
    Track *t = g_ptr_array_index(playlist, i), *next = NULL;
    Cover *booklet = NULL;
    sum += t->cover->width;
    g_object_get(t, "booklet", &booklet, "next", &next, NULL);
    sum += booklet->width + (next ? 1 : 0);
    g_object_unref(booklet);
    g_clear_object(&next);
  }
  return sum;
}

int main(void) {
  GPtrArray *playlist = g_ptr_array_new_with_free_func(g_object_unref);
  covers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_object_unref);
  load(playlist);
  int wide = retag(playlist);
  long sum = total_width(playlist);
  /* one track leaves early, by the playlist's own hand */
  g_ptr_array_remove_index(playlist, 5);
  g_ptr_array_unref(playlist);
  g_hash_table_unref(covers);
  printf("%d wide covers, %ld pixels in all\n", wide, sum);
  return 0;
}
