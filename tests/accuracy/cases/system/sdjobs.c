/* summary: runner_start(): when a new job supersedes the old one of its unit, only the event source is unref'ed; the job reference which the armed timer held as its user data (taken in job_arm()) is never given back (job_disarm() does both).
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: own
 * packages: libsystemd
 * build: gcc -g -O2
 * exit: 0
 */
#ifndef JOB_H
#define JOB_H
#include <systemd/sd-event.h>

struct runner;

typedef struct job {
    unsigned        refs;
    unsigned        id;
    unsigned        steps_left;
    unsigned        period;
    int             cancelled;
    char            unit[24];
    struct runner  *runner;
    sd_event_source *timer;     /* holds a reference while armed */
    struct job     *free_next;
} job_t;

job_t *job_new(struct runner *r, const char *unit, unsigned id, unsigned steps);
job_t *job_ref(job_t *j);
job_t *job_unref(job_t *j);     /* returns NULL */
void job_cleanup(void);
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finished jobs are kept here for the next ones. */
static job_t *free_jobs;

job_t *job_new(struct runner *r, const char *unit, unsigned id, unsigned steps)
{
    job_t *j = free_jobs;

    if (j)
        free_jobs = j->free_next;
    else
        j = malloc(sizeof *j);
    memset(j, 0, sizeof *j);
    j->refs = 1;
    j->id = id;
    j->steps_left = steps;
    j->runner = r;
    snprintf(j->unit, sizeof j->unit, "%s-%u", unit, j->id);
    return j;
}

job_t *job_ref(job_t *j)
{
    j->refs++;
    return j;
}

job_t *job_unref(job_t *j)
{
    if (j && --j->refs == 0) {
        j->free_next = free_jobs;
        free_jobs = j;
    }
    return NULL;
}

void job_cleanup(void)
{
    while (free_jobs) {
        job_t *j = free_jobs;
        free_jobs = j->free_next;
        free(j);
    }
}

/* sdjobs - a job runner on sd-event; priorities stand for the due time */
#include <stdint.h>
#include <stdio.h>

#define UNITS 6

struct runner {
    sd_event   *event;
    job_t      *current[UNITS];     /* one job per unit, a reference each */
    unsigned    now;
    unsigned    started, finished, superseded, stopped, steps, beats;
    uint64_t    digest;
};

static const char *const unit_names[UNITS] = {
    "backup", "rotate", "sync", "scrub", "report", "update"
};

