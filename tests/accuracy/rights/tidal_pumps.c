/* summary: callbacks with ref and unref functions of their own that GLib calls around each dispatch; sources that only their context,
 *          or only their parent source, has; a callback replaced while it runs; sources that end with the context
 * track: own GSource GMainContext
 * build: gcc -O2 -g tidal_pumps.c -o OUT $(pkg-config --cflags --libs glib-2.0)
 */
#include <glib.h>

typedef struct basin Basin;

/* What a pump does when its turn comes. Several pumps may share a duty. */
typedef struct {
    gint refs;
    Basin *basin;
    int step;
    int runs;
} Duty;

struct basin {
    GMainContext *context;
    Duty *idle_duty;
    int level;
    int swaps;
    int duties_gone, pumps_gone;
};

typedef struct {
    GSource base;
    int turns;
    int interval;
    Basin *basin;
} Pump;

static Duty *duty_new(Basin *basin, int step)
{
    Duty *duty = g_new0(Duty, 1);
    g_atomic_int_set(&duty->refs, 1);
    duty->basin = basin;
    duty->step = step;
    return duty;
}

void duty_ref(gpointer data)
{
    Duty *duty = data;
    g_atomic_int_inc(&duty->refs);
}

void duty_unref(gpointer data)
{
    Duty *duty = data;
    if (g_atomic_int_dec_and_test(&duty->refs)) {
        duty->basin->duties_gone++;
        g_free(duty);
    }
}

static gboolean duty_run(gpointer data)
{
    Duty *duty = data;
    duty->runs++;
    duty->basin->level += duty->step;
    return G_SOURCE_CONTINUE;
}

static void duty_get(gpointer data, GSource *source, GSourceFunc *func, gpointer *func_data)
{
    (void)source;
    *func = duty_run;
    *func_data = data;
}

static GSourceCallbackFuncs duty_funcs = { duty_ref, duty_unref, duty_get };

/* ---- pumps: sources that are ready a number of times ---- */

static gboolean pump_prepare(GSource *source, gint *timeout)
{
    *timeout = 0;
    return ((Pump *)source)->turns > 0;
}

static gboolean pump_check(GSource *source)
{
    return ((Pump *)source)->turns > 0;
}

static gboolean pump_dispatch(GSource *source, GSourceFunc func, gpointer data)
{
    Pump *pump = (Pump *)source;
    pump->turns--;
    if (pump->interval && pump->turns % pump->interval == 0) {
        /* Half-way: the rest is done by the idle duty. GLib puts the old duty, but has one more reference while it runs. */
        duty_ref(pump->basin->idle_duty);
        g_source_set_callback_indirect(source, pump->basin->idle_duty, &duty_funcs);
        pump->basin->swaps++;
    }
    if (func)
        func(data);
    return pump->turns > 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void pump_finalize(GSource *source)
{
    ((Pump *)source)->basin->pumps_gone++;
}

static GSourceFuncs pump_funcs = { pump_prepare, pump_check, pump_dispatch, pump_finalize, NULL, NULL };

/* A pump that works on a duty; takes the caller's reference to that. */
static GSource *pump_new(Basin *basin, int turns, int interval, Duty *duty)
{
    GSource *source = g_source_new(&pump_funcs, sizeof(Pump));
    Pump *pump = (Pump *)source;
    pump->turns = turns;
    pump->interval = interval;
    pump->basin = basin;
    g_source_set_callback_indirect(source, duty, &duty_funcs);
    return source;
}

static guint basin_start(Basin *basin, GSource *source)
{
    guint id = g_source_attach(source, basin->context);
    g_source_unref(source);
    return id;
}

/* A station: pumps as children of one that never has a turn of its own and goes when it is told. */
static gboolean station_run(gpointer data)
{
    Basin *basin = data;
    basin->level += 1000;
    return basin->level < 3000 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean station_dispatch(GSource *source, GSourceFunc func, gpointer data)
{
    (void)source;
    return func ? func(data) : G_SOURCE_REMOVE;
}

static GSourceFuncs station_funcs = { NULL, NULL, station_dispatch, NULL, NULL, NULL };

static GSource *station_new(Basin *basin, Duty *duty, int children)
{
    GSource *station = g_source_new(&station_funcs, sizeof(GSource));
    g_source_set_callback(station, station_run, basin, NULL);
    for (int i = 0; i < children; i++) {
        duty_ref(duty);
        GSource *pump = pump_new(basin, 2 + i, 0, duty);
        g_source_add_child_source(station, pump);
        g_source_unref(pump);
    }
    return station;
}

int main(void)
{
    Basin basin = { 0 };
    basin.context = g_main_context_new();
    basin.idle_duty = duty_new(&basin, 0);

    /* A duty of one pump each: the only reference is the source's. */
    basin_start(&basin, pump_new(&basin, 3, 0, duty_new(&basin, 5)));
    basin_start(&basin, pump_new(&basin, 6, 3, duty_new(&basin, 7)));

    /* One duty for three pumps; ours goes into the last. */
    Duty *shared = duty_new(&basin, 11);
    duty_ref(shared);
    basin_start(&basin, pump_new(&basin, 4, 0, shared));
    duty_ref(shared);
    guint stopped = basin_start(&basin, pump_new(&basin, 1000000, 0, shared));
    GSource *station = station_new(&basin, shared, 3);
    GSource *held = pump_new(&basin, 2, 0, shared);

    g_source_attach(station, basin.context);
    g_source_unref(station);
    g_source_attach(held, basin.context);

    for (int i = 0; i < 20; i++)
        g_main_context_iteration(basin.context, FALSE);

    g_source_destroy(g_main_context_find_source_by_id(basin.context, stopped));
    if (!g_source_is_destroyed(held))
        return 1;
    g_source_unref(held);

    /* These are still attached when the context goes; one was never attached, one never had a callback. */
    basin_start(&basin, pump_new(&basin, 1000000, 0, duty_new(&basin, 1)));
    duty_ref(basin.idle_duty);
    GSource *last = pump_new(&basin, 1000000, 0, basin.idle_duty);
    g_source_attach(last, basin.context);
    g_source_unref(pump_new(&basin, 1, 0, duty_new(&basin, 2)));
    g_main_context_iteration(basin.context, FALSE);
    g_main_context_unref(basin.context);

    if (!g_source_is_destroyed(last))
        return 1;
    g_source_unref(last);
    duty_unref(basin.idle_duty);

    g_print("level %d, swaps %d, %d duties and %d pumps gone\n", basin.level, basin.swaps, basin.duties_gone, basin.pumps_gone);
    return basin.duties_gone == 6 && basin.pumps_gone == 11 && basin.swaps == 2 ? 0 : 1;
}
