/*
 * summary: a kiln whose thermocouple breaks leaves its alarm off the clock, but the alarm and the kiln keep each other
 * kind: cycle
 * counts: surplus
 * objects: 2
 * track: own
 * build: gcc -O1 -g
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define KILNS_MOST 8
#define SEGMENTS 4

/* ---- the clock of the plant ---- */

struct clock;

struct alarm {
    struct clock *clock; /* NULL while it is not set */
    struct alarm *next;
    unsigned due; /* minutes */
    void (*ring)(void *data);
    void *data;
    void (*let_go)(void *data);
};

struct clock {
    unsigned now;
    struct alarm *first; /* the earliest */
};

static struct alarm *alarm_make(void)
{
    struct alarm *alarm = calloc(1, sizeof *alarm);
    if (!alarm)
        abort();
    return alarm;
}

static void clock_unlink(struct alarm *alarm)
{
    if (!alarm->clock)
        return;
    struct alarm **at = &alarm->clock->first;
    while (*at != alarm)
        at = &(*at)->next;
    *at = alarm->next;
    alarm->next = NULL;
    alarm->clock = NULL;
}

static void alarm_forget_data(struct alarm *alarm)
{
    void (*let_go)(void *) = alarm->let_go;
    void *data = alarm->data;
    alarm->ring = NULL;
    alarm->let_go = NULL;
    alarm->data = NULL;
    if (let_go)
        let_go(data);
}

/* Takes the alarm off the clock; what was given to alarm_bind() is let go. */
static void alarm_cancel(struct alarm *alarm)
{
    clock_unlink(alarm);
    alarm_forget_data(alarm);
}

static void alarm_bind(struct alarm *alarm, void (*ring)(void *), void *data, void (*let_go)(void *))
{
    alarm_forget_data(alarm);
    alarm->ring = ring;
    alarm->data = data;
    alarm->let_go = let_go;
}

static void alarm_set(struct alarm *alarm, struct clock *clock, unsigned minutes)
{
    clock_unlink(alarm);
    alarm->due = clock->now + minutes;
    alarm->clock = clock;
    struct alarm **at = &clock->first;
    while (*at && (*at)->due <= alarm->due)
        at = &(*at)->next;
    alarm->next = *at;
    *at = alarm;
}

static bool clock_step(struct clock *clock)
{
    struct alarm *alarm = clock->first;
    if (!alarm)
        return false;
    clock->now = alarm->due;
    clock_unlink(alarm);
    alarm->ring(alarm->data);
    return true;
}

/* ---- kilns ---- */

struct segment {
    int target; /* degrees */
    unsigned minutes;
};

struct plant {
    struct clock clock;
    struct kiln *kilns[KILNS_MOST];
    unsigned finished, faults;
};

struct kiln {
    struct plant *plant;
    int refs;
    unsigned number;
    int degrees;
    unsigned step;
    int breaks_at; /* the thermocouple gives nothing above it; 0: it is sound */
    struct segment schedule[SEGMENTS];
    struct alarm *alarm;
};

static struct kiln *kiln_new(struct plant *plant, unsigned number, int peak, int breaks_at)
{
    struct kiln *kiln = calloc(1, sizeof *kiln);
    if (!kiln)
        abort();
    kiln->refs = 1;
    kiln->plant = plant;
    kiln->number = number;
    kiln->degrees = 20;
    kiln->breaks_at = breaks_at;
    kiln->schedule[0] = (struct segment) { 120, 90 };
    kiln->schedule[1] = (struct segment) { 600, 180 };
    kiln->schedule[2] = (struct segment) { peak, 240 };
    kiln->schedule[3] = (struct segment) { 60, 700 };
    kiln->alarm = alarm_make();
    return kiln;
}

static struct kiln *kiln_ref(struct kiln *kiln)
{
    kiln->refs++;
    return kiln;
}

