/* summary: toggle references of script wrappers that turn their own pointer weak and strong dispose that revives the object for a second life (caught in a graveyard), g_object_run_dispose on a shared object, floating references sunk by a container, weak references and notifies at the end
 * track: GObject GClosure
 * build: gcc -O0 -g -Wall -o OUT toggle_wrappers.c $(pkg-config --cflags --libs gobject-2.0)
 */
/*
 * toggle_wrappers - canvas items for a scripting language.
 *
 * A script's wrapper holds its item by a toggle reference.  While the wrapper
 * is the only owner it may be collected; if others own the item as well the
 * wrapper is kept alive by it, for the script's data must not be lost.
 */
#include <glib-object.h>

/* ---- items: floating, like widgets --------------------------------------- */

#define ITEM_TYPE item_get_type ()
G_DECLARE_FINAL_TYPE (Item, item, DEMO, ITEM, GInitiallyUnowned)

struct _Item
{
  GInitiallyUnowned parent;
  gint number;
  gboolean undo;                /* a dispose hands it to the graveyard */
  Item *mask;                   /* owned */
};

G_DEFINE_TYPE (Item, item, G_TYPE_INITIALLY_UNOWNED)

static GQueue graveyard = G_QUEUE_INIT; /* owns its items */
static guint signal_moved;
static gint items_live, revived, disposed;

static void
item_dispose (GObject *object)
{
  Item *self = DEMO_ITEM (object);

  disposed++;
  g_clear_object (&self->mask);
  if (self->undo)
    {
      /* Not yet: it lives on in the graveyard, from where undo takes it. */
      self->undo = FALSE;
      revived++;
      g_queue_push_tail (&graveyard, g_object_ref (self));
    }
  G_OBJECT_CLASS (item_parent_class)->dispose (object);
}

static void
item_finalize (GObject *object)
{
  items_live--;
  G_OBJECT_CLASS (item_parent_class)->finalize (object);
}

static void
item_class_init (ItemClass *class)
{
  G_OBJECT_CLASS (class)->dispose = item_dispose;
  G_OBJECT_CLASS (class)->finalize = item_finalize;
  signal_moved = g_signal_new ("moved", ITEM_TYPE, G_SIGNAL_RUN_LAST, 0, NULL,
                               NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT);
}

static void
item_init (Item *self)
{
  items_live++;
}

static Item *
item_new (gint number)
{
  Item *self = g_object_new (ITEM_TYPE, NULL);

  self->number = number;
  return self;
}

/* ---- wrappers of the scripting language ---------------------------------- */

typedef struct
{
  Item *item;                   /* by toggle reference */
  gboolean rooted;              /* the item keeps the wrapper */
  gboolean used;                /* by the script, this time */
  gint moves;
} Wrapper;

static GPtrArray *wrappers;     /* the collector's list of everything */
static gint toggles;

static void
wrapper_toggled (gpointer data, GObject *object, gboolean is_last)
{
  Wrapper *wrapper = data;

  toggles++;
  wrapper->rooted = !is_last;
}

static void
wrapper_moved (Item *item, gint by, gpointer data)
{
  ((Wrapper *) data)->moves += by;
}

static Wrapper *
wrap (Item *item)
{
  Wrapper *wrapper = g_object_get_data (G_OBJECT (item), "wrapper");

  if (wrapper)
    return wrapper;
  wrapper = g_new0 (Wrapper, 1);
  wrapper->item = item;
  wrapper->rooted = TRUE;
  g_object_add_toggle_ref (G_OBJECT (item), wrapper_toggled, wrapper);
  g_object_set_data (G_OBJECT (item), "wrapper", wrapper);
  g_signal_connect (item, "moved", G_CALLBACK (wrapper_moved), wrapper);
  g_ptr_array_add (wrappers, wrapper);
  return wrapper;
}

static void
wrapper_finish (Wrapper *wrapper)
{
  g_object_set_data (G_OBJECT (wrapper->item), "wrapper", NULL);
  g_signal_handlers_disconnect_by_data (wrapper->item, wrapper);
  g_object_remove_toggle_ref (G_OBJECT (wrapper->item), wrapper_toggled,
                              wrapper);
  g_free (wrapper);
}

