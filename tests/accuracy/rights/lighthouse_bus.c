/* summary: lighthouses on a private D-Bus server: cancelled pending calls, filters with counted data, messages parked in the queue
 * track: DBusConnection DBusMessage DBusPendingCall DBusServer
 * build: gcc -O2 lighthouse_bus.c -o OUT $(pkg-config --cflags --libs dbus-1)
 */
#include <dbus/dbus.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAMPS = 3, PARKED = 8 };

static void check(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "lighthouse_bus: %s\n", what);
		exit(2);
	}
}

/* The harbour is the server's side: it answers "Range", and parks "Tide" calls until low water. */
typedef struct {
	DBusServer *server;
	DBusWatch *watch;
	DBusConnection *lamps[LAMPS];
	int connected;
	DBusMessage *parked[PARKED];
	DBusConnection *parked_for[PARKED];
	int parked_count;
	int signals;
} Harbour;

static dbus_bool_t add_watch(DBusWatch *watch, void *data)
{
	((Harbour *)data)->watch = watch;
	return TRUE;
}
static void remove_watch(DBusWatch *watch, void *data)
{
	Harbour *harbour = data;
	if (harbour->watch == watch)
		harbour->watch = NULL;
}

static DBusHandlerResult harbour_filter(DBusConnection *connection, DBusMessage *message, void *data)
{
	Harbour *harbour = data;
	if (dbus_message_is_signal(message, DBUS_INTERFACE_LOCAL, "Disconnected")) {
		for (int i = 0; i < harbour->connected; i++)
			if (harbour->lamps[i] == connection) {
				harbour->lamps[i] = NULL;
				dbus_connection_unref(connection);   /* the dispatcher has another one */
			}
		return DBUS_HANDLER_RESULT_HANDLED;
	}
	if (dbus_message_is_signal(message, "sea.Lamp", "Lit")) {
		harbour->signals++;
		return DBUS_HANDLER_RESULT_HANDLED;
	}
	if (dbus_message_is_method_call(message, "sea.Harbour", "Tide") && harbour->parked_count < PARKED) {
		harbour->parked[harbour->parked_count] = dbus_message_ref(message);
		harbour->parked_for[harbour->parked_count++] = dbus_connection_ref(connection);
		return DBUS_HANDLER_RESULT_HANDLED;
	}
	if (dbus_message_is_method_call(message, "sea.Harbour", "Range")) {
		dbus_int32_t miles = 0;
		DBusMessage *reply;
		if (!dbus_message_get_args(message, NULL, DBUS_TYPE_INT32, &miles, DBUS_TYPE_INVALID))
			reply = dbus_message_new_error(message, DBUS_ERROR_INVALID_ARGS, "miles, please");
		else {
			reply = dbus_message_new_method_return(message);
			miles *= 2;
			dbus_message_append_args(reply, DBUS_TYPE_INT32, &miles, DBUS_TYPE_INVALID);
		}
		dbus_connection_send(connection, reply, NULL);
		dbus_message_unref(reply);               /* the outgoing queue has it now */
		return DBUS_HANDLER_RESULT_HANDLED;
	}
	return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

static void on_connection(DBusServer *server, DBusConnection *connection, void *data)
{
	(void)server;
	Harbour *harbour = data;
	if (harbour->connected == LAMPS)
		return;                                  /* not referenced: the server drops it */
	harbour->lamps[harbour->connected++] = dbus_connection_ref(connection);
	check(dbus_connection_add_filter(connection, harbour_filter, harbour, NULL), "no memory");
}

static void pump(Harbour *harbour, DBusConnection **lamps, int rounds)
{
	while (rounds--) {
		if (harbour->watch && dbus_watch_get_enabled(harbour->watch)) {
			struct pollfd fd = { dbus_watch_get_unix_fd(harbour->watch), POLLIN, 0 };
			if (poll(&fd, 1, 0) > 0)
				dbus_watch_handle(harbour->watch, DBUS_WATCH_READABLE);
		}
		for (int i = 0; i < LAMPS; i++) {
			DBusConnection *here = harbour->lamps[i];
			if (here) {
				dbus_connection_ref(here);       /* the filter may drop ours */
				dbus_connection_read_write_dispatch(here, 0);
				dbus_connection_unref(here);
			}
			if (lamps[i])
				dbus_connection_read_write_dispatch(lamps[i], 0);
		}
	}
}

static void low_water(Harbour *harbour, int answer)
{
	while (harbour->parked_count) {
		int i = --harbour->parked_count;
		DBusMessage *call = harbour->parked[i];
		if (answer && dbus_connection_get_is_connected(harbour->parked_for[i])) {
			DBusMessage *reply = dbus_message_new_method_return(call);
			dbus_connection_send(harbour->parked_for[i], reply, NULL);
			dbus_message_unref(reply);
		}
		dbus_message_unref(call);
		dbus_connection_unref(harbour->parked_for[i]);
	}
}

/* What a lamp's callbacks share; each of them has its reference. */
typedef struct { int refs; int replies, errors, signals; DBusMessage *last; } Log;
static Log *log_ref(Log *log) { log->refs++; return log; }
static void log_unref(void *data)
{
	Log *log = data;
	if (--log->refs)
		return;
	printf("replies %d, errors %d, signals %d\n", log->replies, log->errors, log->signals);
	if (log->last)
		dbus_message_unref(log->last);
	free(log);
}

static void on_reply(DBusPendingCall *pending, void *data)
{
	Log *log = data;
	DBusMessage *reply = dbus_pending_call_steal_reply(pending);
	if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_ERROR)
		log->errors++;
	else
		log->replies++;
	if (log->last)
		dbus_message_unref(log->last);
	log->last = reply;                           /* the stolen reference goes into the log */
}

