/* summary: sd-bus messages that are only in a bus' queue (which counts otherwise), a message and its bus holding each other until the flush, floating slots and slots dropped in their own callback, async calls that are never answered, messages kept after the bus is closed, event sources that the loop owns, an exit source
 * track: libsystemd
 * build: gcc -O2 -g -Wall bus_pair.c -o OUT $(pkg-config --cflags --libs libsystemd) -pthread
 */
/*
 * bus_pair - shelf service and its client on the two ends of a socket pair.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#define PATH "/org/example/Shelf"
#define IFACE "org.example.Shelf"

static void check(int r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "bus_pair: %s: %s\n", what, strerror(-r));
		exit(1);
	}
}

/* ---- the service ------------------------------------------------------------ */

struct shelf {
	sd_bus *bus;
	sd_event *event;
	int books, told, finished;
	sd_bus_message *waiting[8];     /* owned: calls that are answered later */
	int n_waiting;
	sd_bus_message *last;           /* owned: kept beyond the bus */
	sd_event_source *later;         /* owned */
};

static int answer_waiting(sd_event_source *source, uint64_t usec, void *data)
{
	struct shelf *s = data;

	while (s->n_waiting) {
		sd_bus_message *call = s->waiting[--s->n_waiting];
		check(sd_bus_reply_method_return(call, "i", s->books), "answer");
		sd_bus_message_unref(call);
	}
	s->later = sd_event_source_disable_unref(s->later);     /* in its own handler */
	return 0;
}

static int method_put(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct shelf *s = data;
	const char *title;

	check(sd_bus_message_read(m, "s", &title), "read");
	s->books++;
	sd_bus_message_unref(s->last);
	s->last = sd_bus_message_ref(m);
	if (s->books % 5 == 0)
		return sd_bus_error_setf(error, IFACE ".Full", "no place for %s", title);
	if (s->books % 3 == 0 && s->n_waiting < 8) {
		s->waiting[s->n_waiting++] = sd_bus_message_ref(m);
		if (!s->later)
			check(sd_event_add_time_relative(s->event, &s->later, CLOCK_MONOTONIC, 1000, 0, answer_waiting, s),
			      "timer");
		return 1;
	}

	/* A signal to which nobody but the queue has a reference afterwards. */
	sd_bus_message *signal = NULL;
	check(sd_bus_message_new_signal(s->bus, &signal, PATH, IFACE, "Placed"), "signal");
	check(sd_bus_message_append(signal, "s", title), "append");
	check(sd_bus_send(NULL, signal, NULL), "send");
	sd_bus_message_unref(signal);
	return sd_bus_reply_method_return(m, "i", s->books);
}

/* Never answered. */
static int method_lose(sd_bus_message *m, void *data, sd_bus_error *error)
{
	return 1;
}