/* command, unit number, steps, period */
static const struct command {
    unsigned at;
    enum { START, STOP } what;
    unsigned unit, steps, period;
} commands[] = {
    {   1, START, 0, 3, 10 }, {   2, START, 1, 2, 7 },  {   5, START, 2, 4, 5 },
    {  12, START, 3, 1, 3 },  {  18, STOP,  1, 0, 0 },  {  20, START, 4, 6, 9 },
    {  26, START, 0, 2, 4 },  {  31, START, 2, 2, 6 },  {  40, START, 4, 3, 4 },
    {  44, STOP,  0, 0, 0 },  {  50, START, 5, 5, 8 },  {  58, START, 1, 1, 2 },
    {  64, START, 5, 2, 5 },  {  80, START, 0, 4, 6 },  {  85, START, 2, 3, 7 },
    {  90, STOP,  2, 0, 0 },  {  97, START, 3, 2, 9 },  { 120, START, 3, 7, 3 },
    { 128, START, 3, 2, 4 },  { 131, START, 4, 1, 1 },  { 140, STOP,  5, 0, 0 },
    { 150, START, 0, 2, 2 },  { 152, START, 1, 3, 3 },  { 175, STOP,  1, 0, 0 },
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void mix(struct runner *r, const job_t *j)
{
    const char *p;

    for (p = j->unit; *p; p++)
        r->digest = (r->digest ^ (unsigned char)*p) * 1099511628211ull;
    r->digest ^= r->now;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata);

static int job_arm(job_t *j, unsigned due)
{
    int r = sd_event_add_time(j->runner->event, &j->timer, CLOCK_MONOTONIC, 1,
                              1, on_timer, job_ref(j));
    if (r < 0)
        return r;
    return sd_event_source_set_priority(j->timer, due);
}

static void job_disarm(job_t *j)
{
    if (!j->timer)
        return;
    sd_event_source_set_enabled(j->timer, SD_EVENT_OFF);
    j->timer = sd_event_source_unref(j->timer);
    job_unref(j);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata)
{
    job_t *j = job_ref(userdata);
    struct runner *r = j->runner;
    int64_t prio;

    sd_event_source_get_priority(s, &prio);
    r->now = (unsigned)prio;
    r->steps++;
    mix(r, j);
    job_disarm(j);
    if (--j->steps_left) {
        job_arm(j, r->now + j->period);
    } else {
        r->finished++;
        for (unsigned u = 0; u < UNITS; u++)
            if (r->current[u] == j)
                r->current[u] = job_unref(j);
    }
    job_unref(j);
    return 0;
}

/* A unit has one job at a time: the new one takes the place of the old. */
static void runner_start(struct runner *r, const struct command *c)
{
    job_t *j = job_new(r, unit_names[c->unit], ++r->started, c->steps);
    job_t *old = r->current[c->unit];

    if (old) {
        old->cancelled = 1;
        r->superseded++;
#ifdef BUG
        old->timer = sd_event_source_unref(old->timer);   /* GUILTY */
#else
        job_disarm(old);
#endif
        job_unref(old);
    }
    j->period = c->period;
    r->current[c->unit] = j;
    job_arm(j, r->now + c->period);
}

static void runner_stop(struct runner *r, unsigned unit)
{
    job_t *j = r->current[unit];

    if (!j)
        return;
    j->cancelled = 1;
    r->stopped++;
    job_disarm(j);
    r->current[unit] = job_unref(j);
}

static int on_command(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct runner *r = userdata;
    int64_t prio;
    size_t i;

    sd_event_source_get_priority(s, &prio);
    r->now = (unsigned)prio;
    for (i = 0; i < N_COMMANDS; i++) {
        if (commands[i].at != r->now)
            continue;
        if (commands[i].what == START)
            runner_start(r, &commands[i]);
        else
            runner_stop(r, commands[i].unit);
    }
    return 0;
}

/* Belongs to the event loop alone (a floating source). */
static int on_heartbeat(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct runner *r = userdata;

    if (++r->beats == 20) {
        sd_event_exit(r->event, 0);
        return sd_event_source_set_enabled(s, SD_EVENT_OFF);
    }
    sd_event_source_set_priority(s, r->beats * 10 + 9);
    sd_event_source_set_time(s, 1);
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

int main(void)
{
    static struct runner r;
    sd_event_source *s;
    size_t i;

    if (sd_event_new(&r.event) < 0)
        return 1;
    for (i = 0; i < N_COMMANDS; i++) {
        if (sd_event_add_time(r.event, &s, CLOCK_MONOTONIC, 1, 1, on_command, &r) < 0)
            return 1;
        sd_event_source_set_priority(s, commands[i].at);
        sd_event_source_set_floating(s, 1);
        sd_event_source_unref(s);
    }
    if (sd_event_add_time(r.event, &s, CLOCK_MONOTONIC, 1, 1, on_heartbeat, &r) < 0)
        return 1;
    sd_event_source_set_priority(s, 9);
    sd_event_source_set_floating(s, 1);
    sd_event_source_unref(s);

    sd_event_loop(r.event);
    for (i = 0; i < UNITS; i++)
        runner_stop(&r, i);
    sd_event_unref(r.event);

    printf("started %u finished %u superseded %u stopped %u\n", r.started,
           r.finished, r.superseded, r.stopped);
    printf("steps %u beats %u digest %016llx\n", r.steps, r.beats,
           (unsigned long long)r.digest);
    job_cleanup();
    return 0;
}
