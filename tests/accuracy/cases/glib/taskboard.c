/* summary: reminder loop skips finished tasks with `continue` and forgets the reference g_list_model_get_item() gave it
 * kind: missing-put
 * counts: surplus
 * objects: 40
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

/* ---- one task ------------------------------------------------------- */

#define TB_TYPE_TASK (tb_task_get_type ())
G_DECLARE_FINAL_TYPE (TbTask, tb_task, TB, TASK, GObject)

struct _TbTask
{
  GObject    parent_instance;
  char      *title;
  char      *assignee;
  GDateTime *due;
  gboolean   done;
};

G_DEFINE_TYPE (TbTask, tb_task, G_TYPE_OBJECT)

enum { PROP_0, PROP_DONE, N_PROPS };
static GParamSpec *props[N_PROPS];

static void
tb_task_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_DONE)
    g_value_set_boolean (value, TB_TASK (object)->done);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
tb_task_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  if (id == PROP_DONE)
    TB_TASK (object)->done = g_value_get_boolean (value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
tb_task_finalize (GObject *object)
{
  TbTask *self = TB_TASK (object);

  g_free (self->title);
  g_free (self->assignee);
  g_clear_pointer (&self->due, g_date_time_unref);
  G_OBJECT_CLASS (tb_task_parent_class)->finalize (object);
}

static void
tb_task_class_init (TbTaskClass *klass)
{
  GObjectClass *oc = G_OBJECT_CLASS (klass);

  oc->get_property = tb_task_get_property;
  oc->set_property = tb_task_set_property;
  oc->finalize = tb_task_finalize;
  props[PROP_DONE] = g_param_spec_boolean ("done", NULL, NULL, FALSE,
                                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (oc, N_PROPS, props);
}

static void
tb_task_init (TbTask *self)
{
}

static TbTask *
tb_task_new (const char *title, const char *assignee, GDateTime *due)
{
  TbTask *self = g_object_new (TB_TYPE_TASK, NULL);

  self->title = g_strdup (title);
  self->assignee = g_strdup (assignee);
  self->due = due ? g_date_time_ref (due) : NULL;
  return self;
}

/* ---- the board ------------------------------------------------------ */

typedef struct
{
  GListStore         *tasks;
  GListStore         *archive;
  GSimpleActionGroup *actions;
  GWeakRef            selected;
  GDateTime          *today;
  guint               n_changes;
} Board;

static void
on_items_changed (GListModel *model, guint pos, guint removed, guint added, gpointer data)
{
  Board *b = data;

  b->n_changes += removed + added;
}

static int
compare_by_due (gconstpointer a, gconstpointer b, gpointer unused)
{
  const TbTask *ta = a, *tb = b;

  if (ta->due == NULL || tb->due == NULL)
    return (ta->due == NULL) - (tb->due == NULL);
  return g_date_time_compare (ta->due, tb->due);
}

/* Collect one line per open task that is due within the given days. */
static GPtrArray *
board_collect_reminders (Board *b, guint days)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  GListModel *model = G_LIST_MODEL (b->tasks);
  guint n = g_list_model_get_n_items (model);

  for (guint i = 0; i < n; i++)
    {
      TbTask *task = g_list_model_get_item (model, i);   /* ACCEPTED */
      GTimeSpan left;

      if (task->done)
        {
#ifdef BUG
          continue;                                       /* GUILTY */
#else
          g_object_unref (task);
          continue;
#endif
        }

      if (task->due != NULL)
        {
          left = g_date_time_difference (task->due, b->today);
          if (left <= (GTimeSpan) days * G_TIME_SPAN_DAY)
            g_ptr_array_add (lines, g_strdup_printf ("%s: %s", task->assignee, task->title));
        }
      g_object_unref (task);
    }
  return lines;
}

static void
activate_remind (GSimpleAction *action, GVariant *param, gpointer data)
{
  GPtrArray *lines = board_collect_reminders (data, g_variant_get_uint32 (param));

  printf ("reminders: %u", lines->len);
  if (lines->len > 0)
    printf (", first \"%s\"", (const char *) g_ptr_array_index (lines, 0));
  printf ("\n");
  g_ptr_array_unref (lines);
}

static void
activate_archive (GSimpleAction *action, GVariant *param, gpointer data)
{
  Board *b = data;
  guint i = 0;

  while (i < g_list_model_get_n_items (G_LIST_MODEL (b->tasks)))
    {
      g_autoptr (TbTask) task = g_list_model_get_item (G_LIST_MODEL (b->tasks), i);

      if (!task->done)
        {
          i++;
          continue;
        }
      g_list_store_append (b->archive, task);
      g_list_store_remove (b->tasks, i);
    }
  printf ("archived: %u\n", g_list_model_get_n_items (G_LIST_MODEL (b->archive)));
}

static void
activate_reassign (GSimpleAction *action, GVariant *param, gpointer data)
{
  Board *b = data;
  const char *from, *to;
  guint moved = 0, n = g_list_model_get_n_items (G_LIST_MODEL (b->tasks));

  g_variant_get (param, "(&s&s)", &from, &to);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (TbTask) task = g_list_model_get_item (G_LIST_MODEL (b->tasks), i);

      if (strcmp (task->assignee, from) != 0)
        continue;
      g_free (task->assignee);
      task->assignee = g_strdup (to);
      moved++;
    }
  printf ("reassigned: %u from %s to %s\n", moved, from, to);
}

