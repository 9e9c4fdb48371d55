/*
 * summary: a dispatcher gives a reference to itself to the interlock of a crane that it owns, so neither is ever let go
 * kind: cycle
 * counts: surplus
 * objects: 2
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2 -g
 */
#include <glib-object.h>
#include <stdio.h>

#define HEAVY_KG 20000

/* ---- Crane: moves loads, asks its interlock before each lift ---- */

typedef struct _Crane Crane;
typedef gboolean (*InterlockFunc)(Crane *crane, guint kg, gpointer data);

#define TYPE_CRANE crane_get_type()
G_DECLARE_FINAL_TYPE(Crane, crane, DOCK, CRANE, GObject)

struct _Crane {
    GObject parent_instance;
    char *label;
    guint capacity;
    guint moved;
    InterlockFunc interlock;
    gpointer interlock_data;
    GDestroyNotify interlock_notify;
};

G_DEFINE_TYPE(Crane, crane, G_TYPE_OBJECT)

enum { PROP_0, PROP_LABEL, PROP_CAPACITY, N_PROPS };
static GParamSpec *crane_props[N_PROPS];
static guint load_moved_signal;

static void crane_set_interlock(Crane *self, InterlockFunc func, gpointer data, GDestroyNotify notify)
{
    GDestroyNotify old_notify = self->interlock_notify;
    gpointer old_data = self->interlock_data;

    self->interlock = func;
    self->interlock_data = data;
    self->interlock_notify = notify;
    if (old_notify)
        old_notify(old_data);
}

