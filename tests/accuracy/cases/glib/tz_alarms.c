/* summary: alarm_parse's error way gives the time back a second time: the alarm owns it since alarm_set_time() took it over
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: glib
 * packages: glib-2.0
 * build: clang-14 -O2 -g
 * exit: 0
 */
/* Alarms of a clock that travels: each line of the file names a zone, a time and what to say. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    GDateTime *next;    /* owned */
    char *text;
    guint snoozed;
} Alarm;

typedef struct {
    GTimeZone *home, *work;     /* owned */
    GList *alarms;
    guint errors, comments;
} Clock;

static Alarm *
alarm_new(void)
{
    return g_slice_new0(Alarm);
}

static void
alarm_free(Alarm *alarm)
{
    g_clear_pointer(&alarm->next, g_date_time_unref);
    g_free(alarm->text);
    g_slice_free(Alarm, alarm);
}

/* Takes the time over. */
static void
alarm_set_time(Alarm *alarm, GDateTime *when)
{
    if (alarm->next)
        g_date_time_unref(alarm->next);
    alarm->next = when;
}

/* A reference for the caller, or NULL. */
static GTimeZone *
clock_zone(Clock *clock, const char *name)
{
    if (g_str_equal(name, "home"))
        return g_time_zone_ref(clock->home);
    if (g_str_equal(name, "work"))
        return g_time_zone_ref(clock->work);
    if (name[0] == '+' || name[0] == '-' || name[0] == 'Z')
        return g_time_zone_new_identifier(name);
    return NULL;
}

static Alarm *
alarm_parse(Clock *clock, const char *line)
{
    char **field = g_strsplit(line, "|", 3);
    GTimeZone *zone = NULL;
    GDateTime *when;
    Alarm *alarm = NULL;
    int hour, minute;

    if (g_strv_length(field) != 3)
        goto out;
    zone = clock_zone(clock, field[0]);
    if (!zone || sscanf(field[1], "%d:%d", &hour, &minute) != 2) {
        clock->errors++;
        goto out;
    }
    when = g_date_time_new(zone, 2024, 2, 29, hour, minute, 0);
    if (!when) {
        clock->errors++;
        goto out;
    }

    alarm = alarm_new();
    alarm_set_time(alarm, when);        /* ACCEPTED */
    if (field[2][0] == '\0')
        goto bad;
    alarm->text = g_strdup(g_strstrip(field[2]));
    if (strlen(alarm->text) > 24)
        goto bad;
    goto out;

bad:
    clock->errors++;
    alarm_free(alarm);                  /* ACCEPTED */
    alarm = NULL;
#ifdef BUG
    g_date_time_unref(when);            /* GUILTY */
#endif
out:
    if (zone)
        g_time_zone_unref(zone);
    g_strfreev(field);
    return alarm;
}

static int
by_time(const void *a, const void *b)
{
    const Alarm *x = a, *y = b;

    return g_date_time_compare(x->next, y->next);
}

static void
clock_load(Clock *clock, const char *const *lines)
{
    for (; *lines; lines++) {
        Alarm *alarm;

        if (**lines == '#') {
            clock->comments++;
            continue;
        }
        alarm = alarm_parse(clock, *lines);
        if (alarm)
            clock->alarms = g_list_insert_sorted(clock->alarms, alarm, by_time);
    }
}

static void
alarm_snooze(Alarm *alarm, int minutes)
{
    GDateTime *later = g_date_time_add_minutes(alarm->next, minutes);

    g_date_time_unref(alarm->next);
    alarm->next = later;
    alarm->snoozed++;
}

static void
clock_ring(Clock *clock)
{
    guint n = 0;

    for (GList *l = clock->alarms; l; l = l->next, n++) {
        Alarm *alarm = l->data;
        GDateTime *local;
        char *s;

        if (n % 3 == 1)
            alarm_snooze(alarm, 9);
        local = g_date_time_to_timezone(alarm->next, clock->home);
        s = g_date_time_format(local, "%H:%M");
        printf("%s %s%s\n", s, alarm->text, alarm->snoozed ? " (again)" : "");
        g_free(s);
        g_date_time_unref(local);
    }
}

int
main(void)
{
    static const char *const lines[] = {
        "# morning", "home|06:30|get up", "work|08:00|stand-up meeting", "+03:00|09:15|call Ankara",
        "home|7 o'clock|feed the cat", "moon|12:00|tea", "work|12:30|lunch", "# travel",
        "-05:00|10:00|call New York", "Z|14:00|radio check", "home|20:15|", "work|25:00|overtime",
        "+09:00|23:00|call Tokyo", "home|22:00|lights out", "home|21:00|all the things that nobody has done today", "nonsense", NULL
    };
    Clock clock;

    memset(&clock, 0, sizeof clock);
    clock.home = g_time_zone_new_offset(3600);
    clock.work = g_time_zone_new_offset(7200);
    clock_load(&clock, lines);
    clock_ring(&clock);
    printf("%u alarms, %u errors, %u comments\n", g_list_length(clock.alarms), clock.errors, clock.comments);
    g_list_free_full(clock.alarms, (GDestroyNotify)alarm_free);
    g_time_zone_unref(clock.work);
    g_time_zone_unref(clock.home);
    return 0;
}
