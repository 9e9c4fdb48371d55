/*
 * summary: the callback of a dip that failed takes the tank from the task, which lends it, and puts it all the same
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O2 -g
 */
#include <gio/gio.h>
#include <stdio.h>

#define STATION_TYPE_TANK (tank_get_type())
G_DECLARE_FINAL_TYPE(Tank, tank, STATION, TANK, GObject)

struct _Tank {
    GObject parent_instance;
    guint number;
    guint litres;
    guint capacity;
    guint probe_faults;
    gboolean out_of_order;
    char product[16];
};

G_DEFINE_TYPE(Tank, tank, G_TYPE_OBJECT)

typedef struct {
    GPtrArray *tanks;
    GMainLoop *loop;
    guint pending;
    guint read, failed;
    GQueue alarms; /* of Tank */
} Station;

typedef struct {
    guint echo_us; /* how long the sound was on its way */
    gboolean noisy;
} Dip;

static GQuark probe_error_quark(void)
{
    return g_quark_from_static_string("probe-error");
}

static void tank_class_init(TankClass *klass)
{
    (void) klass;
}

static void tank_init(Tank *tank)
{
    tank->capacity = 30000;
}

static Tank *tank_new(guint number, const char *product, guint capacity)
{
    Tank *tank = g_object_new(STATION_TYPE_TANK, NULL);
    tank->number = number;
    tank->capacity = capacity;
    g_strlcpy(tank->product, product, sizeof tank->product);
    return tank;
}

static void dip_run(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    Tank *tank = source;
    Dip *dip = data;

    if (g_task_return_error_if_cancelled(task))
        return;
    if (dip->noisy) {
        g_task_return_new_error(task, probe_error_quark(), 1, "tank %u: no clear echo", tank->number);
        return;
    }
    if (dip->echo_us == 0 || dip->echo_us > 20000) {
        g_task_return_new_error(task, probe_error_quark(), 2, "tank %u: echo of %u us", tank->number, dip->echo_us);
        return;
    }
    g_task_return_int(task, (gssize) tank->capacity * (20000 - dip->echo_us) / 20000);
    (void) cancellable;
}

static void tank_dip_async(Tank *tank, guint echo_us, gboolean noisy, GCancellable *cancellable,
                           GAsyncReadyCallback callback, gpointer data)
{
    GTask *task = g_task_new(tank, cancellable, callback, data);
    Dip *dip = g_new0(Dip, 1);

    dip->echo_us = echo_us;
    dip->noisy = noisy;
    g_task_set_source_tag(task, tank_dip_async);
    g_task_set_task_data(task, dip, g_free);
    g_task_run_in_thread(task, dip_run);
    g_object_unref(task);
}

static gssize tank_dip_finish(Tank *tank, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, tank), -1);
    return g_task_propagate_int(G_TASK(result), error);
}

static void station_alarm(Station *station, Tank *tank)
{
    if (g_queue_find(&station->alarms, tank))
        return;
    g_queue_push_tail(&station->alarms, g_object_ref(tank));
}

static void station_clear_alarms(Station *station)
{
    Tank *tank;

    while ((tank = g_queue_pop_head(&station->alarms))) {
        printf("alarm: tank %u, %s, %u litres\n", tank->number, tank->product, tank->litres);
        g_object_unref(tank);
    }
}

static void station_note_fault(Station *station, GAsyncResult *result, const GError *error)
{
#ifdef BUG
    Tank *tank = g_task_get_source_object(G_TASK(result)); /* GUILTY */
#else
    Tank *tank = STATION_TANK(g_async_result_get_source_object(result));
#endif

    tank->probe_faults++;
    if (g_error_matches(error, probe_error_quark(), 2))
        tank->out_of_order = TRUE;
    printf("%s\n", error->message);
    station->failed++;
    g_object_unref(tank); /* ACCEPTED */
}

static void on_dip(GObject *source, GAsyncResult *result, gpointer data)
{
    Station *station = data;
    Tank *tank = STATION_TANK(source);
    GError *error = NULL;
    gssize litres = tank_dip_finish(tank, result, &error);

    if (error) {
        station_note_fault(station, result, error);
        g_error_free(error);
    } else {
        tank->litres = litres;
        station->read++;
        if (tank->litres < tank->capacity / 10)
            station_alarm(station, tank);
    }
    if (--station->pending == 0)
        g_main_loop_quit(station->loop);
}

static Tank *station_tank(Station *station, guint number)
{
    for (guint i = 0; i < station->tanks->len; i++) {
        Tank *tank = g_ptr_array_index(station->tanks, i);
        if (tank->number == number)
            return tank;
    }
    return NULL;
}

static void station_dip(Station *station, guint number, guint echo_us, gboolean noisy)
{
    Tank *tank = station_tank(station, number);

    if (!tank || tank->out_of_order)
        return;
    station->pending++;
    tank_dip_async(tank, echo_us, noisy, NULL, on_dip, station);
}

static void station_wait(Station *station)
{
    if (station->pending > 0)
        g_main_loop_run(station->loop);
}

static void station_init(Station *station)
{
    *station = (Station) { 0 };
    g_queue_init(&station->alarms);
    station->tanks = g_ptr_array_new_with_free_func(g_object_unref);
    station->loop = g_main_loop_new(NULL, FALSE);
}

static void station_clear(Station *station)
{
    station_clear_alarms(station);
    g_ptr_array_unref(station->tanks);
    g_main_loop_unref(station->loop);
}

int main(void)
{
    static const struct {
        const char *product;
        guint capacity;
    } tanks[] = {
        { "diesel", 40000 }, { "diesel", 30000 }, { "super 95", 40000 }, { "super 98", 20000 },
        { "E10", 30000 },    { "AdBlue", 8000 },  { "heating oil", 50000 },
    };
    static const guint morning[] = { 4100, 18900, 9200, 11000, 7700, 3100, 15500 };
    static const guint evening[] = { 6900, 19200, 12100, 31000, 8300, 3900, 16100 };
    Station station;

    station_init(&station);
    for (guint i = 0; i < G_N_ELEMENTS(tanks); i++)
        g_ptr_array_add(station.tanks, tank_new(i + 1, tanks[i].product, tanks[i].capacity));

    for (guint i = 0; i < G_N_ELEMENTS(morning); i++)
        station_dip(&station, i + 1, morning[i], FALSE);
    station_wait(&station);
    station_clear_alarms(&station);

    for (guint i = 0; i < G_N_ELEMENTS(evening); i++)
        station_dip(&station, i + 1, evening[i], i == 5);
    station_wait(&station);

    printf("%u read, %u failed\n", station.read, station.failed);
    station_clear(&station);
    return 0;
}
