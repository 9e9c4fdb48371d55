/* summary: draw_badge gives back a sprite that it had only borrowed from the cache
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: GObject
 * packages: gobject-2.0
 * build: clang -O0 -g
 * exit: 0
 */
/* A map display: tiles and badges are drawn with sprites out of a cache; pages keep the sprites they show. */
#include <glib-object.h>
#include <stdio.h>

#define SPRITE_TYPE (sprite_get_type())
G_DECLARE_FINAL_TYPE(Sprite, sprite, MAP, SPRITE, GObject)

struct _Sprite {
  GObject parent_instance;
  int area;
  int drawn;
};

G_DEFINE_TYPE(Sprite, sprite, G_TYPE_OBJECT)

static int sprites_ended;

static void sprite_finalize(GObject *object) {
  sprites_ended++;
  G_OBJECT_CLASS(sprite_parent_class)->finalize(object);
}

static void sprite_class_init(SpriteClass *klass) { G_OBJECT_CLASS(klass)->finalize = sprite_finalize; }

static void sprite_init(Sprite *self) { self->area = 64; }

/* name -> Sprite, owned by the table; lives as long as the program */
static GHashTable *cache;
/* sprites that were thrown out of the cache but may be wanted again */
static GQueue attic = G_QUEUE_INIT;

/* Borrowed: good until the cache is changed. */
static Sprite *cache_peek(const char *name) { return g_hash_table_lookup(cache, name); }

/* Returns a new reference; makes the sprite if there is none. */
static Sprite *cache_get(const char *name) {
  Sprite *s = g_hash_table_lookup(cache, name);
  if (s)
    return g_object_ref(s);
  s = g_object_new(SPRITE_TYPE, NULL);
  s->area += (int)(g_str_hash(name) % 100);
  g_hash_table_insert(cache, g_strdup(name), g_object_ref(s));
  return s;
}

/* Moves an entry to the attic with the reference that the table had. */
static gboolean cache_evict(const char *name) {
  gpointer key, value;
  if (!g_hash_table_steal_extended(cache, name, &key, &value))
    return FALSE;
  g_free(key);
  g_queue_push_tail(&attic, value);
  return TRUE;
}

static void attic_clear(void) {
  Sprite *s;
  while ((s = g_queue_pop_head(&attic)) != NULL)
    g_object_unref(s);
}

/* A page of the map: a list of sprites that belong to it. */
struct page {
  GList *sprites;
};

static void page_add(struct page *p, const char *name) { p->sprites = g_list_prepend(p->sprites, cache_get(name)); }

static void page_close(struct page *p) {
  g_list_free_full(p->sprites, g_object_unref);
  p->sprites = NULL;
}

static int draw(Sprite *s) {
  s->drawn++;
  return s->area;
}

static int draw_tile(const char *name) {
  Sprite *s = cache_get(name);
  int area;

  if (s->drawn > 1000) {
    g_object_unref(s);
    return 0;
  }
  area = draw(s);
  g_object_unref(s);
  return area;
}

/* The badge is drawn with whatever is there; a missing one is made by draw_tile(). */
static int draw_badge(const char *name) {
  Sprite *s = cache_peek(name); /* ACCEPTED */
  int area;

  if (!s)
    return draw_tile(name);
  area = draw(s) / 2;
#ifdef BUG
  g_object_unref(s); /* GUILTY */
#endif
  return area;
}

static int draw_page(const struct page *p) {
  int area = 0;
  for (GList *l = p->sprites; l; l = l->next)
    area += draw(l->data);
  return area;
}

/* Borrowed sprites in a list of its own, which owns nothing: sorted drawing. */
static int draw_sorted(void) {
  GList *values = g_hash_table_get_values(cache);
  int area = 0;
  for (GList *l = values; l; l = l->next)
    area += draw(l->data) > 100 ? 1 : 0;
  g_list_free(values);
  return area;
}

int main(void) {
  struct page left = {NULL}, right = {NULL};
  char name[24];
  long area = 0;

  cache = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
  for (int i = 0; i < 24; i++) {
    g_snprintf(name, sizeof(name), "tile-%d", i);
    area += draw_tile(name);
    page_add(i % 2 ? &left : &right, name);
    if (i % 4 == 0)
      page_add(&left, name);
  }
  area += draw_page(&left) + draw_page(&right);
  area += draw_sorted();

  /* two of the badges are in the cache already, the third one is not */
  area += draw_badge("tile-8") + draw_badge("tile-13") + draw_badge("badge-new");
  for (int i = 3; i < 24; i += 6) {
    g_snprintf(name, sizeof(name), "tile-%d", i);
    area += cache_evict(name);
  }
  area += cache_evict("tile-99");
  page_close(&left);
  page_close(&right);
  attic_clear();

  /* the cache is still full */
  GHashTableIter it;
  gpointer value;
  g_hash_table_iter_init(&it, cache);
  while (g_hash_table_iter_next(&it, NULL, &value))
    area += ((Sprite *)value)->drawn;
#ifdef TRUTH
  printf("%d sprites ended\n", sprites_ended);
#endif
  printf("area %ld, %u in the cache\n", area, g_hash_table_size(cache));
  return 0;
}
