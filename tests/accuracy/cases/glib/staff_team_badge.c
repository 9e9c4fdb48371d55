/* summary: the getter of the "team" property takes the borrowed team over into the GValue, so every read costs the team one reference
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: GObject
 * packages: gobject-2.0
 * build: clang -O0 -g
 * exit: 0
 */
/* A staff directory: people belong to teams and have a manager; badges are printed from the properties. */
#include <glib-object.h>
#include <stdio.h>

#define TEAM_TYPE (team_get_type())
G_DECLARE_FINAL_TYPE(Team, team, STAFF, TEAM, GObject)

struct _Team {
  GObject parent_instance;
  int room;
};

G_DEFINE_TYPE(Team, team, G_TYPE_OBJECT)

static int teams_ended;

static void team_finalize(GObject *object) {
  teams_ended++;
  G_OBJECT_CLASS(team_parent_class)->finalize(object);
}

static void team_class_init(TeamClass *klass) { G_OBJECT_CLASS(klass)->finalize = team_finalize; }

static void team_init(Team *self) { self->room = 100; }

#define PERSON_TYPE (person_get_type())
G_DECLARE_FINAL_TYPE(Person, person, STAFF, PERSON, GObject)

struct _Person {
  GObject parent_instance;
  char *name;
  Team *team;      /* owned */
  Person *manager; /* owned */
};

enum { PROP_0, PROP_NAME, PROP_TEAM, PROP_MANAGER, N_PROPS };
static GParamSpec *props[N_PROPS];

G_DEFINE_TYPE(Person, person, G_TYPE_OBJECT)

static void person_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
  Person *self = STAFF_PERSON(object);
  switch (id) {
  case PROP_NAME:
    g_free(self->name);
    self->name = g_value_dup_string(value);
    break;
  case PROP_TEAM:
    g_clear_object(&self->team);
    self->team = g_value_dup_object(value);
    break;
  case PROP_MANAGER:
    g_set_object(&self->manager, g_value_get_object(value));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

static void person_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
  Person *self = STAFF_PERSON(object);
  switch (id) {
  case PROP_NAME:
    /* a fresh string, so the value may have it */
    g_value_take_string(value, g_strdup(self->name ? self->name : "?"));
    break;
  case PROP_TEAM:
#ifdef BUG
    g_value_take_object(value, self->team); /* GUILTY */
#else
    g_value_set_object(value, self->team);
#endif
    break;
  case PROP_MANAGER:
    if (self->manager)
      g_value_take_object(value, g_object_ref(self->manager));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

static void person_dispose(GObject *object) {
  Person *self = STAFF_PERSON(object);
  g_clear_object(&self->manager);
  g_clear_object(&self->team);
  G_OBJECT_CLASS(person_parent_class)->dispose(object);
}

static void person_finalize(GObject *object) {
  g_free(STAFF_PERSON(object)->name);
  G_OBJECT_CLASS(person_parent_class)->finalize(object);
}

static void person_class_init(PersonClass *klass) {
  GObjectClass *oc = G_OBJECT_CLASS(klass);
  const GParamFlags rw = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  oc->set_property = person_set_property;
  oc->get_property = person_get_property;
  oc->dispose = person_dispose;
  oc->finalize = person_finalize;
  props[PROP_NAME] = g_param_spec_string("name", NULL, NULL, NULL, rw);
  props[PROP_TEAM] = g_param_spec_object("team", NULL, NULL, TEAM_TYPE, rw);
  props[PROP_MANAGER] = g_param_spec_object("manager", NULL, NULL, PERSON_TYPE, rw);
  g_object_class_install_properties(oc, N_PROPS, props);
}

static void person_init(Person *self) { self->name = NULL; }

/* Borrowed: good for as long as the person stays in the team. */
static Team *person_team(Person *self) { return self->team; }

#define N_TEAMS 24

/* The building plan knows every team until the program ends. */
static Team *plan[N_TEAMS];
static GPtrArray *staff;

static void hire(void) {
  for (int i = 0; i < N_TEAMS; i++) {
    plan[i] = g_object_new(TEAM_TYPE, NULL);
    plan[i]->room += i;
  }
  for (int i = 0; i < 2 * N_TEAMS; i++) {
    char name[16];
    g_snprintf(name, sizeof(name), "P%03d", i);
    Person *p = g_object_new(PERSON_TYPE, "name", name, "team", plan[i / 2], NULL);
    if (i > 3)
      g_object_set(p, "manager", staff->pdata[i % 4], NULL);
    g_ptr_array_add(staff, p);
  }
}

/* A badge: name, room and the manager's room. */
static int print_badge(Person *p, gboolean with_team) {
  Person *manager = NULL;
  char *name = NULL;
  int room;

  g_object_get(p, "name", &name, "manager", &manager, NULL);
  if (with_team) {
    /* visitors' desk: knows the property only */
    Team *team = NULL;
    g_object_get(p, "team", &team, NULL);
    room = team->room;
    g_object_unref(team);
  } else {
    room = person_team(p)->room;
  }
  if (manager) {
    room += person_team(manager)->room;
    g_object_unref(manager);
  }
  room += name[0] == 'P';
  g_free(name);
  return room;
}

static void move(Person *p, Team *to) {
  Team *old = g_object_ref(person_team(p));
  if (old != to)
    g_object_set(p, "team", to, NULL);
  g_object_unref(old);
}

int main(void) {
  long rooms = 0;

  staff = g_ptr_array_new_with_free_func(g_object_unref);
  hire();
  for (guint i = 0; i < staff->len; i++)
    rooms += print_badge(staff->pdata[i], i == 21 || i == 38);
  move(staff->pdata[7], plan[12]);
  move(staff->pdata[8], plan[4]);
  g_ptr_array_set_free_func(staff, g_object_unref);
  g_ptr_array_unref(staff);
  /* the plan is still on the wall */
  for (int i = 0; i < N_TEAMS; i++)
    rooms += plan[i]->room;
#ifdef TRUTH
  printf("%d teams ended while the plan still owns them\n", teams_ended);
#endif
  printf("rooms: %ld\n", rooms);
  return 0;
}