static DBusHandlerResult lamp_filter(DBusConnection *connection, DBusMessage *message, void *data)
{
	(void)connection;
	if (!dbus_message_is_signal(message, "sea.Harbour", "Fog"))
		return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
	((Log *)data)->signals++;
	return DBUS_HANDLER_RESULT_HANDLED;
}

static DBusPendingCall *ask(DBusConnection *lamp, const char *method, dbus_int32_t miles, Log *log)
{
	DBusPendingCall *pending = NULL;
	DBusMessage *call = dbus_message_new_method_call(NULL, "/harbour", "sea.Harbour", method);
	if (miles)
		dbus_message_append_args(call, DBUS_TYPE_INT32, &miles, DBUS_TYPE_INVALID);
	check(dbus_connection_send_with_reply(lamp, call, &pending, 60000) && pending, "cannot send");
	dbus_message_unref(call);
	if (log)
		check(dbus_pending_call_set_notify(pending, on_reply, log_ref(log), log_unref), "no memory");
	return pending;
}

static void night(Harbour *harbour, DBusConnection **lamps)
{
	Log *log = log_ref(calloc(1, sizeof *log));
	for (int i = 0; i < LAMPS; i++)
		check(dbus_connection_add_filter(lamps[i], lamp_filter, log_ref(log), log_unref), "no memory");

	/* Answered: nobody keeps the pending call, the connection has it until its reply. */
	for (int i = 0; i < LAMPS; i++)
		dbus_pending_call_unref(ask(lamps[i], "Range", 10 + i, log));
	dbus_pending_call_unref(ask(lamps[0], "Range", 0, log));          /* an error as reply */

	/* Kept, and looked at after its reply was left inside of it. */
	DBusPendingCall *kept = ask(lamps[1], "Range", 5, NULL);
	/* Cancelled while it waits: the connection's reference goes, and ours after it. */
	DBusPendingCall *cancelled = ask(lamps[2], "Tide", 0, log);
	DBusPendingCall *waiting = ask(lamps[1], "Tide", 0, log);
	pump(harbour, lamps, 30);
	printf("kept %s, waiting %s\n", dbus_pending_call_get_completed(kept) ? "completed" : "open",
	       dbus_pending_call_get_completed(waiting) ? "completed" : "open");
	dbus_pending_call_unref(kept);                                    /* with the reply in it */
	dbus_pending_call_cancel(cancelled);
	dbus_pending_call_unref(cancelled);
	low_water(harbour, 1);
	pump(harbour, lamps, 10);
	printf("waiting %s\n", dbus_pending_call_get_completed(waiting) ? "completed" : "open");
	dbus_pending_call_unref(waiting);

	/* One signal to all: the same message stands in three outgoing queues. */
	DBusMessage *fog = dbus_message_new_signal("/harbour", "sea.Harbour", "Fog");
	for (int i = 0; i < LAMPS; i++)
		dbus_connection_send(harbour->lamps[i], fog, NULL);
	dbus_message_unref(fog);
	pump(harbour, lamps, 10);

	/* Looked at in the queue and given back; then taken out of it for good. */
	DBusMessage *extra = dbus_message_new_signal("/harbour", "sea.Harbour", "Extra");
	dbus_connection_send(harbour->lamps[0], extra, NULL);
	dbus_connection_flush(harbour->lamps[0]);
	dbus_message_unref(extra);
	for (int i = 0; i < 20 && dbus_connection_get_dispatch_status(lamps[0]) != DBUS_DISPATCH_DATA_REMAINS; i++)
		dbus_connection_read_write(lamps[0], 50);
	DBusMessage *head = dbus_connection_borrow_message(lamps[0]);
	check(head != NULL, "nothing in the queue");
	dbus_connection_return_message(lamps[0], head);
	head = dbus_connection_pop_message(lamps[0]);
	DBusMessage *copy = dbus_message_copy(head);
	printf("popped %s, copied %s\n", dbus_message_get_member(head), dbus_message_get_member(copy));
	dbus_message_unref(head);
	dbus_message_unref(copy);

	/* Without a reply: sent and forgotten. */
	for (int i = 0; i < LAMPS; i++) {
		DBusMessage *lit = dbus_message_new_signal("/lamp", "sea.Lamp", "Lit");
		dbus_connection_send(lamps[i], lit, NULL);
		dbus_message_unref(lit);
	}
	pump(harbour, lamps, 10);

	/* One lamp takes its filter away; the others go with their connections. */
	dbus_connection_remove_filter(lamps[0], lamp_filter, log);
	/* Open when the lines are closed: one is kept here, one only by its connection. */
	DBusPendingCall *lost = ask(lamps[1], "Tide", 0, log);
	dbus_pending_call_unref(ask(lamps[2], "Tide", 0, log));
	pump(harbour, lamps, 10);
	for (int i = 0; i < LAMPS; i++) {
		dbus_connection_close(lamps[i]);
		while (dbus_connection_dispatch(lamps[i]) == DBUS_DISPATCH_DATA_REMAINS)
			;
		dbus_connection_unref(lamps[i]);
		lamps[i] = NULL;
	}
	if (!dbus_pending_call_get_completed(lost))
		dbus_pending_call_cancel(lost);
	dbus_pending_call_unref(lost);
	log_unref(log);
}

