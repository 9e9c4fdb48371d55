/* summary: valve_cancel() switches the timer of a valve off and forgets it, but does not give its reference to the event source back
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: libsystemd
 * packages: libsystemd
 * build: clang-14 -O2 -g
 * exit: 0
 */

/* Irrigation of a nursery: valves open in the order of their beds and shut by a timer each; rain cancels what is still
 * waiting. The clock is the event loop's, in milliseconds. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <systemd/sd-event.h>

#define BEDS 9
#define MSEC UINT64_C(1000)

typedef struct Valve Valve;
typedef struct Nursery Nursery;

struct Valve {
        Nursery *nursery;
        int bed;
        sd_event_source *opening; /* owned */
        sd_event_source *closing; /* owned */
        unsigned opened, closed, cancelled;
};

struct Nursery {
        sd_event *event;
        sd_event_source *rain; /* owned */
        sd_event_source *report;
        Valve valve[BEDS];
        int pending;
        uint64_t start;
};

static int on_close(sd_event_source *s, uint64_t usec, void *userdata);

/* A timer `ms` after the start, in *ret. */
static int nursery_timer(Nursery *n, uint64_t ms, sd_event_time_handler_t handler, void *userdata,
                         sd_event_source **ret) {
        return sd_event_add_time(n->event, ret, CLOCK_MONOTONIC, n->start + ms * MSEC, 1, handler, userdata);
}

static void nursery_settled(Nursery *n) {
        if (--n->pending == 0)
                sd_event_exit(n->event, 0);
}

static int on_open(sd_event_source *s, uint64_t usec, void *userdata) {
        Valve *v = userdata;
        int r;

        (void)s, (void)usec;
        v->opened++;
        v->opening = sd_event_source_unref(v->opening);
        r = nursery_timer(v->nursery, 12 + (uint64_t)v->bed, on_close, v, &v->closing);
        if (r < 0)
                return r;
        sd_event_source_set_description(v->closing, "valve-close");
        return 0;
}

static int on_close(sd_event_source *s, uint64_t usec, void *userdata) {
        Valve *v = userdata;

        (void)s, (void)usec;
        v->closed++;
        v->closing = sd_event_source_unref(v->closing);
        nursery_settled(v->nursery);
        return 0;
}

/* A valve that is open already waters to its end. */
static int valve_cancel(Valve *v) {
        int r;

        if (!v->opening)
                return 0;
        r = sd_event_source_set_enabled(v->opening, SD_EVENT_OFF); /* ACCEPTED */
        if (r < 0)
                return r;
#ifdef BUG
        v->opening = NULL; /* GUILTY */
#else
        v->opening = sd_event_source_unref(v->opening);
#endif
        v->cancelled++;
        nursery_settled(v->nursery);
        return 1;
}

static int on_rain(sd_event_source *s, uint64_t usec, void *userdata) {
        Nursery *n = userdata;
        int r;

        (void)s, (void)usec;
        /* the glasshouse gets no rain */
        for (int i = 3; i < BEDS; i++) {
                r = valve_cancel(&n->valve[i]);
                if (r < 0)
                        return r;
        }
        n->rain = sd_event_source_unref(n->rain);
        return 0;
}

static int on_exit_report(sd_event_source *s, void *userdata) {
        Nursery *n = userdata;
        unsigned opened = 0, cancelled = 0, closed = 0;

        (void)s;
        for (int i = 0; i < BEDS; i++) {
                opened += n->valve[i].opened;
                closed += n->valve[i].closed;
                cancelled += n->valve[i].cancelled;
        }
        printf("%u opened, %u closed, %u cancelled\n", opened, closed, cancelled);
        return 0;
}

static int nursery_begin(Nursery *n) {
        uint64_t now;
        int r;

        r = sd_event_now(n->event, CLOCK_MONOTONIC, &now);
        if (r < 0)
                return r;
        n->start = now;
        for (int i = 0; i < BEDS; i++) {
                Valve *v = &n->valve[i];

                v->nursery = n;
                v->bed = i;
                /* the last three wait for the tank to fill up again */
                r = nursery_timer(n, i < 6 ? 1 + (uint64_t)i / 2 : 5000, on_open, v, &v->opening);
                if (r < 0)
                        return r;
                n->pending++;
        }
        r = nursery_timer(n, 30, on_rain, n, &n->rain);
        if (r < 0)
                return r;
        r = sd_event_add_exit(n->event, &n->report, on_exit_report, n);
        return r;
}

static void nursery_end(Nursery *n) {
        for (int i = 0; i < BEDS; i++) {
                sd_event_source_unref(n->valve[i].opening);
                sd_event_source_unref(n->valve[i].closing);
        }
        sd_event_source_unref(n->rain);
        sd_event_source_unref(n->report);
        sd_event_unref(n->event);
}

int main(void) {
        Nursery n;
        int r;

        memset(&n, 0, sizeof n);
        r = sd_event_new(&n.event);
        if (r < 0) {
                fprintf(stderr, "no event loop: %s\n", strerror(-r));
                return EXIT_FAILURE;
        }
        r = nursery_begin(&n);
        if (r >= 0)
                r = sd_event_loop(n.event);
        nursery_end(&n);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
