/* summary: beacons talk over sd-bus on a socket pair: floating slots that their bus owns, messages kept beyond it, replies that wait in a list, event sources that end by themselves
 * track: sd_bus sd_bus_message sd_bus_slot sd_event sd_event_source
 * build: gcc -O3 -g beacon_slots.c -o OUT $(pkg-config --cflags --libs libsystemd)
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

enum { WAITING = 4, CALLS = 6 };

/* Each side has its bus on the same event loop. */
struct beacon {
	sd_bus *bus;
	sd_bus_message *parked[WAITING];             /* calls that are answered later; a reference each */
	unsigned parks, calls, replies, ticks;
	sd_bus_message *last_reply;
	sd_event_source *rescue;                     /* answers what is parked */
};

static struct beacon lamp, keeper;
static int destroyed;

static int on_flash(sd_bus_message *call, void *data, sd_bus_error *error)
{
	struct beacon *beacon = data;
	int times;
	beacon->calls++;
	if (sd_bus_message_read(call, "i", &times) < 0 || times < 0)
		return sd_bus_error_set(error, "org.beacon.Bad", "no flashes");
	if (times % 2 == 0 && beacon->parks < WAITING) {
		beacon->parked[beacon->parks++] = sd_bus_message_ref(call);
		sd_event_source_set_enabled(beacon->rescue, SD_EVENT_ON);
		return 1;                            /* answered later */
	}
	return sd_bus_reply_method_return(call, "i", times * 2);
}

static const sd_bus_vtable lamp_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("Flash", "i", "i", on_flash, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END
};

