/* summary: for documents with a panel, palette_attach gives the palette's handler a reference to the document, which itself owns the palette
 * kind: cycle
 * counts: surplus
 * objects: 4
 * track: GObject
 * packages: gobject-2.0
 * build: clang -O1 -g
 * exit: 0
 */
/* An editor: every document owns its palette of commands; the palette tells the document by the signal "chosen". */
#include <glib-object.h>
#include <stdio.h>

#define PALETTE_TYPE (palette_get_type())
G_DECLARE_FINAL_TYPE(Palette, palette, ED, PALETTE, GObject)

struct _Palette {
  GObject parent_instance;
  int chosen;
};

static guint chosen_signal;

G_DEFINE_TYPE(Palette, palette, G_TYPE_OBJECT)

static int alive;

static void palette_finalize(GObject *object) {
  alive--;
  G_OBJECT_CLASS(palette_parent_class)->finalize(object);
}

static void palette_class_init(PaletteClass *klass) {
  G_OBJECT_CLASS(klass)->finalize = palette_finalize;
  chosen_signal = g_signal_new("chosen", G_TYPE_FROM_CLASS(klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,
                               1, G_TYPE_INT);
}

static void palette_init(Palette *self) { alive++; }

#define DOC_TYPE (doc_get_type())
G_DECLARE_FINAL_TYPE(Doc, doc, ED, DOC, GObject)

struct _Doc {
  GObject parent_instance;
  char *name;
  Palette *palette; /* owned, shared between the views of one file */
  Doc *original;    /* owned: a view keeps the document it was split from */
  GList *views;     /* weak, see doc_view_gone() */
  int edits;
};

G_DEFINE_TYPE(Doc, doc, G_TYPE_OBJECT)

static void doc_view_gone(gpointer data, GObject *where_it_was) {
  Doc *self = data;
  self->views = g_list_remove(self->views, where_it_was);
}

static void doc_dispose(GObject *object) {
  Doc *self = ED_DOC(object);

  while (self->views) {
    g_object_weak_unref(self->views->data, doc_view_gone, self);
    self->views = g_list_delete_link(self->views, self->views);
  }
  if (self->original) {
    Doc *original = g_steal_pointer(&self->original);
    g_object_weak_unref(object, doc_view_gone, original);
    original->views = g_list_remove(original->views, self);
    g_object_unref(original);
  }
  g_clear_object(&self->palette);
  G_OBJECT_CLASS(doc_parent_class)->dispose(object);
}

static void doc_finalize(GObject *object) {
  g_free(ED_DOC(object)->name);
  alive--;
  G_OBJECT_CLASS(doc_parent_class)->finalize(object);
}

static void doc_class_init(DocClass *klass) {
  G_OBJECT_CLASS(klass)->dispose = doc_dispose;
  G_OBJECT_CLASS(klass)->finalize = doc_finalize;
}

static void doc_init(Doc *self) { alive++; }

/* What a handler with a panel has to know. */
struct panel {
  Doc *doc;
  int weight;
};

static void on_chosen(Palette *palette, int command, gpointer data) { ED_DOC(data)->edits += command; }

static void on_chosen_panel(Palette *palette, int command, gpointer data) {
  struct panel *p = data;
  p->doc->edits += command * p->weight;
}

static void panel_free(gpointer data, GClosure *closure) {
  struct panel *p = data;
#ifdef BUG
  g_object_unref(p->doc);
#endif
  g_free(p);
}

/* The document owns the palette, so the palette's handlers must not own the document. */
static void palette_attach(Doc *doc, gboolean with_panel) {
  if (with_panel) {
    struct panel *p = g_new(struct panel, 1);
    p->weight = 2;
#ifdef BUG
    p->doc = g_object_ref(doc); /* GUILTY */
#else
    p->doc = doc; /* the palette is not shared and dies with the document */
#endif
    g_signal_connect_data(doc->palette, "chosen", G_CALLBACK(on_chosen_panel), p, panel_free, 0); /* ACCEPTED */
    return;
  }
  g_signal_connect_object(doc->palette, "chosen", G_CALLBACK(on_chosen), doc, 0);
}

static Doc *doc_open(const char *name, gboolean with_panel) {
  Doc *d = g_object_new(DOC_TYPE, NULL);
  d->name = g_strdup(name);
  d->palette = g_object_new(PALETTE_TYPE, NULL);
  palette_attach(d, with_panel);
  return d;
}

/* A second view of the same file, with the same palette. */
static Doc *doc_split(Doc *from) {
  Doc *d = g_object_new(DOC_TYPE, NULL);
  d->name = g_strconcat(from->name, ":2", NULL);
  d->palette = g_object_ref(from->palette);
  d->original = g_object_ref(from);
  from->views = g_list_prepend(from->views, d);
  g_object_weak_ref(G_OBJECT(d), doc_view_gone, from);
  palette_attach(d, FALSE);
  return d;
}

/* A toolbar outlives documents; its handler owns itself, which is no circle: it is disconnected by hand. */
static int run_toolbar(Palette *palette) {
  Doc *scratch = g_object_new(DOC_TYPE, NULL);
  gulong id = g_signal_connect_data(palette, "chosen", G_CALLBACK(on_chosen), g_object_ref(scratch),
                                    (GClosureNotify)(void (*)(void))g_object_unref, 0);
  int edits;

  g_signal_emit(palette, chosen_signal, 0, 7);
  edits = scratch->edits;
  g_object_unref(scratch);
  g_signal_handler_disconnect(palette, id);
  return edits;
}

int main(void) {
  GQueue docs = G_QUEUE_INIT;
  long edits = 0;

  for (int i = 0; i < 16; i++) {
    char *name = g_strdup_printf("file%d.c", i);
    Doc *d = doc_open(name, i == 6 || i == 14);
    g_queue_push_tail(&docs, d);
    if (i % 4 == 1)
      g_queue_push_head(&docs, doc_split(d));
    g_free(name);
  }
  for (GList *l = docs.head; l; l = l->next) {
    Doc *d = l->data;
    g_signal_emit(d->palette, chosen_signal, 0, 1 + (int)g_list_length(d->views));
    if (d->original)
      edits += run_toolbar(d->palette);
  }
  while (!g_queue_is_empty(&docs)) {
    Doc *d = g_queue_pop_head(&docs);
    edits += d->edits;
    g_object_unref(d);
  }
#ifdef TRUTH
  printf("%d objects left\n", alive);
#endif
  printf("edits %ld\n", edits);
  return 0;
}