static int method_finish(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct shelf *s = data;

	check(sd_bus_reply_method_return(m, NULL), "reply");
	return sd_event_exit(s->event, 0);
}

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("Put", "s", "i", method_put, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("Lose", "", "", method_lose, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("Finish", "", "", method_finish, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static int at_exit(sd_event_source *source, void *data)
{
	struct shelf *s = data;

	s->finished = 1;
	return sd_bus_flush(s->bus);
}

static void *serve(void *arg)
{
	struct shelf shelf = { 0 };
	sd_id128_t id = SD_ID128_MAKE(1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,0);
	int fd = (int)(intptr_t)arg;

	check(sd_event_new(&shelf.event), "event");
	check(sd_bus_new(&shelf.bus), "bus");
	check(sd_bus_set_fd(shelf.bus, fd, fd), "fd");
	check(sd_bus_set_server(shelf.bus, 1, id), "server");
	check(sd_bus_set_anonymous(shelf.bus, 1), "anonymous");
	check(sd_bus_add_object_vtable(shelf.bus, NULL, PATH, IFACE, vtable, &shelf), "vtable");       /* floating */
	check(sd_bus_start(shelf.bus), "start");
	check(sd_bus_attach_event(shelf.bus, shelf.event, 0), "attach");
	check(sd_event_add_exit(shelf.event, NULL, at_exit, &shelf), "exit source");                  /* the loop's */
	check(sd_event_loop(shelf.event), "loop");

	while (shelf.n_waiting)         /* too late for them */
		sd_bus_message_unref(shelf.waiting[--shelf.n_waiting]);
	sd_event_source_disable_unref(shelf.later);
	sd_bus_detach_event(shelf.bus);
	sd_bus_flush_close_unref(shelf.bus);
	sd_event_unref(shelf.event);

	/* The message holds what it needs of its bus. */
	const char *title = "";
	sd_bus_message_rewind(shelf.last, 1);
	sd_bus_message_read(shelf.last, "s", &title);
	printf("service: %d books, last %s, finished %d\n", shelf.books, title, shelf.finished);
	return shelf.last;              /* with its reference */
}

/* ---- the client --------------------------------------------------------------- */

struct client {
	int answers, errors, placed, freed, lost, watched;
	sd_bus_message *answer;         /* owned: the newest one */
	sd_bus_slot *watch;             /* owned */
};

static int placed(sd_bus_message *m, void *data, sd_bus_error *error)
{
	((struct client *)data)->placed++;
	return 0;
}

static int placed_once(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct client *c = data;

	c->watched++;
	c->watch = sd_bus_slot_unref(c->watch);         /* while it is called */
	return 0;
}

static int answered(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct client *c = data;

	if (sd_bus_message_is_method_error(m, NULL))
		c->errors++;
	else
		c->answers++;
	sd_bus_message_unref(c->answer);
	c->answer = sd_bus_message_ref(m);
	return 0;
}

static int lost(sd_bus_message *m, void *data, sd_bus_error *error)
{
	((struct client *)data)->lost++;
	return 0;
}

static void slot_freed(void *data)
{
	((struct client *)data)->freed++;
}

static void pump(sd_bus *bus)
{
	int r = sd_bus_process(bus, NULL);

	check(r, "process");
	if (!r)
		check(sd_bus_wait(bus, 100000), "wait");
}

int main(void)
{
	enum { CALLS = 40 };
	struct client c = { 0 };
	sd_bus_slot *slots[4];
	sd_bus *bus = NULL;
	sd_bus_message *kept[3] = { NULL }, *reply = NULL;
	pthread_t thread;
	void *last;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return 1;
	if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)pair[0]))
		return 1;
	check(sd_bus_new(&bus), "bus");
	check(sd_bus_set_fd(bus, pair[1], pair[1]), "fd");
	check(sd_bus_set_anonymous(bus, 1), "anonymous");
	check(sd_bus_start(bus), "start");
	check(sd_bus_match_signal(bus, NULL, NULL, PATH, IFACE, "Placed", placed, &c), "match");      /* floating */
	check(sd_bus_match_signal(bus, &c.watch, NULL, PATH, IFACE, "Placed", placed_once, &c), "match");

	/* Lost calls: of two slots the client lets go, two it gives to the bus. */
	for (int i = 0; i < 4; i++) {
		check(sd_bus_call_method_async(bus, &slots[i], NULL, PATH, IFACE, "Lose", lost, &c, NULL), "lose");
		check(sd_bus_slot_set_destroy_callback(slots[i], slot_freed), "destroy callback");
		if (i % 2) {
			check(sd_bus_slot_set_floating(slots[i], 1), "floating");
			sd_bus_slot_unref(slots[i]);
		}
	}
	for (int i = 0; i < CALLS; i++) {
		sd_bus_message *call = NULL;
		char title[16];

		snprintf(title, sizeof title, "book %d", i);
		check(sd_bus_message_new_method_call(bus, &call, NULL, PATH, IFACE, "Put"), "call");
		check(sd_bus_message_append(call, "s", title), "append");
		check(sd_bus_call_async(bus, NULL, call, answered, &c, 0), "async");
		if (i == 7 || i == 23)  /* kept beyond the bus */
			kept[i == 23] = sd_bus_message_ref(call);
		sd_bus_message_unref(call);
		if (i % 4 == 3)
			pump(bus);
	}
	while (c.answers + c.errors < CALLS)
		pump(bus);
	sd_bus_slot_unref(slots[0]);
	sd_bus_slot_unref(slots[2]);

	/* One that is made and never sent, and one call that waits. */
	check(sd_bus_message_new_method_call(bus, &kept[2], NULL, PATH, IFACE, "Put"), "call");
	check(sd_bus_call_method(bus, NULL, PATH, IFACE, "Finish", NULL, &reply, NULL), "finish");
	pthread_join(thread, &last);
	sd_bus_close(bus);
	sd_bus_message_unref(reply);
	sd_bus_unref(bus);              /* the kept messages have it */
	printf("client: %d answers, %d errors, %d placed, %d watched, %d lost, %d slots freed\n", c.answers, c.errors,
	       c.placed, c.watched, c.lost, c.freed);
	printf("last: %s, newest answer of type %d\n", sd_bus_message_get_member(last), sd_bus_message_get_signature(c.answer, 1)[0]);
	for (int i = 0; i < 3; i++)
		sd_bus_message_unref(kept[i]);
	sd_bus_message_unref(c.answer);
	sd_bus_message_unref(last);
	printf("%d slots freed\n", c.freed);
	return c.answers + c.errors != CALLS || c.freed != 4 || c.lost;
}
