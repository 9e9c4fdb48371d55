/* summary: ups_on_battery() makes a new timer for the shutdown while that of an earlier report is still there, and replaces the only pointer to it
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: libsystemd
 * packages: libsystemd
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * Watches power supplies. They report over a pipe, one line each:
 *   NAME online | onbatt SECONDS | lowbatt
 * After some time on battery the machines behind a supply are shut down.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#define MAXUPS 4
#define USEC 1000000ULL

struct monitor;

struct ups {
	struct monitor *monitor;
	char name[16];
	bool on_battery;
	sd_event_source *shutdown;	/* while on battery */
	int machines;
	int reports, down;
};

struct monitor {
	sd_event *event;
	sd_event_source *input;
	sd_event_source *idle;
	int fd;
	char line[128];
	size_t len;
	struct ups ups[MAXUPS];
	int nups;
	int unknown, checks;
};

static void fail(const char *what, int r)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-r));
	exit(2);
}

/* ---- supplies ---- */

static void ups_halt(struct ups *u)
{
	u->down += u->machines;
	u->machines = 0;
}

static int ups_elapsed(sd_event_source *s, uint64_t usec, void *userdata)
{
	struct ups *u = userdata;

	(void)s;
	(void)usec;
	u->shutdown = sd_event_source_unref(u->shutdown);
	ups_halt(u);
	return 0;
}

static void ups_online(struct ups *u)
{
	u->on_battery = false;
	u->shutdown = sd_event_source_disable_unref(u->shutdown);
}

/* The supplies report again whenever their estimate of the time changes. */
static int ups_on_battery(struct ups *u, unsigned seconds)
{
	char text[40];
	int r;

	u->on_battery = true;
#ifndef BUG
	u->shutdown = sd_event_source_disable_unref(u->shutdown);
#endif
	r = sd_event_add_time_relative(u->monitor->event, &u->shutdown, CLOCK_MONOTONIC,	/* GUILTY */
				       seconds * USEC, USEC / 10, ups_elapsed, u);	/* ACCEPTED */
	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "shutdown-%s", u->name);
	return sd_event_source_set_description(u->shutdown, text);
}

static void ups_low(struct ups *u)
{
	u->shutdown = sd_event_source_disable_unref(u->shutdown);
	if (u->on_battery)
		ups_halt(u);
}

/* ---- monitor ---- */

static struct ups *monitor_find(struct monitor *m, const char *name)
{
	for (int i = 0; i < m->nups; i++)
		if (strcmp(m->ups[i].name, name) == 0)
			return &m->ups[i];
	return NULL;
}

static void monitor_add_ups(struct monitor *m, const char *name, int machines)
{
	struct ups *u = &m->ups[m->nups++];

	u->monitor = m;
	snprintf(u->name, sizeof(u->name), "%s", name);
	u->machines = machines;
}

static int monitor_line(struct monitor *m, const char *line)
{
	char name[16], what[16];
	unsigned seconds = 0;
	struct ups *u;
	int n = sscanf(line, "%15s %15s %u", name, what, &seconds);

	if (n < 2 || !(u = monitor_find(m, name))) {
		m->unknown++;
		return 0;
	}
	u->reports++;
	if (strcmp(what, "online") == 0)
		ups_online(u);
	else if (strcmp(what, "onbatt") == 0 && n == 3)
		return ups_on_battery(u, seconds);
	else if (strcmp(what, "lowbatt") == 0)
		ups_low(u);
	else
		m->unknown++;
	return 0;
}

/* One line at a time, so that other sources get their turn. */
static int monitor_readable(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct monitor *m = userdata;
	char c;
	ssize_t n;

	(void)s;
	(void)revents;
	while ((n = read(fd, &c, 1)) == 1) {
		if (c == '\n') {
			m->line[m->len] = '\0';
			m->len = 0;
			return monitor_line(m, m->line);
		}
		if (m->len < sizeof(m->line) - 1)
			m->line[m->len++] = c;
	}
	if (n == 0)
		return sd_event_exit(m->event, 0);
	return errno == EAGAIN ? 0 : -errno;
}

static int monitor_check(sd_event_source *s, void *userdata)
{
	struct monitor *m = userdata;

	(void)s;
	m->checks++;
	return 0;
}

static void monitor_init(struct monitor *m, int fd)
{
	int r = sd_event_new(&m->event);

	if (r < 0)
		fail("sd_event_new", r);
	m->fd = fd;
	r = sd_event_add_io(m->event, &m->input, fd, EPOLLIN, monitor_readable, m);
	if (r < 0)
		fail("sd_event_add_io", r);
	r = sd_event_add_post(m->event, &m->idle, monitor_check, m);
	if (r < 0)
		fail("sd_event_add_post", r);
}

static void monitor_fini(struct monitor *m)
{
	for (int i = 0; i < m->nups; i++)
		sd_event_source_disable_unref(m->ups[i].shutdown);
	sd_event_source_disable_unref(m->idle);
	sd_event_source_disable_unref(m->input);
	sd_event_unref(m->event);
	close(m->fd);
}

static const char reports[] =
	"rack1 online\n"
	"rack2 online\n"
	"rack1 onbatt 600\n"
	"lab onbatt 300\n"
	"rack1 online\n"
	"lab onbatt 240\n"
	"rack2 onbatt 900\n"
	"lab onbatt 180\n"
	"office nothing\n"
	"lab lowbatt\n"
	"rack2 onbatt 840\n"
	"rack2 online\n"
	"rack1 onbatt 600\n"
	"rack1 lowbatt\n"
	"desk onbatt 1200\n"
	"desk onbatt 1100\n"
	"rack2 onbatt 900\n";

int main(void)
{
	struct monitor m;
	int fds[2], r;

	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0)
		fail("pipe2", -errno);
	memset(&m, 0, sizeof(m));
	monitor_init(&m, fds[0]);
	monitor_add_ups(&m, "rack1", 12);
	monitor_add_ups(&m, "rack2", 8);
	monitor_add_ups(&m, "lab", 5);
	monitor_add_ups(&m, "desk", 1);

	if (write(fds[1], reports, sizeof(reports) - 1) != (ssize_t)sizeof(reports) - 1)
		fail("write", -EIO);
	close(fds[1]);
	r = sd_event_loop(m.event);
	if (r < 0)
		fail("sd_event_loop", r);

	for (int i = 0; i < m.nups; i++)
		printf("%s: %d reports, %s, %d down\n", m.ups[i].name, m.ups[i].reports,
		       m.ups[i].on_battery ? "on battery" : "online", m.ups[i].down);
	printf("%d lines unknown\n", m.unknown);
	monitor_fini(&m);
	return 0;
}
