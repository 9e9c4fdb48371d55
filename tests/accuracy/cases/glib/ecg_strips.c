/*
 * summary: an alarm keeps the strip before the one that raised it without a reference of its own
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: GBytes
 * packages: glib-2.0
 * libs: -lm
 * build: clang -O2 -g
 */
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bedside monitor: the amplifier delivers strips of half a second, the newest ones stay in a ring, views look at them, and an
   alarm carries its own strip and the one before it to the ward's station, which looks at it when somebody has time. */

#define STRIP_SAMPLES 128
#define RING 6

typedef enum { ALARM_ASYSTOLE, ALARM_TACHY, ALARM_LEAD_OFF } AlarmKind;

typedef struct {
    AlarmKind kind;
    guint number;
    GBytes *strip;
    GBytes *before;
} Alarm;

typedef struct {
    GBytes *ring[RING];
    guint next;
    guint strips;
    GQueue alarms;
    GPtrArray *archive;
} Monitor;

typedef void (*ViewFunc)(GBytes *strip, gpointer data);

typedef struct {
    const char *title;
    ViewFunc show;
    gpointer data;
    GBytes *frozen;
} View;

static GBytes *amplifier_read(guint number, int beats, int gain)
{
    gint16 *samples = g_new0(gint16, STRIP_SAMPLES);
    for (int i = 0; i < STRIP_SAMPLES; i++)
        samples[i] = (gint16)(((int)(number * 5 + i * 3) % 11 - 5) * (gain > 0 ? 6 : 1));
    for (int beat = 0; beat < beats; beat++) {
        int at = 6 + beat * (STRIP_SAMPLES / (beats + 1));
        for (int i = -2; i <= 2; i++)
            samples[at + i] += (gint16)(gain / (1 + i * i));
    }
    return g_bytes_new_take(samples, STRIP_SAMPLES * sizeof *samples);
}

static int strip_beats(GBytes *strip)
{
    gsize size;
    const gint16 *samples = g_bytes_get_data(strip, &size);
    int beats = 0;
    gboolean above = FALSE;
    for (gsize i = 0; i < size / sizeof *samples; i++) {
        gboolean now = samples[i] > 200;
        if (now && !above)
            beats++;
        above = now;
    }
    return beats;
}

static int strip_peak(GBytes *strip)
{
    gsize size;
    const gint16 *samples = g_bytes_get_data(strip, &size);
    int peak = 0;
    for (gsize i = 0; i < size / sizeof *samples; i++)
        peak = MAX(peak, ABS(samples[i]));
    return peak;
}

static Alarm *alarm_new(AlarmKind kind, guint number, GBytes *strip, GBytes *before)
{
    Alarm *alarm = g_new0(Alarm, 1);
    alarm->kind = kind;
    alarm->number = number;
    alarm->strip = g_bytes_ref(strip);
#ifdef BUG
    alarm->before = before; /* GUILTY */
#else
    alarm->before = before ? g_bytes_ref(before) : NULL;
#endif
    return alarm;
}

static void alarm_free(Alarm *alarm)
{
    g_bytes_unref(alarm->strip);
    if (alarm->before)
        g_bytes_unref(alarm->before);
    g_free(alarm);
}

static void monitor_init(Monitor *monitor)
{
    memset(monitor, 0, sizeof *monitor);
    g_queue_init(&monitor->alarms);
    monitor->archive = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
}

static GBytes *monitor_latest(Monitor *monitor)
{
    return monitor->strips ? monitor->ring[(monitor->next + RING - 1) % RING] : NULL;
}

static void monitor_judge(Monitor *monitor, GBytes *strip)
{
    GBytes *before = monitor_latest(monitor);
    int beats = strip_beats(strip);
    int peak = strip_peak(strip);
    Alarm *alarm = NULL;
    if (peak < 20)
        alarm = alarm_new(ALARM_LEAD_OFF, monitor->strips, strip, NULL);
    else if (beats == 0)
        alarm = alarm_new(ALARM_ASYSTOLE, monitor->strips, strip, before);
    else if (beats >= 4)
        alarm = alarm_new(ALARM_TACHY, monitor->strips, strip, before);
    if (alarm)
        g_queue_push_tail(&monitor->alarms, alarm);
}

