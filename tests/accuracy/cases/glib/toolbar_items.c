/* summary: toolbar_insert keeps a floating item without sinking it, so a menu that sinks the item later owns the only reference and both give one back
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O0 -g
 * exit: 0
 */
/* Widgets of a drawing program: items are born floating; menus, toolbars and the shortcut table take them. */
#include <glib-object.h>
#include <stdio.h>

#define ITEM_TYPE (item_get_type())
G_DECLARE_FINAL_TYPE(Item, item, UI, ITEM, GInitiallyUnowned)

struct _Item {
  GInitiallyUnowned parent_instance;
  int command;
  int clicks;
};

G_DEFINE_TYPE(Item, item, G_TYPE_INITIALLY_UNOWNED)

static int items_ended;

static void item_finalize(GObject *object) {
  items_ended++;
  G_OBJECT_CLASS(item_parent_class)->finalize(object);
}

static void item_class_init(ItemClass *klass) { G_OBJECT_CLASS(klass)->finalize = item_finalize; }

static void item_init(Item *self) { self->clicks = 0; }

/* Returns a floating reference. */
static Item *item_new(int command) {
  Item *it = g_object_new(ITEM_TYPE, NULL);
  it->command = command;
  return it;
}

/* The main menu lives as long as the program. */
#define MAX_MENU 32
static Item *menu[MAX_MENU];
static int n_menu;

static void menu_append(Item *it) {
  g_assert(n_menu < MAX_MENU);
  menu[n_menu++] = g_object_ref_sink(it);
}

#define TOOLBAR_TYPE (toolbar_get_type())
G_DECLARE_FINAL_TYPE(Toolbar, toolbar, UI, TOOLBAR, GObject)

struct _Toolbar {
  GObject parent_instance;
  GPtrArray *items; /* owned */
  Item *overflow;   /* owned, NULL if there is room enough */
};

G_DEFINE_TYPE(Toolbar, toolbar, G_TYPE_OBJECT)

static void toolbar_dispose(GObject *object) {
  Toolbar *self = UI_TOOLBAR(object);
  g_clear_object(&self->overflow);
  g_ptr_array_set_size(self->items, 0);
  G_OBJECT_CLASS(toolbar_parent_class)->dispose(object);
}

static void toolbar_finalize(GObject *object) {
  g_ptr_array_unref(UI_TOOLBAR(object)->items);
  G_OBJECT_CLASS(toolbar_parent_class)->finalize(object);
}

static void toolbar_class_init(ToolbarClass *klass) {
  G_OBJECT_CLASS(klass)->dispose = toolbar_dispose;
  G_OBJECT_CLASS(klass)->finalize = toolbar_finalize;
}

static void toolbar_init(Toolbar *self) { self->items = g_ptr_array_new_with_free_func(g_object_unref); }

static void toolbar_append(Toolbar *self, Item *it) { g_ptr_array_add(self->items, g_object_ref_sink(it)); }

static void toolbar_insert(Toolbar *self, guint at, Item *it) {
  if (at >= self->items->len) {
    toolbar_append(self, it);
    return;
  }
#ifdef BUG
  g_ptr_array_insert(self->items, at, it); /* GUILTY */
#else
  g_ptr_array_insert(self->items, at, g_object_ref_sink(it));
#endif
}

/* The overflow button is seldom there; it takes the caller's floating reference or an own one. */
static void toolbar_set_overflow(Toolbar *self, Item *it) {
  if (it)
    g_object_ref_sink(it);
  g_clear_object(&self->overflow);
  self->overflow = it;
}

static Item *toolbar_nth(Toolbar *self, guint n) { return n < self->items->len ? self->items->pdata[n] : NULL; }

/* Shortcuts: key -> item, with a reference to each. */
static GHashTable *shortcuts;

static void shortcut_set(char key, Item *it) {
  g_hash_table_replace(shortcuts, GINT_TO_POINTER(key), g_object_ref_sink(it));
}

static void click(char key) {
  Item *it = g_hash_table_lookup(shortcuts, GINT_TO_POINTER(key));
  if (!it)
    return;
  /* the command may remove its own shortcut */
  g_object_ref(it);
  it->clicks++;
  if (it->command % 10 == 9)
    g_hash_table_remove(shortcuts, GINT_TO_POINTER(key));
  it->clicks += it->command;
  g_object_unref(it);
}

static void fill(Toolbar *bar) {
  /* in the menu first, then in the toolbar as well */
  for (int c = 0; c < 10; c++) {
    Item *it = item_new(c);
    menu_append(it);
    if (c % 2)
      toolbar_append(bar, it);
    shortcut_set('a' + c, it);
  }
  /* in the toolbar only */
  for (int c = 10; c < 18; c++)
    toolbar_append(bar, item_new(c));
  toolbar_insert(bar, 1000, item_new(18));
  /* sunk by hand, because the caller wants to look at it afterwards */
  for (int c = 20; c < 24; c++) {
    Item *it = g_object_ref_sink(item_new(c));
    shortcut_set('a' + c, it);
    if (c == 22)
      toolbar_set_overflow(bar, it);
    it->clicks = 1;
    g_object_unref(it);
  }
  toolbar_set_overflow(bar, NULL);
  toolbar_set_overflow(bar, item_new(30));
  /* tools at the front of the bar, and at the end of the menu */
  for (int c = 40; c < 43; c++) {
    Item *it = item_new(c);
    toolbar_insert(bar, 0, it);
    menu_append(it);
  }
}

int main(void) {
  long clicks = 0;
  Toolbar *bar = g_object_new(TOOLBAR_TYPE, NULL);

  shortcuts = g_hash_table_new_full(NULL, NULL, NULL, g_object_unref);
  fill(bar);
  for (char key = 'a'; key <= 'z'; key++)
    click(key);
  for (guint i = 0; toolbar_nth(bar, i); i++)
    clicks += toolbar_nth(bar, i)->clicks + toolbar_nth(bar, i)->command;
  g_object_unref(bar);
  g_hash_table_unref(shortcuts);
  for (int i = 0; i < n_menu; i++)
    clicks += menu[i]->clicks * 3 + menu[i]->command;
#ifdef TRUTH
  printf("%d items ended\n", items_ended);
#endif
  printf("clicks %ld, menu of %d\n", clicks, n_menu);
  return 0;
}
