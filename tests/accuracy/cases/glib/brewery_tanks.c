/*
 * summary: commissioning a tank under a name in use drops the older tank while the handler on its own valve still has a reference to it
 * kind: cycle
 * counts: surplus
 * objects: 2
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2 -g
 */
#include <glib-object.h>
#include <stdio.h>
#include <string.h>

/* Outlet valve: tells whoever listens how far it is open. */

typedef struct _Valve Valve;
#define TYPE_VALVE valve_get_type()
G_DECLARE_FINAL_TYPE(Valve, valve, BREW, VALVE, GObject)

struct _Valve {
    GObject parent_instance;
    double opening;
    guint moves;
};

G_DEFINE_TYPE(Valve, valve, G_TYPE_OBJECT)

static guint valve_moved;

static void valve_class_init(ValveClass *klass)
{
    valve_moved = g_signal_new("moved", G_TYPE_FROM_CLASS(klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                               G_TYPE_NONE, 1, G_TYPE_DOUBLE);
}

static void valve_init(Valve *self)
{
    self->opening = 0.0;
}

static void valve_set_opening(Valve *self, double opening)
{
    opening = CLAMP(opening, 0.0, 1.0);
    if (opening == self->opening)
        return;
    self->opening = opening;
    self->moves++;
    g_signal_emit(self, valve_moved, 0, opening);
}

/* Tank: owns its valve and watches it. */

typedef struct _Tank Tank;
#define TYPE_TANK tank_get_type()
G_DECLARE_FINAL_TYPE(Tank, tank, BREW, TANK, GObject)

struct _Tank {
    GObject parent_instance;
    char *name;
    Valve *outlet;
    gulong watch;
    double litres;
    double outflow;
};

G_DEFINE_TYPE(Tank, tank, G_TYPE_OBJECT)

static void tank_detach(Tank *self)
{
    if (self->watch != 0) {
        gulong watch = self->watch;

        self->watch = 0;
        g_signal_handler_disconnect(self->outlet, watch);
    }
}

static void tank_dispose(GObject *object)
{
    Tank *self = BREW_TANK(object);

    tank_detach(self);
    g_clear_object(&self->outlet);
    G_OBJECT_CLASS(tank_parent_class)->dispose(object);
}

static void tank_finalize(GObject *object)
{
    g_free(BREW_TANK(object)->name);
    G_OBJECT_CLASS(tank_parent_class)->finalize(object);
}

static void tank_class_init(TankClass *klass)
{
    G_OBJECT_CLASS(klass)->dispose = tank_dispose;
    G_OBJECT_CLASS(klass)->finalize = tank_finalize;
}

static void tank_init(Tank *self)
{
    self->outlet = g_object_new(TYPE_VALVE, NULL);
}

static void tank_outlet_moved(Valve *valve, double opening, gpointer data)
{
    Tank *self = data;

    (void)valve;
    self->outflow = opening * 12.5;
}

static void tank_closure_gone(gpointer data, GClosure *closure)
{
    (void)closure;
    g_object_unref(data);
}

static void tank_attach(Tank *self)
{
    self->watch = g_signal_connect_data(self->outlet, "moved", G_CALLBACK(tank_outlet_moved), g_object_ref(self), /* ACCEPTED */
                                        tank_closure_gone, 0);
}

static Tank *tank_new(const char *name, double litres)
{
    Tank *self = g_object_new(TYPE_TANK, NULL);

    self->name = g_strdup(name);
    self->litres = litres;
    tank_attach(self);
    return self;
}

static double tank_run(Tank *self, double minutes)
{
    double drawn = MIN(self->litres, self->outflow * minutes);

    self->litres -= drawn;
    return drawn;
}

/* Brewery: tanks by name, and a rota of those that are to be cleaned. */

typedef struct {
    GHashTable *tanks;
    GList *cleaning;
    double bottled;
} Brewery;

static void brewery_init(Brewery *b)
{
    b->tanks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
    b->cleaning = NULL;
    b->bottled = 0;
}

static void brewery_commission(Brewery *b, const char *name, double litres)
{
    Tank *fresh = tank_new(name, litres);
    Tank *old = g_hash_table_lookup(b->tanks, name);

    if (old != NULL) {
        fresh->litres += old->litres;
        valve_set_opening(old->outlet, 0.0);
#ifndef BUG
        tank_detach(old);
#endif
    }
    g_hash_table_replace(b->tanks, g_strdup(name), fresh); /* GUILTY */
}

static gboolean brewery_retire(Brewery *b, const char *name)
{
    Tank *tank = g_hash_table_lookup(b->tanks, name);

    if (tank == NULL)
        return FALSE;
    tank_detach(tank);
    return g_hash_table_remove(b->tanks, name);
}

static void brewery_book_cleaning(Brewery *b, const char *name)
{
    Tank *tank = g_hash_table_lookup(b->tanks, name);

    if (tank != NULL)
        b->cleaning = g_list_append(b->cleaning, g_object_ref(tank));
}

static guint brewery_clean(Brewery *b)
{
    guint done = 0;

    while (b->cleaning != NULL) {
        Tank *tank = b->cleaning->data;

        b->cleaning = g_list_delete_link(b->cleaning, b->cleaning);
        valve_set_opening(tank->outlet, 1.0);
        valve_set_opening(tank->outlet, 0.0);
        done++;
        g_object_unref(tank);
    }
    return done;
}

static void brewery_bottle(Brewery *b, const char *name, double opening, double minutes)
{
    Tank *tank = g_hash_table_lookup(b->tanks, name);

    if (tank == NULL) {
        printf("no tank %s\n", name);
        return;
    }
    valve_set_opening(tank->outlet, opening);
    b->bottled += tank_run(tank, minutes);
    valve_set_opening(tank->outlet, 0.0);
}

static void brewery_close(Brewery *b)
{
    GHashTableIter iter;
    gpointer value;

    g_list_free_full(b->cleaning, g_object_unref);
    g_hash_table_iter_init(&iter, b->tanks);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        tank_detach(BREW_TANK(value));
        g_hash_table_iter_remove(&iter);
    }
    g_hash_table_unref(b->tanks);
}

int main(void)
{
    static const struct {
        const char *name;
        double litres;
    } plan[] = { { "mash", 400 }, { "wort", 350 }, { "pilsner", 800 }, { "porter", 600 }, { "stout", 240 }, { "wheat", 500 } };
    Brewery brewery;

    brewery_init(&brewery);
    for (guint i = 0; i < G_N_ELEMENTS(plan); i++)
        brewery_commission(&brewery, plan[i].name, plan[i].litres);

    brewery_bottle(&brewery, "pilsner", 0.8, 20);
    brewery_bottle(&brewery, "porter", 0.5, 30);
    brewery_book_cleaning(&brewery, "pilsner");
    brewery_book_cleaning(&brewery, "mash");

    brewery_commission(&brewery, "porter", 900);
    brewery_bottle(&brewery, "porter", 1.0, 40);
    brewery_bottle(&brewery, "cider", 1.0, 5);
    printf("cleaned %u\n", brewery_clean(&brewery));

    brewery_retire(&brewery, "stout");
    brewery_commission(&brewery, "stout", 260);
    brewery_bottle(&brewery, "stout", 0.25, 16);

    printf("bottled %.1f litres from %u tanks\n", brewery.bottled, g_hash_table_size(brewery.tanks));
    brewery_close(&brewery);
    return 0;
}
