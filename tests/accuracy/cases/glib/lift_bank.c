/* summary: lift_hold_door gives the source from g_main_context_find_source_by_id() back, which only lends it
 * kind: extra-put
 * counts: deficit
 * objects: 5
 * track: glib
 * packages: glib-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/* The lifts of an office tower, played on a clock of their own: calls are handed to the nearest lift, doors close by a
 * timer, and somebody in the door holds it for a while. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#define LIFTS 6
#define FLOORS 20
#define TICKS 160

/* ------------------------------------------------ timers on the tower's clock */

typedef struct {
  GSource source;
  const guint *clock;
  guint due;
} ClockSource;

static gboolean clock_source_prepare(GSource *source, gint *timeout) {
  ClockSource *cs = (ClockSource *)source;

  *timeout = 0;
  return *cs->clock >= cs->due;
}

static gboolean clock_source_check(GSource *source) {
  ClockSource *cs = (ClockSource *)source;

  return *cs->clock >= cs->due;
}

static gboolean clock_source_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
  (void)source;
  return callback(data);
}

static GSourceFuncs clock_source_funcs = {clock_source_prepare, clock_source_check, clock_source_dispatch,
                                          NULL,                 NULL,               NULL};

static GSource *clock_source_new(const guint *clock, guint ticks) {
  GSource *source = g_source_new(&clock_source_funcs, sizeof(ClockSource));
  ClockSource *cs = (ClockSource *)source;

  cs->clock = clock;
  cs->due = *clock + ticks;
  return source;
}

/* ------------------------------------------------ lifts */

typedef struct _Bank Bank;

typedef struct {
  Bank *bank;
  guint number;
  guint floor;
  GQueue stops;    /* of floors */
  GSource *door;   /* the timer that closes the door, owned; NULL: the door is closed */
  guint door_id;
  gboolean held;
  guint served, holds;
} Lift;

struct _Bank {
  GMainContext *context;
  guint clock;
  Lift lifts[LIFTS];
  GSource *audit; /* owned */
  guint audits, out_of_order;
};

static gboolean door_closes(gpointer data) {
  Lift *lift = data;

  lift->held = FALSE;
  lift->door_id = 0;
  g_clear_pointer(&lift->door, g_source_unref);
  return G_SOURCE_REMOVE;
}

static void lift_open_door(Lift *lift) {
  lift->door = clock_source_new(&lift->bank->clock, 3);
  g_source_set_callback(lift->door, door_closes, lift, NULL);
  lift->door_id = g_source_attach(lift->door, lift->bank->context);
  lift->served++;
}

/* Somebody stands in the door: it may be held once. */
static gboolean lift_hold_door(Lift *lift, guint ticks) {
  GSource *source;

  if (lift->door_id == 0 || lift->held)
    return FALSE;
  source = g_main_context_find_source_by_id(lift->bank->context, lift->door_id); /* ACCEPTED */
  if (source == NULL)
    return FALSE;
  ((ClockSource *)source)->due += ticks;
  lift->held = TRUE;
  lift->holds++;
#ifdef BUG
  g_source_unref(source); /* GUILTY */
#endif
  return TRUE;
}

/* The button in the cabin: the door closes at once. */
static gboolean lift_close_now(Lift *lift) {
  GSource *source;

  if (lift->door == NULL || lift->held)
    return FALSE;
  source = g_source_ref(lift->door);
  g_source_destroy(source);
  door_closes(lift);
  g_source_unref(source);
  return TRUE;
}

static void lift_move(Lift *lift) {
  guint stop;

  if (lift->door != NULL || g_queue_is_empty(&lift->stops))
    return;
  stop = GPOINTER_TO_UINT(g_queue_peek_head(&lift->stops));
  if (stop == lift->floor) {
    g_queue_pop_head(&lift->stops);
    lift_open_door(lift);
  } else {
    lift->floor += stop > lift->floor ? 1 : -1;
  }
}

/* ------------------------------------------------ the bank */

static gboolean bank_audit(gpointer data) {
  Bank *bank = data;
  ClockSource *cs = (ClockSource *)bank->audit;

  for (guint i = 0; i < LIFTS; i++)
    if (g_queue_get_length(&bank->lifts[i].stops) > 4)
      bank->out_of_order++;
  bank->audits++;
  cs->due += 20;
  return G_SOURCE_CONTINUE;
}

static Bank *bank_new(void) {
  Bank *bank = g_new0(Bank, 1);

  bank->context = g_main_context_new();
  for (guint i = 0; i < LIFTS; i++) {
    bank->lifts[i].bank = bank;
    bank->lifts[i].number = i;
    bank->lifts[i].floor = i * 3;
    g_queue_init(&bank->lifts[i].stops);
  }
  bank->audit = clock_source_new(&bank->clock, 20);
  g_source_set_callback(bank->audit, bank_audit, bank, NULL);
  g_source_attach(bank->audit, bank->context);
  return bank;
}

static void bank_free(Bank *bank) {
  for (guint i = 0; i < LIFTS; i++) {
    Lift *lift = &bank->lifts[i];

    g_queue_clear(&lift->stops);
    if (lift->door != NULL) {
      g_source_destroy(lift->door);
      g_source_unref(lift->door);
    }
  }
  g_source_destroy(bank->audit);
  g_source_unref(bank->audit);
  g_main_context_unref(bank->context);
  g_free(bank);
}

static void bank_call(Bank *bank, guint floor) {
  Lift *best = NULL;
  guint best_cost = G_MAXUINT;

  for (guint i = 0; i < LIFTS; i++) {
    Lift *lift = &bank->lifts[i];
    guint cost = (guint)abs((int)lift->floor - (int)floor) + 4 * g_queue_get_length(&lift->stops);

    if (cost < best_cost) {
      best_cost = cost;
      best = lift;
    }
  }
  g_queue_push_tail(&best->stops, GUINT_TO_POINTER(floor));
}

static void bank_tick(Bank *bank) {
  bank->clock++;
  for (guint i = 0; i < LIFTS; i++)
    lift_move(&bank->lifts[i]);
  while (g_main_context_iteration(bank->context, FALSE))
    ;
}

int main(void) {
  Bank *bank = bank_new();
  guint holds = 0, closes = 0, served = 0;

  for (guint t = 0; t < TICKS; t++) {
    if (t % 3 == 0)
      bank_call(bank, t * 7 % FLOORS);
    bank_tick(bank);
    if (t % 25 == 12) /* the post comes with a trolley */
      for (guint i = 0; i < LIFTS; i++)
        if (lift_hold_door(&bank->lifts[i], 4)) {
          holds++;
          break;
        }
    if (t % 11 == 5)
      closes += lift_close_now(&bank->lifts[t / 11 % LIFTS]);
  }
  for (guint i = 0; i < LIFTS; i++) {
    served += bank->lifts[i].served;
    printf("lift %u: floor %u, %u stops, %u held\n", i, bank->lifts[i].floor, bank->lifts[i].served,
           bank->lifts[i].holds);
  }
  printf("%u served, %u held, %u closed by hand, %u audits, %u late\n", served, holds, closes, bank->audits,
         bank->out_of_order);
  bank_free(bank);
  return 0;
}
