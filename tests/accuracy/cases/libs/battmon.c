/* summary: Early return between sd_bus_call_method and the common cleanup: the reply message is not unreffed
 * kind: missing-put
 * counts: surplus
 * objects: 6
 * track: libsystemd
 * packages: libsystemd
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * battmon - poll the batteries of a rack of portable recorders over sd-bus.
 *
 * The recorder side is simulated by a second thread that serves the objects
 * on the other end of a socket pair; the client polls from an sd-event timer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#define NBATT   8
#define ROUNDS  20
#define IFACE   "org.example.Battery"

/* ------------------------------------------------------------- the recorders */

struct battery {
    unsigned index;
    unsigned charge;
    unsigned reads;
};

static int method_status(sd_bus_message *m, void *userdata, sd_bus_error *err)
{
    struct battery *b = userdata;

    b->reads++;
    if (b->charge > 2)
        b->charge -= 1 + b->index % 3;
    if (b->index == 6 && b->reads % 4 == 0)
        return sd_bus_reply_method_errorf(m, "org.example.Error.Asleep", "recorder %u asleep", b->index);
    /* charge 255 means "gauge is being relearned" */
    return sd_bus_reply_method_return(m, "ubs",
                                      b->index == 3 && b->reads % 3 == 0 ? 255u : b->charge,
                                      b->charge < 20,
                                      b->charge < 20 ? "low" : "normal");
}

static const sd_bus_vtable battery_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Status", "", "ubs", method_status, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END
};

struct rack {
    int fd;
    struct battery batt[NBATT];
    int rc;
};

static void *rack_main(void *arg)
{
    struct rack *rk = arg;
    sd_bus *bus = NULL;
    sd_id128_t id;
    int r;

    sd_id128_randomize(&id);
    r = sd_bus_new(&bus);
    if (r < 0)
        goto out;
    sd_bus_set_fd(bus, rk->fd, rk->fd);
    sd_bus_set_server(bus, 1, id);
    sd_bus_set_anonymous(bus, 1);
    for (unsigned i = 0; i < NBATT; i++) {
        char path[64];

        rk->batt[i].index = i;
        rk->batt[i].charge = 60 + 5 * i;
        snprintf(path, sizeof path, "/org/example/battery/%u", i);
        r = sd_bus_add_object_vtable(bus, NULL, path, IFACE, battery_vtable, &rk->batt[i]);
        if (r < 0)
            goto out;
    }
    r = sd_bus_start(bus);
    while (r >= 0) {
        r = sd_bus_process(bus, NULL);
        if (r == 0)
            r = sd_bus_wait(bus, UINT64_MAX);
    }
    if (r == -ENOTCONN || r == -ECONNRESET)
        r = 0;
out:
    sd_bus_flush_close_unref(bus);
    rk->rc = r;
    return NULL;
}

/* ---------------------------------------------------------------- the client */

struct monitor {
    sd_bus *bus;
    sd_event *event;
    sd_event_source *timer;
    unsigned round;
    unsigned polls, low, relearning, asleep, errors;
    unsigned long charge_sum;
};

static int poll_battery(struct monitor *mon, unsigned index)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *reply = NULL;
    const char *text;
    char path[64];
    uint32_t charge;
    int low, r;

    mon->polls++;
    snprintf(path, sizeof path, "/org/example/battery/%u", index);
    r = sd_bus_call_method(mon->bus, NULL, path, IFACE, "Status", &error, &reply, "");
    if (r < 0) {
        if (sd_bus_error_has_name(&error, "org.example.Error.Asleep")) {
            mon->asleep++;
            r = 0;
        }
        goto finish;
    }
    r = sd_bus_message_read(reply, "u", &charge);
    if (r < 0)
        goto finish;
    if (charge > 100) {
        mon->relearning++;
#ifdef BUG
        return 0; /* GUILTY */
#else
        goto finish;
#endif
    }
    r = sd_bus_message_read(reply, "bs", &low, &text);
    if (r < 0)
        goto finish;
    mon->charge_sum += charge;
    if (low && strcmp(text, "low") == 0)
        mon->low++;
finish:
    sd_bus_error_free(&error);
    sd_bus_message_unref(reply);
    return r;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct monitor *mon = userdata;
    uint64_t now;

    (void)usec;
    for (unsigned i = 0; i < NBATT; i++)
        if (poll_battery(mon, i) < 0)
            mon->errors++;
    if (++mon->round == ROUNDS)
        return sd_event_exit(mon->event, 0);
    sd_event_now(mon->event, CLOCK_MONOTONIC, &now);
    sd_event_source_set_time(s, now + 5000);
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int monitor_start(struct monitor *mon, int fd)
{
    int r;

    r = sd_bus_new(&mon->bus);
    if (r < 0)
        return r;
    sd_bus_set_fd(mon->bus, fd, fd);
    sd_bus_set_anonymous(mon->bus, 1);
    r = sd_bus_start(mon->bus);
    if (r < 0)
        return r;
    r = sd_event_new(&mon->event);
    if (r < 0)
        return r;
    return sd_event_add_time_relative(mon->event, &mon->timer, CLOCK_MONOTONIC,
                                      1000, 100, on_timer, mon);
}

static void monitor_stop(struct monitor *mon)
{
    sd_event_source_unref(mon->timer);
    sd_event_unref(mon->event);
    sd_bus_flush_close_unref(mon->bus);
}

int main(void)
{
    struct rack rack = { 0 };
    struct monitor mon = { 0 };
    pthread_t thread;
    int fds[2], r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return 1;
    rack.fd = fds[0];
    if (pthread_create(&thread, NULL, rack_main, &rack))
        return 1;
    r = monitor_start(&mon, fds[1]);
    if (r >= 0)
        r = sd_event_loop(mon.event);
    else
        fprintf(stderr, "battmon: %s\n", strerror(-r));
    monitor_stop(&mon);
    pthread_join(thread, NULL);

    printf("%u polls in %u rounds: charge %lu, low %u, relearning %u, asleep %u, errors %u, rack %d\n",
           mon.polls, mon.round, mon.charge_sum, mon.low, mon.relearning, mon.asleep,
           mon.errors, rack.rc);
    return r < 0 || mon.errors > 0;
}