static void crane_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
    Crane *self = DOCK_CRANE(object);

    switch (id) {
    case PROP_LABEL:
        g_free(self->label);
        self->label = g_value_dup_string(value);
        break;
    case PROP_CAPACITY:
        self->capacity = g_value_get_uint(value);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void crane_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    Crane *self = DOCK_CRANE(object);

    switch (id) {
    case PROP_LABEL:
        g_value_set_string(value, self->label);
        break;
    case PROP_CAPACITY:
        g_value_set_uint(value, self->capacity);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void crane_dispose(GObject *object)
{
    crane_set_interlock(DOCK_CRANE(object), NULL, NULL, NULL);
    G_OBJECT_CLASS(crane_parent_class)->dispose(object);
}

static void crane_finalize(GObject *object)
{
    g_free(DOCK_CRANE(object)->label);
    G_OBJECT_CLASS(crane_parent_class)->finalize(object);
}

static void crane_class_init(CraneClass *klass)
{
    GObjectClass *object_class = G_OBJECT_CLASS(klass);

    object_class->set_property = crane_set_property;
    object_class->get_property = crane_get_property;
    object_class->dispose = crane_dispose;
    object_class->finalize = crane_finalize;
    crane_props[PROP_LABEL] = g_param_spec_string("label", NULL, NULL, NULL, G_PARAM_READWRITE);
    crane_props[PROP_CAPACITY] = g_param_spec_uint("capacity", NULL, NULL, 0, 200000, 5000, G_PARAM_READWRITE);
    g_object_class_install_properties(object_class, N_PROPS, crane_props);
    load_moved_signal = g_signal_new("load-moved", G_TYPE_FROM_CLASS(klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                     NULL, G_TYPE_NONE, 1, G_TYPE_UINT);
}

static void crane_init(Crane *self)
{
    self->capacity = 5000;
}

static gboolean crane_lift(Crane *self, guint kg)
{
    if (kg > self->capacity)
        return FALSE;
    if (self->interlock && !self->interlock(self, kg, self->interlock_data))
        return FALSE;
    self->moved += kg;
    g_signal_emit(self, load_moved_signal, 0, kg);
    return TRUE;
}

/* ---- Dispatcher: one shift's view of the cranes ---- */

typedef struct _Dispatcher Dispatcher;
#define TYPE_DISPATCHER dispatcher_get_type()
G_DECLARE_FINAL_TYPE(Dispatcher, dispatcher, DOCK, DISPATCHER, GObject)

struct _Dispatcher {
    GObject parent_instance;
    const char *shift;
    GPtrArray *cranes;
    guint heavy_budget;
    guint total;
};

G_DEFINE_TYPE(Dispatcher, dispatcher, G_TYPE_OBJECT)

static gboolean check_heavy(Crane *crane, guint kg, gpointer data)
{
    Dispatcher *self = data;

    if (kg > self->heavy_budget) {
        printf("%s: %s must wait with %u kg\n", self->shift, crane->label, kg);
        return FALSE;
    }
    self->heavy_budget -= kg;
    return TRUE;
}

static void on_load_moved(Crane *crane, guint kg, Dispatcher *self)
{
    (void)crane;
    self->total += kg;
}

static void dispatcher_take(Dispatcher *self, Crane *crane)
{
    g_ptr_array_add(self->cranes, g_object_ref(crane));
    g_signal_connect_object(crane, "load-moved", G_CALLBACK(on_load_moved), self, 0);
    if (crane->capacity >= HEAVY_KG)
#ifdef BUG
        crane_set_interlock(crane, check_heavy, g_object_ref(self), g_object_unref); /* GUILTY */
#else
        crane_set_interlock(crane, check_heavy, self, NULL);
#endif
}

static void dispatcher_hand_back(Dispatcher *self, Crane *crane)
{
    g_signal_handlers_disconnect_by_data(crane, self);
    if (crane->interlock_data == self)
        crane_set_interlock(crane, NULL, NULL, NULL);
    g_ptr_array_remove(self->cranes, crane);
}

static void dispatcher_dispose(GObject *object)
{
    Dispatcher *self = DOCK_DISPATCHER(object);

    while (self->cranes->len > 0)
        dispatcher_hand_back(self, g_ptr_array_index(self->cranes, self->cranes->len - 1));
    G_OBJECT_CLASS(dispatcher_parent_class)->dispose(object);
}

static void dispatcher_finalize(GObject *object)
{
    g_ptr_array_unref(DOCK_DISPATCHER(object)->cranes);
    G_OBJECT_CLASS(dispatcher_parent_class)->finalize(object);
}

static void dispatcher_class_init(DispatcherClass *klass)
{
    G_OBJECT_CLASS(klass)->dispose = dispatcher_dispose;
    G_OBJECT_CLASS(klass)->finalize = dispatcher_finalize;
}

static void dispatcher_init(Dispatcher *self)
{
    self->cranes = g_ptr_array_new_with_free_func(g_object_unref);
}

static Dispatcher *dispatcher_new(const char *shift, guint heavy_budget)
{
    Dispatcher *self = g_object_new(TYPE_DISPATCHER, NULL);

    self->shift = shift;
    self->heavy_budget = heavy_budget;
    return self;
}

static Crane *crane_at(Dispatcher *self, guint i)
{
    return i < self->cranes->len ? g_ptr_array_index(self->cranes, i) : NULL;
}

static guint work_off(Dispatcher *self, const guint *loads, gsize n)
{
    guint refused = 0;

    for (gsize i = 0; i < n; i++) {
        Crane *crane = crane_at(self, i % MAX(self->cranes->len, 1));
        if (!crane || !crane_lift(crane, loads[i]))
            refused++;
    }
    return refused;
}

static void change_shift(Dispatcher *from, Dispatcher *to, guint index)
{
    Crane *crane = crane_at(from, index);

    if (!crane)
        return;
    g_object_ref(crane);
    dispatcher_hand_back(from, crane);
    dispatcher_take(to, crane);
    g_object_unref(crane);
}

int main(void)
{
    static const guint loads[] = {1200, 30000, 800, 4100, 26000, 900, 2500, 38000};
    static const struct { const char *label; guint capacity; } park[] = {
        {"quay-1", 5000}, {"quay-2", 8000}, {"gantry", 60000}, {"yard-1", 5000}, {"yard-2", 6000}};
    Dispatcher *day = dispatcher_new("day", 90000);
    Dispatcher *night = dispatcher_new("night", 40000);
    guint refused = 0;

    for (gsize i = 0; i < G_N_ELEMENTS(park); i++) {
        Crane *crane = g_object_new(TYPE_CRANE, "label", park[i].label, "capacity", park[i].capacity, NULL);
        dispatcher_take(day, crane);
        g_object_unref(crane);
    }
    refused += work_off(day, loads, G_N_ELEMENTS(loads));
    change_shift(day, night, 2);
    refused += work_off(day, loads, 4);
    refused += work_off(night, loads, G_N_ELEMENTS(loads));
    printf("day %u kg, night %u kg, refused %u\n", day->total, night->total, refused);
    g_object_unref(day);
    g_object_unref(night);
    return 0;
}
