/* summary: view_press(): g_weak_ref_get() returns a strong reference, the early return for a hidden node does not give it back, so the node stays alive after it was deleted from the tree and from the index.
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: auto
 * packages: gobject-2.0
 * build: gcc -g -O0
 * exit: 0
 */
/* gscene - a small retained-mode scene graph driven by an embedded script */
#include <glib-object.h>
#include <stdio.h>
#include <string.h>

/* ---- GsTheme: shared, one instance for the whole run ---- */

#define GS_TYPE_THEME (gs_theme_get_type())
G_DECLARE_FINAL_TYPE(GsTheme, gs_theme, GS, THEME, GObject)

struct _GsTheme {
    GObject parent_instance;
    guint   palette[4];
};

G_DEFINE_TYPE(GsTheme, gs_theme, G_TYPE_OBJECT)

static void gs_theme_class_init(GsThemeClass *klass) { (void)klass; }

static void gs_theme_init(GsTheme *self)
{
    for (guint i = 0; i < 4; i++)
        self->palette[i] = 0x102030u * (i + 1);
}

static GsTheme *gs_theme_get_default(void)
{
    static GsTheme *theme;

    if (!theme)
        theme = g_object_new(GS_TYPE_THEME, NULL);
    return theme;
}

/* ---- GsNode: floating when new, sunk by its parent ---- */

#define GS_TYPE_NODE (gs_node_get_type())
G_DECLARE_FINAL_TYPE(GsNode, gs_node, GS, NODE, GInitiallyUnowned)

struct _GsNode {
    GInitiallyUnowned parent_instance;
    char      *name;
    GsNode    *parent;          /* not owned */
    GPtrArray *children;        /* owned */
    GsTheme   *theme;           /* owned */
    gboolean   visible;
    guint      hits, draws;
};

G_DEFINE_TYPE(GsNode, gs_node, G_TYPE_INITIALLY_UNOWNED)

enum { SIGNAL_CLICKED, N_SIGNALS };
static guint node_signals[N_SIGNALS];

static void gs_node_dispose(GObject *object)
{
    GsNode *self = GS_NODE(object);

    if (self->children) {
        for (guint i = 0; i < self->children->len; i++)
            GS_NODE(self->children->pdata[i])->parent = NULL;
        g_ptr_array_set_size(self->children, 0);
    }
    g_clear_object(&self->theme);
    G_OBJECT_CLASS(gs_node_parent_class)->dispose(object);
}

static void gs_node_finalize(GObject *object)
{
    GsNode *self = GS_NODE(object);

    g_ptr_array_unref(self->children);
    g_free(self->name);
    G_OBJECT_CLASS(gs_node_parent_class)->finalize(object);
}

static void gs_node_real_clicked(GsNode *self)
{
    self->hits++;
}

static void gs_node_class_init(GsNodeClass *klass)
{
    GObjectClass *oc = G_OBJECT_CLASS(klass);

    oc->dispose = gs_node_dispose;
    oc->finalize = gs_node_finalize;
    node_signals[SIGNAL_CLICKED] =
        g_signal_new_class_handler("clicked", GS_TYPE_NODE, G_SIGNAL_RUN_LAST,
                                   G_CALLBACK(gs_node_real_clicked),
                                   NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void gs_node_init(GsNode *self)
{
    self->children = g_ptr_array_new_with_free_func(g_object_unref);
    self->theme = g_object_ref(gs_theme_get_default());
    self->visible = TRUE;
}

static GsNode *gs_node_new(const char *name)
{
    GsNode *self = g_object_new(GS_TYPE_NODE, NULL);

    self->name = g_strdup(name);
    return self;
}

static void gs_node_add(GsNode *self, GsNode *child)
{
    g_ptr_array_add(self->children, g_object_ref_sink(child));
    child->parent = self;
}

static void gs_node_remove(GsNode *self)
{
    GsNode *parent = self->parent;

    self->parent = NULL;
    if (parent)
        g_ptr_array_remove(parent->children, self);
}

static guint gs_node_draw(GsNode *self, guint depth)
{
    guint sum = self->theme->palette[depth & 3] ^ g_str_hash(self->name);

    if (!self->visible)
        return 0;
    self->draws++;
    for (guint i = 0; i < self->children->len; i++)
        sum = sum * 31 + gs_node_draw(self->children->pdata[i], depth + 1);
    return sum;
}

/* ---- the view: tree, index by name, pointer state ---- */

typedef struct {
    GsNode     *root;
    GHashTable *index;          /* name -> GsNode, one reference each */
    GWeakRef    hover;          /* node below the pointer, may go away */
    guint       clicks, misses, frames, checksum;
} View;

static gboolean view_press(View *view)
{
    GsNode *node = g_weak_ref_get(&view->hover);

    if (!node) {
        view->misses++;
        return FALSE;
    }
    if (!node->visible) {
        view->misses++;
#ifndef BUG
        g_object_unref(node);
#endif
        return FALSE;                               /* GUILTY */
    }
    g_signal_emit(node, node_signals[SIGNAL_CLICKED], 0);
    view->clicks++;
    g_object_unref(node);
    return TRUE;
}

static void view_add(View *view, const char *parent, const char *name)
{
    GsNode *up = g_hash_table_lookup(view->index, parent);
    GsNode *node = gs_node_new(name);

    gs_node_add(up ? up : view->root, node);
    g_hash_table_insert(view->index, g_strdup(name), g_object_ref(node));
}

static void view_run(View *view, const char *script)
{
    char **lines = g_strsplit(script, ";", -1);

    for (char **l = lines; *l; l++) {
        char **w = g_strsplit(g_strstrip(*l), " ", 3);
        GsNode *node = w[0] && w[1] ? g_hash_table_lookup(view->index, w[1])
                                    : NULL;

        if (!g_strcmp0(w[0], "add")) {
            view_add(view, w[1], w[2]);
        } else if (!g_strcmp0(w[0], "hide") && node) {
            node->visible = FALSE;
        } else if (!g_strcmp0(w[0], "hover")) {
            g_weak_ref_set(&view->hover, node);
        } else if (!g_strcmp0(w[0], "press")) {
            view_press(view);
        } else if (!g_strcmp0(w[0], "del") && node) {
            gs_node_remove(node);
            g_hash_table_remove(view->index, w[1]);
        } else if (!g_strcmp0(w[0], "draw")) {
            view->checksum ^= gs_node_draw(view->root, 0);
            view->frames++;
        }
        g_strfreev(w);
    }
    g_strfreev(lines);
}

static const char open_dialog[] =
    "add root dialog;add dialog title;add dialog ok;add dialog cancel;"
    "hover title;press;hover ok;press;draw;press";
static const char hide_cancel[] = "hover cancel;hide cancel;press;draw;press";
static const char close_dialog[] =
    "del title;hover ok;del ok;press;del cancel;press;del dialog;draw";

int main(void)
{
    View view = { 0 };

    view.root = g_object_ref_sink(gs_node_new("root"));
    view.index = g_hash_table_new_full(g_str_hash, g_str_equal,
                                       g_free, g_object_unref);
    g_weak_ref_init(&view.hover, NULL);

    for (guint round = 0; round < 20; round++) {
        view_run(&view, open_dialog);
        if (round % 7 == 4)
            view_run(&view, hide_cancel);
        view_run(&view, close_dialog);
    }

    printf("frames %u clicks %u misses %u checksum %08x\n",
           view.frames, view.clicks, view.misses, view.checksum);
    g_weak_ref_clear(&view.hover);
    g_hash_table_unref(view.index);
    g_object_unref(view.root);
    return 0;
}
