/* summary: clinic_admit_urgent moves a patient from the table of waiting ones into a room with g_hash_table_remove(), whose destroy function gives the moved reference back, instead of stealing the entry
 * kind: extra-put
 * counts: deficit
 * objects: 5
 * track: GObject GHashTable
 * packages: gio-2.0
 * build: clang-14 -O2 -g
 * exit: 0
 */
/* The day of an outpatient clinic: patients take a ticket, wait, are called into rooms, and pay at the desk. */
#include <gio/gio.h>
#include <stdio.h>

#define NROOMS 5
#define NPATIENTS 36

/* ---- Patient ------------------------------------------------------------------------------------------------- */

#define CL_TYPE_PATIENT (cl_patient_get_type())
G_DECLARE_FINAL_TYPE(ClPatient, cl_patient, CL, PATIENT, GObject)

struct _ClPatient {
  GObject parent_instance;
  guint ticket;
  guint urgency;
  guint fee;
};

enum { PROP_0, PROP_TICKET, PROP_URGENCY, PROP_FEE, N_PROPS };
static GParamSpec *props[N_PROPS];
static guint called_signal;

G_DEFINE_TYPE(ClPatient, cl_patient, G_TYPE_OBJECT)

static void cl_patient_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
  ClPatient *self = CL_PATIENT(object);

  switch (id) {
  case PROP_TICKET:
    g_value_set_uint(value, self->ticket);
    break;
  case PROP_URGENCY:
    g_value_set_uint(value, self->urgency);
    break;
  case PROP_FEE:
    g_value_set_uint(value, self->fee);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

static void cl_patient_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
  ClPatient *self = CL_PATIENT(object);

  switch (id) {
  case PROP_TICKET:
    self->ticket = g_value_get_uint(value);
    break;
  case PROP_URGENCY:
    self->urgency = g_value_get_uint(value);
    break;
  case PROP_FEE:
    self->fee = g_value_get_uint(value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

static void cl_patient_class_init(ClPatientClass *klass) {
  GObjectClass *oc = G_OBJECT_CLASS(klass);

  oc->get_property = cl_patient_get_property;
  oc->set_property = cl_patient_set_property;
  props[PROP_TICKET] = g_param_spec_uint("ticket", NULL, NULL, 0, G_MAXUINT, 0,
                                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);
  props[PROP_URGENCY] = g_param_spec_uint("urgency", NULL, NULL, 0, 9, 0, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  props[PROP_FEE] = g_param_spec_uint("fee", NULL, NULL, 0, G_MAXUINT, 0, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties(oc, N_PROPS, props);
  called_signal = g_signal_new("called", CL_TYPE_PATIENT, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                               G_TYPE_UINT);
}

static void cl_patient_init(ClPatient *self) { self->fee = 20; }

/* ---- Clinic -------------------------------------------------------------------------------------------------- */

struct clinic {
  GListStore *day;     /* everybody who came today */
  GHashTable *waiting; /* ticket -> patient */
  GHashTable *rooms;   /* room -> patient */
  GQueue order;        /* tickets in their order; may name patients who have gone already */
  GQueue desk;         /* patients who have to pay, with a reference */
  guint income, calls, walked_out;
};

static void clinic_init(struct clinic *c) {
  c->day = g_list_store_new(CL_TYPE_PATIENT);
  c->waiting = g_hash_table_new_full(NULL, NULL, NULL, g_object_unref);
  c->rooms = g_hash_table_new_full(NULL, NULL, NULL, g_object_unref);
  g_queue_init(&c->order);
  g_queue_init(&c->desk);
  c->income = c->calls = c->walked_out = 0;
}

static void on_called(ClPatient *patient, guint room, gpointer data) {
  struct clinic *c = data;

  c->calls += room < NROOMS && patient->ticket > 0;
}

static void clinic_arrive(struct clinic *c, guint ticket, guint urgency) {
  ClPatient *p = g_object_new(CL_TYPE_PATIENT, "ticket", ticket, "urgency", urgency, NULL);

  g_signal_connect(p, "called", G_CALLBACK(on_called), c);
  g_list_store_append(c->day, p);
  g_queue_push_tail(&c->order, GUINT_TO_POINTER(ticket));
  g_hash_table_insert(c->waiting, GUINT_TO_POINTER(ticket), p); /* the table has our reference now */
}

static int clinic_free_room(struct clinic *c) {
  for (guint room = 0; room < NROOMS; room++)
    if (!g_hash_table_contains(c->rooms, GUINT_TO_POINTER(room)))
      return (int)room;
  return -1;
}

static gboolean clinic_admit_next(struct clinic *c) {
  int room = clinic_free_room(c);
  gpointer patient;

  if (room < 0)
    return FALSE;
  while (!g_queue_is_empty(&c->order)) {
    gpointer ticket = g_queue_pop_head(&c->order);

    if (!g_hash_table_steal_extended(c->waiting, ticket, NULL, &patient))
      continue;
    g_hash_table_insert(c->rooms, GINT_TO_POINTER(room), patient);
    g_signal_emit(patient, called_signal, 0, (guint)room);
    return TRUE;
  }
  return FALSE;
}

static ClPatient *clinic_most_urgent(struct clinic *c, guint least) {
  GHashTableIter iter;
  gpointer value;
  ClPatient *best = NULL;

  g_hash_table_iter_init(&iter, c->waiting);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    ClPatient *p = value;

    if (p->urgency < least)
      continue;
    if (!best || p->urgency > best->urgency || (p->urgency == best->urgency && p->ticket < best->ticket))
      best = p;
  }
  return best;
}

/* Patients of urgency 7 and more do not wait for their turn. */
static gboolean clinic_admit_urgent(struct clinic *c) {
  int room = clinic_free_room(c);
  ClPatient *patient = clinic_most_urgent(c, 7);

  if (room < 0 || !patient)
    return FALSE;
#ifdef BUG
  g_hash_table_remove(c->waiting, GUINT_TO_POINTER(patient->ticket)); /* GUILTY */
#else
  g_hash_table_steal(c->waiting, GUINT_TO_POINTER(patient->ticket));
#endif
  g_hash_table_insert(c->rooms, GINT_TO_POINTER(room), patient); /* ACCEPTED */
  g_object_set(patient, "fee", patient->fee + 15, NULL);
  g_signal_emit(patient, called_signal, 0, (guint)room);
  return TRUE;
}

/* Who has waited for too long goes home. */
static void clinic_impatience(struct clinic *c, guint before) {
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init(&iter, c->waiting);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    if (((ClPatient *)value)->ticket < before && ((ClPatient *)value)->urgency == 0) {
      c->walked_out++;
      g_hash_table_iter_remove(&iter);
    }
  }
}

static void clinic_discharge(struct clinic *c, guint room) {
  ClPatient *p = g_hash_table_lookup(c->rooms, GUINT_TO_POINTER(room));

  if (!p)
    return;
  g_queue_push_tail(&c->desk, g_object_ref(p));
  g_hash_table_remove(c->rooms, GUINT_TO_POINTER(room));
}

static void clinic_pay(struct clinic *c) {
  ClPatient *p = g_queue_pop_head(&c->desk);
  guint fee;

  if (!p)
    return;
  g_object_get(p, "fee", &fee, NULL);
  c->income += fee;
  g_object_unref(p);
}

/* Returns how many have still to pay. */
static guint clinic_close(struct clinic *c) {
  guint unpaid = g_queue_get_length(&c->desk), n = g_list_model_get_n_items(G_LIST_MODEL(c->day));

  for (guint i = 0; i < n; i++) {
    ClPatient *p = g_list_model_get_item(G_LIST_MODEL(c->day), i);

    g_signal_handlers_disconnect_by_data(p, c);
    g_object_unref(p);
  }
  g_queue_clear_full(&c->desk, g_object_unref);
  g_queue_clear(&c->order);
  g_hash_table_destroy(c->rooms);
  g_hash_table_destroy(c->waiting);
  g_object_unref(c->day);
  return unpaid;
}

int main(void) {
  struct clinic clinic;
  guint admitted = 0, urgent = 0, unpaid;

  clinic_init(&clinic);
  for (guint t = 1; t <= NPATIENTS; t++) {
    clinic_arrive(&clinic, t, t % 7 == 4 ? 7 + t % 2 : t % 4);
    if (t % 3 == 0)
      urgent += clinic_admit_urgent(&clinic);
    if (t % 2)
      admitted += clinic_admit_next(&clinic);
    clinic_discharge(&clinic, t * 3 % (NROOMS + 2));
    if (t % 12 == 0)
      clinic_impatience(&clinic, t - 3);
  }
  while (clinic_admit_next(&clinic))
    admitted++;
  for (guint room = 0; room < NROOMS; room++)
    clinic_discharge(&clinic, room);
  printf("%u admitted, %u urgent, %u calls, %u walked out, %u still waiting\n", admitted, urgent, clinic.calls,
         clinic.walked_out, g_hash_table_size(clinic.waiting));
  for (guint i = 0; i < 4; i++)
    clinic_pay(&clinic);
  unpaid = clinic_close(&clinic);
  printf("income %u, %u bills sent\n", clinic.income, unpaid);
  return 0;
}