static void
board_init (Board *b)
{
  static const GActionEntry entries[] = {
    { "remind", activate_remind, "u", NULL, NULL },
    { "archive", activate_archive, NULL, NULL, NULL },
    { "reassign", activate_reassign, "(ss)", NULL, NULL },
  };

  b->tasks = g_list_store_new (TB_TYPE_TASK);
  b->archive = g_list_store_new (TB_TYPE_TASK);
  b->actions = g_simple_action_group_new ();
  b->today = g_date_time_new_utc (2024, 3, 11, 9, 0, 0);
  b->n_changes = 0;
  g_weak_ref_init (&b->selected, NULL);
  g_signal_connect (b->tasks, "items-changed", G_CALLBACK (on_items_changed), b);
  g_action_map_add_action_entries (G_ACTION_MAP (b->actions), entries,
                                   G_N_ELEMENTS (entries), b);
}

static void
board_clear (Board *b)
{
  g_object_unref (b->actions);
  g_object_unref (b->tasks);
  g_object_unref (b->archive);
  g_date_time_unref (b->today);
  g_weak_ref_clear (&b->selected);
}

static void
board_fill (Board *b, guint n)
{
  static const char *people[] = { "ana", "boris", "chen", "dora", "emil" };

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *title = g_strdup_printf ("ticket %u", 1000 + i * 7);
      g_autoptr (GDateTime) due = i % 6 ? g_date_time_add_days (b->today, i % 19) : NULL;
      g_autoptr (TbTask) task = tb_task_new (title, people[i % G_N_ELEMENTS (people)], due);

      g_object_set (task, "done", i % 10 == 3 || i % 10 == 7 || i % 10 == 8, NULL);
      g_list_store_insert_sorted (b->tasks, task, compare_by_due, NULL);
      if (i == n / 2)
        g_weak_ref_set (&b->selected, task);
    }
}

int
main (void)
{
  Board board;
  TbTask *sel;

  board_init (&board);
  board_fill (&board, 137);
  g_action_group_activate_action (G_ACTION_GROUP (board.actions), "remind",
                                  g_variant_new_uint32 (2));
  g_action_group_activate_action (G_ACTION_GROUP (board.actions), "archive", NULL);
  g_action_group_activate_action (G_ACTION_GROUP (board.actions), "reassign",
                                  g_variant_new ("(ss)", "chen", "ana"));
  g_action_group_activate_action (G_ACTION_GROUP (board.actions), "remind",
                                  g_variant_new_uint32 (7));

  sel = g_weak_ref_get (&board.selected);
  printf ("selected: %s, changes: %u\n", sel ? sel->title : "none", board.n_changes);
  g_clear_object (&sel);
  board_clear (&board);
  return 0;
}
