/* summary: board_report gets every ticket of the model with a reference and goes on to the next one without giving it back if the ticket is archived
 * kind: missing-put
 * counts: surplus
 * objects: 5
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/* A board of tickets: list models for the columns, plain lists of tickets as the result of searches. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define TICKET_TYPE (ticket_get_type())
G_DECLARE_FINAL_TYPE(Ticket, ticket, BOARD, TICKET, GObject)

struct _Ticket {
  GObject parent_instance;
  int number;
  int hours;
  gboolean archived;
  Ticket *blocked_by; /* owned */
};

G_DEFINE_TYPE(Ticket, ticket, G_TYPE_OBJECT)

static int tickets_alive;

static void ticket_dispose(GObject *object) {
  g_clear_object(&BOARD_TICKET(object)->blocked_by);
  G_OBJECT_CLASS(ticket_parent_class)->dispose(object);
}

static void ticket_finalize(GObject *object) {
  tickets_alive--;
  G_OBJECT_CLASS(ticket_parent_class)->finalize(object);
}

static void ticket_class_init(TicketClass *klass) {
  G_OBJECT_CLASS(klass)->dispose = ticket_dispose;
  G_OBJECT_CLASS(klass)->finalize = ticket_finalize;
}

static void ticket_init(Ticket *self) { tickets_alive++; }

static Ticket *ticket_new(int number, int hours) {
  Ticket *t = g_object_new(TICKET_TYPE, NULL);
  t->number = number;
  t->hours = hours;
  return t;
}

enum { TODO, DOING, DONE, N_COLUMNS };

struct board {
  GListStore *columns[N_COLUMNS];
  Ticket *pinned; /* owned */
};

static void board_init(struct board *b) {
  for (int c = 0; c < N_COLUMNS; c++)
    b->columns[c] = g_list_store_new(TICKET_TYPE);
  b->pinned = NULL;
}

static void board_clear(struct board *b) {
  g_clear_object(&b->pinned);
  for (int c = 0; c < N_COLUMNS; c++)
    g_clear_object(&b->columns[c]);
}

/* Returns a new reference or NULL. */
static Ticket *board_find(struct board *b, int number, int *column, guint *at) {
  for (int c = 0; c < N_COLUMNS; c++) {
    GListModel *m = G_LIST_MODEL(b->columns[c]);
    for (guint i = 0; i < g_list_model_get_n_items(m); i++) {
      Ticket *t = g_list_model_get_item(m, i);
      if (t->number == number) {
        *column = c;
        *at = i;
        return t;
      }
      g_object_unref(t);
    }
  }
  return NULL;
}

static gboolean board_move(struct board *b, int number, int to) {
  int from;
  guint at;
  Ticket *t = board_find(b, number, &from, &at);

  if (!t)
    return FALSE;
  if (from == to) {
    g_object_unref(t);
    return FALSE;
  }
  g_list_store_remove(b->columns[from], at);
  g_list_store_append(b->columns[to], t);
  g_object_unref(t);
  return TRUE;
}

static void board_pin(struct board *b, int number) {
  int c;
  guint at;
  Ticket *t = board_find(b, number, &c, &at);
  g_clear_object(&b->pinned);
  b->pinned = t; /* keeps what the search gave */
}

static gboolean board_block(struct board *b, int number, int by) {
  int c;
  guint at;
  g_autoptr(Ticket) t = board_find(b, number, &c, &at);
  g_autoptr(Ticket) other = board_find(b, by, &c, &at);

  if (!t || !other || t == other)
    return FALSE;
  g_clear_object(&t->blocked_by);
  t->blocked_by = g_steal_pointer(&other);
  return TRUE;
}

/* A list of new references, to be freed with everything in it. */
static GList *board_search(struct board *b, int min_hours) {
  GList *found = NULL;
  for (int c = 0; c < N_COLUMNS; c++) {
    GListModel *m = G_LIST_MODEL(b->columns[c]);
    Ticket *t;
    for (guint i = 0; (t = g_list_model_get_item(m, i)) != NULL; i++) {
      if (t->hours >= min_hours)
        found = g_list_prepend(found, t);
      else
        g_object_unref(t);
    }
  }
  return g_list_reverse(found);
}

static int board_report(struct board *b, int column) {
  GListModel *m = G_LIST_MODEL(b->columns[column]);
  guint n = g_list_model_get_n_items(m);
  int hours = 0;

  for (guint i = 0; i < n; i++) {
    Ticket *t = g_list_model_get_item(m, i); /* ACCEPTED */

    if (t->archived) {
#ifndef BUG
      g_object_unref(t);
#endif
      continue; /* GUILTY */
    }
    hours += t->hours;
    if (t->blocked_by)
      hours += t->blocked_by->hours / 2;
    g_object_unref(t);
  }
  return hours;
}

int main(void) {
  struct board b;
  long hours = 0;

  board_init(&b);
  for (int i = 0; i < 24; i++) {
    Ticket *t = ticket_new(100 + i, (i * 7) % 13);
    g_list_store_append(b.columns[i % N_COLUMNS], t);
    g_object_unref(t);
  }
  hours += board_move(&b, 103, DOING) + board_move(&b, 104, DONE) + board_move(&b, 105, DONE) + board_move(&b, 9, TODO);
  hours += board_block(&b, 107, 113) + board_block(&b, 109, 113) + board_block(&b, 110, 999);
  board_pin(&b, 120);
  board_pin(&b, 121);

  GList *big = board_search(&b, 9);
  for (GList *l = big; l; l = l->next)
    hours += BOARD_TICKET(l->data)->hours;
  g_list_free_full(big, g_object_unref);

  /* what is done and was small goes to the archive; the tickets in this list are only borrowed */
  GList *old = NULL;
  for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(b.columns[DONE])); i++) {
    Ticket *t = g_list_model_get_item(G_LIST_MODEL(b.columns[DONE]), i);
    if (t->hours <= 5)
      old = g_list_prepend(old, t);
    g_object_unref(t); /* the column still has it */
  }
  for (GList *l = old; l; l = l->next)
    BOARD_TICKET(l->data)->archived = TRUE;
  g_list_free(old);

  for (int c = 0; c < N_COLUMNS; c++)
    hours += board_report(&b, c);
  board_clear(&b);
#ifdef TRUTH
  printf("%d tickets left\n", tickets_alive);
#endif
  printf("%ld hours\n", hours);
  return 0;
}
