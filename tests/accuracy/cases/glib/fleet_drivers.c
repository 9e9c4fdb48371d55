/*
 * summary: copying the crew of a van stores the relief driver a second time without a reference of its own
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O0 -g
 */
#include <glib-object.h>
#include <stdio.h>
#include <string.h>

typedef struct _Driver Driver;
#define TYPE_DRIVER driver_get_type()
G_DECLARE_FINAL_TYPE(Driver, driver, FLEET, DRIVER, GObject)

struct _Driver {
    GObject parent_instance;
    char *name;
    guint hours;
};

G_DEFINE_TYPE(Driver, driver, G_TYPE_OBJECT)

static void driver_finalize(GObject *object)
{
    g_free(FLEET_DRIVER(object)->name);
    G_OBJECT_CLASS(driver_parent_class)->finalize(object);
}

static void driver_class_init(DriverClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = driver_finalize;
}

static void driver_init(Driver *self)
{
    self->hours = 0;
}

static Driver *driver_new(const char *name)
{
    Driver *self = g_object_new(TYPE_DRIVER, NULL);

    self->name = g_strdup(name);
    return self;
}

typedef struct _Van Van;
#define TYPE_VAN van_get_type()
G_DECLARE_FINAL_TYPE(Van, van, FLEET, VAN, GObject)

struct _Van {
    GObject parent_instance;
    char *plate;
    Driver *driver;
    Driver *relief;
    guint trips;
};

G_DEFINE_TYPE(Van, van, G_TYPE_OBJECT)

enum { PROP_0, PROP_PLATE, PROP_DRIVER, PROP_RELIEF, N_PROPS };
static GParamSpec *van_props[N_PROPS];
static guint crew_changed_signal;

static void van_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
    Van *self = FLEET_VAN(object);
    gboolean changed = FALSE;

    switch (id) {
    case PROP_PLATE:
        g_free(self->plate);
        self->plate = g_value_dup_string(value);
        break;
    case PROP_DRIVER:
        changed = g_set_object(&self->driver, g_value_get_object(value));
        break;
    case PROP_RELIEF:
        changed = g_set_object(&self->relief, g_value_get_object(value));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
    if (changed)
        g_signal_emit(self, crew_changed_signal, 0);
}