static guint
collect (void)
{
  guint n = 0, i;

  for (i = wrappers->len; i-- > 0;)
    {
      Wrapper *wrapper = g_ptr_array_index (wrappers, i);

      if (wrapper->rooted || wrapper->used)
        continue;
      g_ptr_array_remove_index_fast (wrappers, i);
      wrapper_finish (wrapper);
      n++;
    }
  return n;
}

/* ---- the canvas ---------------------------------------------------------- */

typedef struct
{
  GPtrArray *items;             /* owned */
  Item *focus;                  /* weak pointer */
  GWeakRef hover;
} Canvas;

static void
canvas_add (Canvas *canvas, Item *item)
{
  g_ptr_array_add (canvas->items, g_object_ref_sink (item));
}

static void
canvas_focus (Canvas *canvas, Item *item)
{
  g_set_weak_pointer (&canvas->focus, item);
  g_weak_ref_set (&canvas->hover, item);
}

static void
gone (gpointer data, GObject *where_the_object_was)
{
  (*(gint *) data)++;
}

int
main (void)
{
  Canvas canvas = { g_ptr_array_new_with_free_func (g_object_unref) };
  guint collected = 0;
  gint i, told = 0, watched = 0, hovers = 0, moves = 0;

  wrappers = g_ptr_array_new ();
  g_weak_ref_init (&canvas.hover, NULL);
  for (i = 0; i < 60; i++)
    {
      Item *item = item_new (i);
      Wrapper *wrapper;

      item->undo = i % 4 == 0;
      if (i % 3 == 0)
        item->mask = g_object_ref_sink (item_new (1000 + i));
      if (i % 5 == 0)
        {
          g_object_weak_ref (G_OBJECT (item), gone, &told);
          watched++;
        }
      if (i % 6 != 5)
        canvas_add (&canvas, item);
      else
        g_object_ref_sink (item);       /* the script's alone */
      if (i % 2 || i % 6 == 0)
        {
          wrapper = wrap (item);
          wrapper->used = i % 7 == 0;
        }
      if (i % 6 == 5)
        g_object_unref (item);          /* now only its wrapper has it */
      else if (i % 8 == 2)
        canvas_focus (&canvas, item);
      if (i % 10 == 9)
        {
          g_autoptr (Item) hovered = g_weak_ref_get (&canvas.hover);

          hovers += hovered != NULL;
          g_signal_emit (item, signal_moved, 0, i);
          g_ptr_array_remove_index (canvas.items, i % canvas.items->len);
          collected += collect ();
        }
      if (i % 20 == 15 && canvas.items->len)
        /* Closes it for all of its owners; they put it later on. */
        g_object_run_dispose (g_ptr_array_index (canvas.items, 0));
    }
  g_print ("%u on the canvas, %u wrappers, focus %d\n", canvas.items->len,
           wrappers->len, canvas.focus ? canvas.focus->number : -1);

  /* Undo: what was revived goes back, with the graveyard's reference. */
  for (i = 0; i < 3 && !g_queue_is_empty (&graveyard); i++)
    g_ptr_array_add (canvas.items, g_queue_pop_head (&graveyard));

  for (i = 0; i < (gint) wrappers->len; i++)
    {
      Wrapper *wrapper = g_ptr_array_index (wrappers, i);

      wrapper->used = FALSE;
      moves += wrapper->moves;
    }
  g_ptr_array_unref (canvas.items);
  collected += collect ();
  g_queue_clear_full (&graveyard, g_object_unref);
  collected += collect ();
  g_queue_clear_full (&graveyard, g_object_unref);      /* of those just collected */
  g_clear_weak_pointer (&canvas.focus);
  g_weak_ref_clear (&canvas.hover);
  g_print ("%u collected, %u wrappers left, %d toggles, %d revived, %d told\n",
           collected, wrappers->len, toggles, revived, told);
  g_print ("%d items live, %d disposals, hovers %d, moves %d\n", items_live,
           disposed, hovers, moves);
  i = items_live || wrappers->len || told != watched;
  g_ptr_array_unref (wrappers);
  return i;
}