int main(void)
{
	Harbour harbour = { 0 };
	DBusConnection *lamps[LAMPS] = { 0 };
	harbour.server = dbus_server_listen("unix:tmpdir=/tmp", NULL);
	check(harbour.server != NULL, "cannot listen");
	check(dbus_server_set_watch_functions(harbour.server, add_watch, remove_watch, NULL, &harbour, NULL), "no memory");
	dbus_server_set_new_connection_function(harbour.server, on_connection, &harbour, NULL);
	char *address = dbus_server_get_address(harbour.server);
	for (int i = 0; i < LAMPS; i++) {
		lamps[i] = dbus_connection_open_private(address, NULL);
		check(lamps[i] != NULL, "cannot connect");
		dbus_connection_set_exit_on_disconnect(lamps[i], FALSE);
	}
	dbus_free(address);
	pump(&harbour, lamps, 40);
	night(&harbour, lamps);
	low_water(&harbour, 0);
	pump(&harbour, lamps, 20);
	printf("harbour: %d of %d connected, %d signals\n", !!harbour.lamps[0] + !!harbour.lamps[1] + !!harbour.lamps[2],
	       harbour.connected, harbour.signals);
	dbus_server_disconnect(harbour.server);
	dbus_server_unref(harbour.server);
	dbus_shutdown();
	return 0;
}