/* Defer source: answers one call each time, and switches itself off. It stays with its owner. */
static int on_rescue(sd_event_source *source, void *data)
{
	struct beacon *beacon = data;
	if (beacon->parks) {
		sd_bus_message *call = beacon->parked[--beacon->parks], *reply = NULL;
		sd_bus_message_new_method_return(call, &reply);
		sd_bus_message_append(reply, "i", -1);
		sd_bus_send(NULL, reply, NULL);      /* by the bus that the message has */
		sd_bus_message_unref(reply);
		sd_bus_message_unref(call);
	}
	if (!beacon->parks)
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

static void on_destroy(void *data)
{
	(void)data;
	destroyed++;
}

/* A reply is borrowed; the last one is kept past its bus. */
static int on_reply(sd_bus_message *reply, void *data, sd_bus_error *error)
{
	struct beacon *beacon = data;
	(void)error;
	sd_bus_message_ref(reply);
	sd_bus_message_unref(beacon->last_reply);
	beacon->last_reply = reply;
	if (++beacon->replies == CALLS)
		sd_event_exit(sd_bus_get_event(beacon->bus), 0);
	return 1;
}

static int on_signal(sd_bus_message *message, void *data, sd_bus_error *error)
{
	(void)message, (void)error;
	((struct beacon *)data)->ticks++;
	return 0;
}

static int start(struct beacon *beacon, int fd, int server, sd_event *event)
{
	sd_bus *bus = NULL;
	sd_id128_t id = SD_ID128_MAKE(6c,1f,2a,77,00,11,22,33,44,55,66,77,88,99,aa,bb);
	if (sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0)
		return -1;
	if (server && sd_bus_set_server(bus, 1, id) < 0)
		return -1;
	if (sd_bus_set_anonymous(bus, 1) < 0 || sd_bus_set_trusted(bus, 1) < 0 || sd_bus_start(bus) < 0)
		return -1;
	beacon->bus = bus;
	return sd_bus_attach_event(bus, event, 0);   /* the bus has the loop, and a source that the loop has */
}

static int call_lamp(struct beacon *from, int times, sd_bus_slot **slot)
{
	return sd_bus_call_method_async(from->bus, slot, NULL, "/lamp", "org.beacon.Lamp", "Flash", on_reply, from, "i", times);
}

/* Slots: floating ones are the bus's, others the caller's; one changes from the one to the other. */
static void call_all(void)
{
	sd_bus_slot *slots[CALLS] = { NULL };
	for (int i = 0; i < CALLS; i++) {
		call_lamp(&keeper, i == 5 ? -1 : i, i % 2 ? &slots[i] : NULL);
		if (!slots[i])
			continue;
		sd_bus_slot_set_destroy_callback(slots[i], on_destroy);
		sd_bus_slot_set_floating(slots[i], 1);       /* the bus takes one */
		sd_bus_slot_unref(slots[i]);                 /* and has the only one now */
	}
	sd_bus_slot *cancelled = NULL;
	call_lamp(&keeper, 7, &cancelled);
	sd_bus_slot_ref(cancelled);
	sd_bus_slot_unref(cancelled);
	sd_bus_slot_unref(cancelled);                        /* the answer will find nobody */
}

static int on_time(sd_event_source *source, uint64_t now, void *data)
{
	unsigned *ticks = data;
	(void)now;
	if (++*ticks < 3) {
		sd_event_source_set_time_relative(source, 500);
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	} else {
		sd_event_source_disable_unref(source);       /* in its own callback: the dispatcher has one of its own */
	}
	return 0;
}

static int on_exit_loop(sd_event_source *source, void *data)
{
	(void)source;
	++*(unsigned *)data;
	return 0;
}

int main(void)
{
	int fds[2];
	unsigned ticks = 0, exits = 0;
	sd_event *event = NULL, *same = NULL;
	sd_event_source *timer = NULL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return 1;
	/* The default loop is one for the thread: the second is another reference to it. */
	if (sd_event_default(&event) < 0 || sd_event_default(&same) < 0 || event != same)
		return 1;
	sd_event_unref(same);
	if (start(&lamp, fds[0], 1, event) < 0 || start(&keeper, fds[1], 0, event) < 0)
		return 1;
	sd_event_add_defer(event, &lamp.rescue, on_rescue, &lamp);
	sd_event_source_set_enabled(lamp.rescue, SD_EVENT_OFF);
	sd_event_add_exit(event, NULL, on_exit_loop, &exits);        /* floating: the loop's */
	sd_event_add_time_relative(event, &timer, CLOCK_MONOTONIC, 500, 100, on_time, &ticks);
	sd_bus_add_object_vtable(lamp.bus, NULL, "/lamp", "org.beacon.Lamp", lamp_vtable, &lamp);
	sd_bus_slot *match = NULL, *second = NULL;
	sd_bus_add_match(keeper.bus, &match, "type='signal',interface='org.beacon.Lamp'", on_signal, &keeper);
	sd_bus_add_match(keeper.bus, &second, "type='signal'", on_signal, &keeper);
	sd_bus_slot_set_floating(second, 1);
	sd_bus_slot_ref(second);
	sd_bus_slot_set_floating(second, 0);                 /* ours again, and the bus's is put: two */
	call_all();
	for (int i = 0; i < 3; i++)
		sd_bus_emit_signal(lamp.bus, "/lamp", "org.beacon.Lamp", "Lit", "u", (unsigned)i);

	sd_bus *watched = sd_bus_ref(keeper.bus);
	int result = sd_event_loop(event);
	sd_bus_slot_unref(second);
	sd_bus_slot_unref(second);
	if (ticks < 3)                                       /* the loop was left before the timer was done */
		sd_event_source_disable_unref(timer);
	/* Slots first, then the buses; the reply and the parked ones have their bus, until it is closed. */
	sd_bus_slot_unref(match);
	sd_event_source_disable_unref(lamp.rescue);
	for (unsigned i = 0; i < lamp.parks; i++)
		sd_bus_message_unref(lamp.parked[i]);
	keeper.bus = sd_bus_flush_close_unref(keeper.bus);
	lamp.bus = sd_bus_flush_close_unref(lamp.bus);
	sd_bus_unref(watched);                               /* the reply still has it */
	sd_bus *borrowed = sd_bus_message_get_bus(keeper.last_reply);
	int open = sd_bus_is_open(borrowed);
	sd_bus_message_unref(keeper.last_reply);
	sd_event_unref(event);
	printf("%u calls, %u replies, %u signals, %d destroyed, %u exits, open %d\n", lamp.calls, keeper.replies, keeper.ticks, destroyed, exits, open);
	return result != 0 || keeper.replies != CALLS || destroyed != 3 || exits != 1 || lamp.calls != CALLS + 1;
}
