/*
 * summary: dialling again stores the next timer over the one that has rung, whose reference nobody else has
 * kind: overwritten
 * counts: surplus
 * objects: 5
 * track: sd_event_source
 * packages: libsystemd
 * build: gcc -O2 -g
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#define STATIONS 4
#define RETRY_USEC 3000
#define ANSWER_USEC 400000

enum line { LINE_IDLE, LINE_DIALLING, LINE_OPEN, LINE_DONE, LINE_GIVEN_UP };

struct exchange;

struct station {
    struct exchange *exchange;
    const char *name;
    unsigned answers_at; /* attempt at which the far end picks up; 0: never */
    unsigned attempts, attempts_most;
    enum line line;
    int near, far; /* both ends of the line, far is the simulated logger */
    sd_event_source *io;
    sd_event_source *timer;
    unsigned readings;
};

struct exchange {
    sd_event *event;
    sd_event_source *evening;
    sd_event_source *watchdog;
    struct station stations[STATIONS];
    unsigned busy;
};

static void station_settle(struct station *station, enum line line)
{
    station->line = line;
    station->timer = sd_event_source_unref(station->timer);
    station->io = sd_event_source_unref(station->io);
    if (station->near >= 0)
        close(station->near);
    if (station->far >= 0)
        close(station->far);
    station->near = station->far = -1;
    if (--station->exchange->busy == 0)
        sd_event_source_set_enabled(station->exchange->evening, SD_EVENT_ONESHOT);
}

static int on_answer_late(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct station *station = userdata;
    (void) source;
    (void) usec;
    printf("%s: picked up and said nothing\n", station->name);
    station_settle(station, LINE_GIVEN_UP);
    return 0;
}

static int on_readings(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct station *station = userdata;
    char buffer[64];
    (void) source;

    if (revents & EPOLLIN) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        for (ssize_t i = 0; i < got; i++)
            station->readings += buffer[i] == ';';
        if (got > 0 && buffer[got - 1] == '.')
            station_settle(station, LINE_DONE);
    } else if (revents & (EPOLLHUP | EPOLLERR)) {
        station_settle(station, LINE_GIVEN_UP);
    }
    return 0;
}

static int station_open_line(struct station *station)
{
    int pair[2], r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    station->near = pair[0];
    station->far = pair[1];
    r = sd_event_add_io(station->exchange->event, &station->io, station->near, EPOLLIN, on_readings, station);
    if (r < 0)
        return r;
    r = sd_event_source_set_description(station->io, station->name);
    if (r < 0)
        return r;

    station->timer = sd_event_source_unref(station->timer);
    r = sd_event_add_time_relative(station->exchange->event, &station->timer, CLOCK_MONOTONIC, ANSWER_USEC, 0,
                                   on_answer_late, station);
    if (r < 0)
        return r;
    station->line = LINE_OPEN;

    static const char telegram[] = "level 212;level 214;rain 3;.";
    if (write(station->far, telegram, sizeof telegram - 1) < 0)
        return -errno;
    return 0;
}

static int on_dial(sd_event_source *source, uint64_t usec, void *userdata);

static int station_dial_in(struct station *station, uint64_t delay)
{
    sd_event *event = station->exchange->event;
    int r;

#ifndef BUG
    station->timer = sd_event_source_unref(station->timer);
#endif
    r = sd_event_add_time_relative(event, &station->timer, CLOCK_MONOTONIC, delay, 500, on_dial, station); /* GUILTY */
    if (r < 0)
        return r;
    station->line = LINE_DIALLING;
    return sd_event_source_set_description(station->timer, station->name);
}

static int on_dial(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct station *station = userdata;
    (void) source;
    (void) usec;

    station->attempts++;
    if (station->attempts == station->answers_at)
        return station_open_line(station);
    if (station->attempts >= station->attempts_most) {
        printf("%s: no answer\n", station->name);
        station_settle(station, LINE_GIVEN_UP);
        return 0;
    }
    return station_dial_in(station, RETRY_USEC * station->attempts); /* ACCEPTED */
}

static int on_evening(sd_event_source *source, void *userdata)
{
    struct exchange *exchange = userdata;
    (void) source;
    return sd_event_exit(exchange->event, 0);
}

static int on_watchdog(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct exchange *exchange = userdata;
    (void) source;
    (void) usec;
    fprintf(stderr, "%u stations hang\n", exchange->busy);
    return sd_event_exit(exchange->event, 1);
}

static int exchange_start(struct exchange *exchange)
{
    static const struct { const char *name; unsigned answers_at, most; } plan[STATIONS] = {
        { "Obersee weir", 1, 3 }, { "Mill creek", 3, 4 }, { "Lower gauge", 0, 3 }, { "Pump house", 2, 3 },
    };
    int r = sd_event_new(&exchange->event);
    if (r < 0)
        return r;
    r = sd_event_add_defer(exchange->event, &exchange->evening, on_evening, exchange);
    if (r < 0)
        return r;
    r = sd_event_source_set_enabled(exchange->evening, SD_EVENT_OFF);
    if (r < 0)
        return r;
    r = sd_event_add_time_relative(exchange->event, &exchange->watchdog, CLOCK_MONOTONIC, 5000000, 0, on_watchdog,
                                   exchange);
    if (r < 0)
        return r;

    for (unsigned i = 0; i < STATIONS; i++) {
        struct station *station = &exchange->stations[i];
        *station = (struct station) { .exchange = exchange, .name = plan[i].name, .answers_at = plan[i].answers_at,
                                      .attempts_most = plan[i].most, .near = -1, .far = -1 };
        exchange->busy++;
        r = station_dial_in(station, 200);
        if (r < 0)
            return r;
    }
    return 0;
}

static void exchange_stop(struct exchange *exchange)
{
    for (unsigned i = 0; i < STATIONS; i++) {
        struct station *station = &exchange->stations[i];
        if (station->line == LINE_DIALLING || station->line == LINE_OPEN)
            station_settle(station, LINE_GIVEN_UP);
    }
    exchange->watchdog = sd_event_source_unref(exchange->watchdog);
    exchange->evening = sd_event_source_unref(exchange->evening);
    exchange->event = sd_event_unref(exchange->event);
}

int main(void)
{
    static struct exchange exchange;
    int r = exchange_start(&exchange);
    if (r >= 0)
        r = sd_event_loop(exchange.event);
    if (r < 0)
        fprintf(stderr, "exchange: %s\n", strerror(-r));

    for (unsigned i = 0; i < STATIONS; i++) {
        const struct station *station = &exchange.stations[i];
        printf("%s: %s after %u attempts, %u readings\n", station->name,
               station->line == LINE_DONE ? "read" : "not read", station->attempts, station->readings);
    }
    exchange_stop(&exchange);
    return r != 0;
}