/* Takes the caller's reference over. */
static void monitor_push(Monitor *monitor, GBytes *strip)
{
    monitor_judge(monitor, strip);
    if (monitor->strips % 5 == 0)
        g_ptr_array_add(monitor->archive, g_bytes_ref(strip));
    g_clear_pointer(&monitor->ring[monitor->next], g_bytes_unref);
    monitor->ring[monitor->next] = strip;
    monitor->next = (monitor->next + 1) % RING;
    monitor->strips++;
}

static void monitor_clear(Monitor *monitor)
{
    Alarm *alarm;
    while ((alarm = g_queue_pop_head(&monitor->alarms)))
        alarm_free(alarm);
    for (int i = 0; i < RING; i++)
        g_clear_pointer(&monitor->ring[i], g_bytes_unref);
    g_ptr_array_unref(monitor->archive);
}

static void view_update(View *view, Monitor *monitor)
{
    GBytes *strip = view->frozen ? g_bytes_ref(view->frozen) : NULL;
    if (!strip && monitor_latest(monitor))
        strip = g_bytes_ref(monitor_latest(monitor));
    if (!strip)
        return;
    view->show(strip, view->data);
    g_bytes_unref(strip);
}

static void view_freeze(View *view, GBytes *strip)
{
    GBytes *old = view->frozen;
    view->frozen = strip ? g_bytes_ref(strip) : NULL;
    if (old)
        g_bytes_unref(old);
}

static void show_rate(GBytes *strip, gpointer data)
{
    *(int *)data += strip_beats(strip);
}

static void show_peak(GBytes *strip, gpointer data)
{
    int *peak = data;
    *peak = MAX(*peak, strip_peak(strip));
}

static void show_rms(GBytes *strip, gpointer data)
{
    gsize size;
    const gint16 *samples = g_bytes_get_data(strip, &size);
    double sum = 0;
    gsize count = size / sizeof *samples;
    for (gsize i = 0; i < count; i++)
        sum += samples[i] * samples[i];
    *(double *)data = count ? sqrt(sum / count) : 0;
}

static void station_print(Alarm *alarm)
{
    static const char *const names[] = {"asystole", "tachycardia", "lead off"};
    printf("strip %2u: %-11s %d beats", alarm->number, names[alarm->kind], strip_beats(alarm->strip));
    if (alarm->before)
        printf(", %d before", strip_beats(alarm->before));
    putchar('\n');
}

static guint station_visit(Monitor *monitor, guint most)
{
    guint seen = 0;
    while (seen < most) {
        Alarm *alarm = g_queue_pop_head(&monitor->alarms);
        if (!alarm)
            break;
        station_print(alarm);
        alarm_free(alarm);
        seen++;
    }
    return seen;
}

int main(void)
{
    Monitor monitor;
    int beats = 0, peak = 0;
    double rms = 0;
    View views[] = {
        {"rate", show_rate, &beats, NULL},
        {"peak", show_peak, &peak, NULL},
        {"rms", show_rms, &rms, NULL},
    };
    static const int rhythm[] = {2, 2, 1, 2, 2, 2, 5, 2, 2, 1, 2, 2, 0, 1, 2, -1};

    monitor_init(&monitor);
    for (guint i = 0; i < G_N_ELEMENTS(rhythm); i++) {
        monitor_push(&monitor, amplifier_read(i, MAX(rhythm[i], 0), rhythm[i] < 0 ? 0 : 900));
        if (rhythm[i] < 0)
            view_freeze(&views[2], monitor_latest(&monitor));
        for (guint v = 0; v < G_N_ELEMENTS(views); v++)
            view_update(&views[v], &monitor);
        if (i == 4)
            view_freeze(&views[1], monitor_latest(&monitor));
        if (i == 9)
            view_freeze(&views[1], NULL);
    }
    for (guint v = 0; v < G_N_ELEMENTS(views); v++)
        view_freeze(&views[v], NULL);

    guint seen = station_visit(&monitor, 2);
    printf("%u alarms seen, %u wait, %u strips, %d beats, peak %d, rms %.1f\n", seen, monitor.alarms.length, monitor.strips,
           beats, peak, rms);
    monitor_clear(&monitor);
    return 0;
}