static void kiln_unref(struct kiln *kiln)
{
    if (--kiln->refs > 0)
        return;
    alarm_cancel(kiln->alarm);
    free(kiln->alarm);
    free(kiln);
}

static void kiln_let_go(void *data)
{
    kiln_unref(data);
}

static bool kiln_measure(struct kiln *kiln, int *degrees)
{
    int real = kiln->schedule[kiln->step].target - (int) (kiln->number * 3);
    if (kiln->breaks_at && real > kiln->breaks_at)
        return false;
    *degrees = real;
    return true;
}

static void kiln_finish(struct kiln *kiln)
{
    printf("%5u min: kiln %u is done\n", kiln->plant->clock.now, kiln->number);
    kiln->plant->finished++;
    alarm_cancel(kiln->alarm);
}

static void kiln_fault(struct kiln *kiln)
{
    printf("%5u min: kiln %u does not tell its temperature, off\n", kiln->plant->clock.now, kiln->number);
    kiln->plant->faults++;
    kiln->degrees = -1;
#ifdef BUG
    clock_unlink(kiln->alarm); /* GUILTY */
#else
    alarm_cancel(kiln->alarm);
#endif
}

static void kiln_segment_over(void *data)
{
    struct kiln *kiln = kiln_ref(data);
    if (!kiln_measure(kiln, &kiln->degrees))
        kiln_fault(kiln);
    else if (++kiln->step == SEGMENTS)
        kiln_finish(kiln);
    else
        alarm_set(kiln->alarm, &kiln->plant->clock, kiln->schedule[kiln->step].minutes);
    kiln_unref(kiln);
}

static bool kiln_start(struct kiln *kiln)
{
    if (kiln->alarm->clock || kiln->step == SEGMENTS)
        return false;
    kiln->step = 0;
    alarm_bind(kiln->alarm, kiln_segment_over, kiln_ref(kiln), kiln_let_go); /* ACCEPTED */
    alarm_set(kiln->alarm, &kiln->plant->clock, kiln->schedule[0].minutes);
    return true;
}

/* ---- the plant ---- */

static bool plant_add(struct plant *plant, struct kiln *kiln)
{
    for (unsigned i = 0; i < KILNS_MOST; i++) {
        if (!plant->kilns[i]) {
            plant->kilns[i] = kiln_ref(kiln);
            return true;
        }
    }
    return false;
}

static bool plant_retire(struct plant *plant, unsigned number)
{
    for (unsigned i = 0; i < KILNS_MOST; i++) {
        struct kiln *kiln = plant->kilns[i];
        if (kiln && kiln->number == number) {
            alarm_cancel(kiln->alarm);
            plant->kilns[i] = NULL;
            kiln_unref(kiln);
            return true;
        }
    }
    return false;
}

static void plant_close(struct plant *plant)
{
    for (unsigned i = 0; i < KILNS_MOST; i++) {
        if (plant->kilns[i]) {
            kiln_unref(plant->kilns[i]);
            plant->kilns[i] = NULL;
        }
    }
}

int main(void)
{
    static const struct { int peak, breaks_at; } fleet[] = {
        { 1060, 0 }, { 1240, 900 }, { 980, 0 }, { 1280, 0 }, { 1060, 500 }, { 1140, 0 }, { 1020, 0 },
    };
    struct plant plant = { 0 };

    for (unsigned i = 0; i < sizeof fleet / sizeof *fleet; i++) {
        struct kiln *kiln = kiln_new(&plant, i + 1, fleet[i].peak, fleet[i].breaks_at);
        if (plant_add(&plant, kiln) && kiln->number != 6)
            kiln_start(kiln);
        kiln_unref(kiln);
    }
    for (unsigned steps = 0; clock_step(&plant.clock); steps++)
        if (steps == 6)
            plant_retire(&plant, 7);

    printf("%u firings finished, %u faults, %u minutes\n", plant.finished, plant.faults, plant.clock.now);
    plant_close(&plant);
    return 0;
}
