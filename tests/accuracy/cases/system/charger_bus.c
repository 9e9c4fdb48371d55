/* summary: Cancel answers the waiting request with an error and takes it off the list, but does not unref the message
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: sd_bus_message
 * packages: libsystemd
 * build: gcc -O1 -g
 * exit: 0
 * source: bug class "deferred reply: the stored request is not released when it is cancelled"
 */
/*
 * A charging station on a private bus connection (a socketpair, no broker).
 * Reserve is answered later, when a socket becomes free, so the request is
 * kept; Cancel ends the wait.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>

#define PATH "/station"
#define IFACE "com.example.Station"
#define CARS 48
#define FREE_AT_START 6

struct waiting {
	struct waiting *next;
	char *car;
	sd_bus_message *request;	/* owned */
};

struct station {
	struct waiting *head, **tail;
	unsigned free_sockets;
	unsigned given, cancelled;
	sd_event_source *pump;
};

static void waiting_free(struct waiting *w)
{
	free(w->car);
	free(w);
}

static struct waiting *waiting_pop(struct station *st)
{
	struct waiting *w = st->head;

	if (!w)
		return NULL;
	st->head = w->next;
	if (!st->head)
		st->tail = &st->head;
	return w;
}

static struct waiting *waiting_take(struct station *st, const char *car)
{
	for (struct waiting **p = &st->head; *p; p = &(*p)->next) {
		struct waiting *w = *p;

		if (strcmp(w->car, car) != 0)
			continue;
		*p = w->next;
		if (st->tail == &w->next)
			st->tail = p;
		return w;
	}
	return NULL;
}

static int method_reserve(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct station *st = userdata;
	struct waiting *w;
	const char *car;
	int r = sd_bus_message_read(m, "s", &car);

	if (r < 0)
		return r;
	if (car[0] == '\0')
		return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "no car");
	if (st->free_sockets > 0) {
		st->free_sockets--;
		st->given++;
		return sd_bus_reply_method_return(m, "u", st->given);
	}
	w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	w->car = strdup(car);
	w->request = sd_bus_message_ref(m);	/* ACCEPTED */
	*st->tail = w;
	st->tail = &w->next;
	return 1;	/* answered later */
}

static int method_leave(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct station *st = userdata;

	(void)error;
	st->free_sockets++;
	sd_event_source_set_enabled(st->pump, SD_EVENT_ON);
	return sd_bus_reply_method_return(m, "");
}

static int method_cancel(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct station *st = userdata;
	struct waiting *w;
	const char *car;
	int r = sd_bus_message_read(m, "s", &car);

	if (r < 0)
		return r;
	w = waiting_take(st, car);
	if (!w)
		return sd_bus_error_setf(error, SD_BUS_ERROR_FAILED, "%s does not wait", car);
	sd_bus_reply_method_errorf(w->request, "com.example.Cancelled", "cancelled");	/* ACCEPTED */
	st->cancelled++;
#ifndef BUG
	sd_bus_message_unref(w->request);
#endif
	waiting_free(w);	/* GUILTY */
	return sd_bus_reply_method_return(m, "");
}

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("Reserve", "s", "u", method_reserve, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("Leave", "", "", method_leave, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("Cancel", "s", "", method_cancel, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END
};

/* Gives free sockets to those who wait. */
static int on_pump(sd_event_source *s, void *userdata)
{
	struct station *st = userdata;
	struct waiting *w;

	while (st->free_sockets > 0 && (w = waiting_pop(st))) {
		st->free_sockets--;
		st->given++;
		sd_bus_reply_method_return(w->request, "u", st->given);
		sd_bus_message_unref(w->request);
		waiting_free(w);
	}
	return sd_event_source_set_enabled(s, SD_EVENT_OFF);
}

/* The client: calls one after another, most without waiting for the answer. */

struct client {
	sd_event *event;
	sd_bus *bus;
	sd_bus_slot *slots[CARS];	/* owned */
	unsigned open, got, refused;
};

static int on_answer(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct client *c = userdata;

	(void)error;
	if (sd_bus_message_is_method_error(m, NULL))
		c->refused++;
	else
		c->got++;
	if (--c->open == 0)
		return sd_event_exit(c->event, 0);
	return 0;
}

static void reserve(struct client *c, int n)
{
	char car[16];

	snprintf(car, sizeof car, n % 17 == 16 ? "" : "CAR-%03d", n);
	if (sd_bus_call_method_async(c->bus, &c->slots[n], NULL, PATH, IFACE, "Reserve",
				     on_answer, c, "s", car) >= 0)
		c->open++;
}

static void cancel(struct client *c, int n)
{
	sd_bus_message *m = NULL;
	char car[16];

	snprintf(car, sizeof car, "CAR-%03d", n);
	if (sd_bus_message_new_method_call(c->bus, &m, NULL, PATH, IFACE, "Cancel") < 0)
		return;
	sd_bus_message_append(m, "s", car);
	if (sd_bus_call_async(c->bus, NULL, m, on_answer, c, 0) >= 0)
		c->open++;
	sd_bus_message_unref(m);
}

static void leave(struct client *c)
{
	if (sd_bus_call_method_async(c->bus, NULL, NULL, PATH, IFACE, "Leave",
				     on_answer, c, "") >= 0)
		c->open++;
}

static int open_bus(sd_bus **ret, int fd, sd_event *event, int server)
{
	sd_id128_t id = SD_ID128_MAKE(5c,9f,11,2a,3b,44,4d,90,8f,e2,10,77,65,c0,de,01);
	sd_bus *bus;
	int r = sd_bus_new(&bus);

	if (r < 0)
		return r;
	sd_bus_set_fd(bus, fd, fd);
	sd_bus_set_anonymous(bus, 1);
	if (server)
		sd_bus_set_server(bus, 1, id);
	r = sd_bus_start(bus);
	if (r >= 0)
		r = sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL);
	if (r < 0) {
		sd_bus_unref(bus);
		return r;
	}
	*ret = bus;
	return 0;
}

int main(void)
{
	struct station st = { .free_sockets = FREE_AT_START };
	struct client c = { 0 };
	sd_event *event = NULL;
	sd_bus *server = NULL;
	int fds[2];

	st.tail = &st.head;
	if (sd_event_new(&event) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return 1;
	c.event = event;
	if (open_bus(&server, fds[0], event, 1) < 0 || open_bus(&c.bus, fds[1], event, 0) < 0)
		return 1;
	if (sd_bus_add_object_vtable(server, NULL, PATH, IFACE, vtable, &st) < 0)
		return 1;
	sd_event_add_defer(event, &st.pump, on_pump, &st);
	sd_event_source_set_enabled(st.pump, SD_EVENT_OFF);

	for (int n = 0; n < CARS; n++)
		reserve(&c, n);
	for (int n = 3; n < CARS; n += 9)	/* 3 has its place by then */
		cancel(&c, n);
	for (int n = 0; n < CARS; n++)
		leave(&c);
	if (sd_event_loop(event) < 0)
		return 1;
	printf("answers: %u good, %u refused\n", c.got, c.refused);
	printf("station: %u given, %u cancelled, %u free\n", st.given, st.cancelled, st.free_sockets);

	for (int n = 0; n < CARS; n++)
		sd_bus_slot_unref(c.slots[n]);
	sd_event_source_unref(st.pump);
	sd_bus_flush_close_unref(c.bus);
	sd_bus_flush_close_unref(server);
	sd_event_unref(event);
	return 0;
}