static void van_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    Van *self = FLEET_VAN(object);

    switch (id) {
    case PROP_PLATE:
        g_value_set_string(value, self->plate);
        break;
    case PROP_DRIVER:
        g_value_set_object(value, self->driver);
        break;
    case PROP_RELIEF:
        g_value_set_object(value, self->relief);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void van_dispose(GObject *object)
{
    Van *self = FLEET_VAN(object);

    g_clear_object(&self->driver);
    g_clear_object(&self->relief);
    G_OBJECT_CLASS(van_parent_class)->dispose(object);
}

static void van_finalize(GObject *object)
{
    g_free(FLEET_VAN(object)->plate);
    G_OBJECT_CLASS(van_parent_class)->finalize(object);
}

static void van_class_init(VanClass *klass)
{
    GObjectClass *object_class = G_OBJECT_CLASS(klass);

    object_class->set_property = van_set_property;
    object_class->get_property = van_get_property;
    object_class->dispose = van_dispose;
    object_class->finalize = van_finalize;
    van_props[PROP_PLATE] = g_param_spec_string("plate", NULL, NULL, NULL, G_PARAM_READWRITE);
    van_props[PROP_DRIVER] = g_param_spec_object("driver", NULL, NULL, TYPE_DRIVER, G_PARAM_READWRITE);
    van_props[PROP_RELIEF] = g_param_spec_object("relief", NULL, NULL, TYPE_DRIVER, G_PARAM_READWRITE);
    g_object_class_install_properties(object_class, N_PROPS, van_props);
    crew_changed_signal = g_signal_new("crew-changed", G_TYPE_FROM_CLASS(klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                       NULL, G_TYPE_NONE, 0);
}

static void van_init(Van *self)
{
    self->trips = 0;
}

/* The van `to` goes out with the crew of `from`. */
static void van_copy_crew(Van *to, Van *from)
{
    if (to == from)
        return;
    g_set_object(&to->driver, from->driver);
    if (to->relief != from->relief) {
        g_clear_object(&to->relief);
#ifdef BUG
        to->relief = from->relief; /* GUILTY */
#else
        to->relief = from->relief ? g_object_ref(from->relief) : NULL;
#endif
    }
    g_signal_emit(to, crew_changed_signal, 0);
}

typedef struct {
    GHashTable *vans;   /* plate -> Van */
    GPtrArray *roster;  /* Driver */
    guint crew_changes;
} Depot;

static void on_crew_changed(Van *van, Depot *depot)
{
    (void)van;
    depot->crew_changes++;
}

static void depot_init(Depot *depot)
{
    depot->vans = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
    depot->roster = g_ptr_array_new_with_free_func(g_object_unref);
    depot->crew_changes = 0;
}

static void depot_close(Depot *depot)
{
    GHashTableIter iter;
    gpointer van;

    g_hash_table_iter_init(&iter, depot->vans);
    while (g_hash_table_iter_next(&iter, NULL, &van))
        g_signal_handlers_disconnect_by_data(van, depot);
    g_hash_table_unref(depot->vans);
    g_ptr_array_unref(depot->roster);
}

static Driver *depot_hire(Depot *depot, const char *name)
{
    Driver *driver = driver_new(name);

    g_ptr_array_add(depot->roster, driver);
    return driver;
}

static Van *depot_register(Depot *depot, const char *plate, Driver *driver, Driver *relief)
{
    Van *van = g_object_new(TYPE_VAN, "plate", plate, "driver", driver, "relief", relief, NULL);

    g_signal_connect(van, "crew-changed", G_CALLBACK(on_crew_changed), depot);
    g_hash_table_replace(depot->vans, g_strdup(plate), van);
    return van;
}

static void drive(Van *van, guint hours)
{
    Driver *first = NULL;

    g_object_get(van, "driver", &first, NULL);
    if (!first)
        return;
    van->trips++;
    if (first->hours + hours > 9 && van->relief) {
        van->relief->hours += hours;
    } else {
        first->hours += hours;
    }
    g_object_unref(first);
}

static guint tired(const Depot *depot)
{
    guint n = 0;

    for (guint i = 0; i < depot->roster->len; i++) {
        const Driver *driver = g_ptr_array_index(depot->roster, i);
        if (driver->hours > 8) {
            printf("%s needs a rest after %u hours\n", driver->name, driver->hours);
            n++;
        }
    }
    return n;
}

int main(void)
{
    static const char *names[] = {"Adil", "Brit", "Carla", "Dov", "Ewa", "Finn"};
    Driver *staff[G_N_ELEMENTS(names)];
    Depot depot;
    Van *vans[5];

    depot_init(&depot);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        staff[i] = depot_hire(&depot, names[i]);
    vans[0] = depot_register(&depot, "HB-101", staff[0], staff[1]);
    vans[1] = depot_register(&depot, "HB-102", staff[2], NULL);
    vans[2] = depot_register(&depot, "HB-103", staff[3], staff[4]);
    vans[3] = depot_register(&depot, "HB-104", staff[5], staff[0]);
    vans[4] = depot_register(&depot, "HB-105", NULL, NULL);
    for (guint round = 0; round < 3; round++)
        for (gsize i = 0; i < G_N_ELEMENTS(vans); i++)
            drive(vans[i], 2 + i % 3);
    van_copy_crew(vans[4], vans[0]);
    van_copy_crew(vans[1], vans[2]);
    g_object_set(vans[0], "driver", staff[5], NULL);
    van_copy_crew(vans[3], vans[3]);
    for (gsize i = 0; i < G_N_ELEMENTS(vans); i++)
        drive(vans[i], 3);
    printf("%u tired, %u changes of crew\n", tired(&depot), depot.crew_changes);
    depot_close(&depot);
    return 0;
}
