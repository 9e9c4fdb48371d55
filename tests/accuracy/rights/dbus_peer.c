/* summary: private server with its own poll loop, client threads, pending calls (blocked and cancelled), signals queued to several connections, free functions of filters, a message kept as audit trail
 * track: dbus
 * build: gcc -O2 -g -o OUT dbus_peer.c $(pkg-config --cflags --libs dbus-1) -pthread
 */
/*
 * dbus_peer: a private D-Bus server and its client in one process.  The
 * server runs a poll() loop over watches and timeouts on the main thread; the
 * client lives in a thread of its own and makes blocking and pending calls.
 */
#include <dbus/dbus.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECT "/org/example/Counter"
#define INTERFACE "org.example.Counter"
#define MAX_WATCHES 32

static void
fail(const char *what)
{
	fprintf(stderr, "dbus_peer: %s\n", what);
	exit(1);
}

/* ---- the loop: watches of the server and of its connections ------------- */

static DBusWatch *watches[MAX_WATCHES];
static int n_watches;
static int running = 1;

static dbus_bool_t
watch_add(DBusWatch *watch, void *data)
{
	if (n_watches == MAX_WATCHES)
		return FALSE;
	watches[n_watches++] = watch;
	return TRUE;
}

static void
watch_remove(DBusWatch *watch, void *data)
{
	for (int i = 0; i < n_watches; i++)
		if (watches[i] == watch)
			watches[i] = watches[--n_watches];
}

/* ---- the server's side -------------------------------------------------- */

struct subject {		/* exported object, shared by all connections */
	int refs;
	long value;
	char *label;
	DBusMessage *last_set;	/* kept as the audit trail */
};

struct client {
	struct client *next;
	DBusConnection *connection;
};

static struct client *clients;
static unsigned total_calls, total_clients;

static struct subject *
subject_new(const char *label)
{
	struct subject *subject = calloc(1, sizeof *subject);

	if (subject == NULL)
		fail("out of memory");
	subject->refs = 1;
	subject->label = strdup(label);
	return subject;
}

static struct subject *
subject_ref(struct subject *subject)
{
	subject->refs++;
	return subject;
}

static void
subject_unref(void *data)
{
	struct subject *subject = data;

	if (--subject->refs > 0)
		return;
	if (subject->last_set != NULL)
		dbus_message_unref(subject->last_set);
	free(subject->label);
	free(subject);
}

static void
send_changed(struct subject *subject)
{
	DBusMessage *signal = dbus_message_new_signal(OBJECT, INTERFACE, "Changed");

	dbus_message_append_args(signal, DBUS_TYPE_INT64, &(dbus_int64_t){ subject->value }, DBUS_TYPE_INVALID);
	for (struct client *c = clients; c != NULL; c = c->next)
		dbus_connection_send(c->connection, signal, NULL);	/* each queue takes a reference */
	dbus_message_unref(signal);
}

static DBusHandlerResult
subject_message(DBusConnection *connection, DBusMessage *message, void *data)
{
	struct subject *subject = data;
	DBusMessage *reply;
	DBusError error = DBUS_ERROR_INIT;

	total_calls++;
	if (dbus_message_is_method_call(message, INTERFACE, "Add")) {
		dbus_int64_t amount;

		if (!dbus_message_get_args(message, &error, DBUS_TYPE_INT64, &amount, DBUS_TYPE_INVALID)) {
			reply = dbus_message_new_error(message, error.name, error.message);
			dbus_error_free(&error);
		} else {
			subject->value += amount;
			reply = dbus_message_new_method_return(message);
			dbus_message_append_args(reply, DBUS_TYPE_INT64, &(dbus_int64_t){ subject->value },
			    DBUS_TYPE_STRING, &subject->label, DBUS_TYPE_INVALID);
			if (subject->last_set != NULL)
				dbus_message_unref(subject->last_set);
			subject->last_set = dbus_message_ref(message);
			send_changed(subject);
		}
	} else if (dbus_message_is_method_call(message, INTERFACE, "Last")) {
		reply = dbus_message_new_method_return(message);
		if (subject->last_set != NULL) {
			DBusMessageIter from, to;
			dbus_int64_t amount;

			dbus_message_iter_init(subject->last_set, &from);
			dbus_message_iter_init_append(reply, &to);
			dbus_message_iter_get_basic(&from, &amount);
			dbus_message_iter_append_basic(&to, DBUS_TYPE_INT64, &amount);
		}
	} else {
		return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
	}
	dbus_connection_send(connection, reply, NULL);
	dbus_message_unref(reply);
	return DBUS_HANDLER_RESULT_HANDLED;
}

static void
subject_gone(DBusConnection *connection, void *data)
{
	subject_unref(data);
}

static const DBusObjectPathVTable subject_vtable = { .unregister_function = subject_gone, .message_function = subject_message };

static DBusHandlerResult
client_filter(DBusConnection *connection, DBusMessage *message, void *data)
{
	struct client *client = data;

	if (!dbus_message_is_signal(message, DBUS_INTERFACE_LOCAL, "Disconnected"))
		return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;

	struct client **p = &clients;
	while (*p != client)
		p = &(*p)->next;
	*p = client->next;
	if (clients == NULL && total_clients == 2)
		running = 0;
	dbus_connection_unregister_object_path(connection, OBJECT);
	dbus_connection_remove_filter(connection, client_filter, client);	/* frees client */
	dbus_connection_unref(connection);
	return DBUS_HANDLER_RESULT_HANDLED;
}

static void
on_connection(DBusServer *server, DBusConnection *connection, void *data)
{
	struct client *client = calloc(1, sizeof *client);

	if (client == NULL)
		return;				/* libdbus drops the connection */
	client->connection = dbus_connection_ref(connection);
	client->next = clients;
	clients = client;
	total_clients++;
	dbus_connection_set_allow_anonymous(connection, TRUE);
	dbus_connection_set_watch_functions(connection, watch_add, watch_remove, NULL, NULL, NULL);
	dbus_connection_add_filter(connection, client_filter, client, free);
	dbus_connection_register_object_path(connection, OBJECT, &subject_vtable, subject_ref(data));
}

static void
run_loop(void)
{
	while (running) {
		struct pollfd fds[MAX_WATCHES];
		DBusWatch *polled[MAX_WATCHES];
		int n = 0;

		for (int i = 0; i < n_watches; i++) {
			unsigned flags = dbus_watch_get_flags(watches[i]);

			if (!dbus_watch_get_enabled(watches[i]))
				continue;
			polled[n] = watches[i];
			fds[n].fd = dbus_watch_get_unix_fd(watches[i]);
			fds[n].events = (flags & DBUS_WATCH_READABLE ? POLLIN : 0) | (flags & DBUS_WATCH_WRITABLE ? POLLOUT : 0);
			fds[n++].revents = 0;
		}
		if (poll(fds, (nfds_t)n, 2000) <= 0 && errno != EINTR)
			fail("poll");
		for (int i = 0; i < n; i++) {
			unsigned flags = (fds[i].revents & POLLIN ? DBUS_WATCH_READABLE : 0) |
			    (fds[i].revents & POLLOUT ? DBUS_WATCH_WRITABLE : 0) |
			    (fds[i].revents & POLLHUP ? DBUS_WATCH_HANGUP : 0) |
			    (fds[i].revents & POLLERR ? DBUS_WATCH_ERROR : 0);
			int still_there = 0;

			for (int j = 0; j < n_watches; j++)
				still_there |= watches[j] == polled[i];
			if (flags != 0 && still_there)
				dbus_watch_handle(polled[i], flags);
		}
		for (struct client *c = clients, *next; c != NULL; c = next) {
			DBusConnection *connection = dbus_connection_ref(c->connection);

			next = c->next;		/* c may go in its own dispatch */
			while (dbus_connection_dispatch(connection) == DBUS_DISPATCH_DATA_REMAINS);
			dbus_connection_unref(connection);
		}
	}
}

/* ---- the client's side -------------------------------------------------- */

static pthread_mutex_t result_lock = PTHREAD_MUTEX_INITIALIZER;
static long n_good, n_replies, n_errors;

static DBusMessage *
add_call(dbus_int64_t amount)
{
	DBusMessage *call = dbus_message_new_method_call(NULL, OBJECT, INTERFACE, "Add");

	dbus_message_append_args(call, DBUS_TYPE_INT64, &amount, DBUS_TYPE_INVALID);
	return call;
}

/* Takes the call; returns the reply or NULL. */
static DBusMessage *
ask(DBusConnection *connection, DBusMessage *call, DBusError *error)
{
	DBusMessage *reply = dbus_connection_send_with_reply_and_block(connection, call, -1, error);

	dbus_message_unref(call);
	return reply;
}

static void *
client_main(void *address)
{
	DBusError error = DBUS_ERROR_INIT;
	DBusConnection *connection = dbus_connection_open_private(address, &error);
	DBusPendingCall *pending[6];
	DBusMessage *call, *reply;
	dbus_int64_t value, last = 0;
	long replies = 0, errors;
	const char *wrong = "seven";

	if (connection == NULL)
		fail(error.message);
	dbus_connection_set_exit_on_disconnect(connection, FALSE);

	for (int i = 0; i < 6; i++) {		/* many in flight at once */
		call = add_call(i);
		if (!dbus_connection_send_with_reply(connection, call, &pending[i], -1) || pending[i] == NULL)
			fail("send_with_reply");
		dbus_message_unref(call);
	}
	for (int i = 0; i < 6; i++) {
		dbus_pending_call_block(pending[i]);
		reply = dbus_pending_call_steal_reply(pending[i]);
		replies += dbus_message_get_args(reply, NULL, DBUS_TYPE_INT64, &value, DBUS_TYPE_INVALID);
		dbus_message_unref(reply);
		dbus_pending_call_unref(pending[i]);
	}

	call = add_call(0);			/* one that nobody waits for */
	dbus_connection_send_with_reply(connection, call, &pending[0], -1);
	dbus_message_unref(call);
	dbus_pending_call_cancel(pending[0]);
	dbus_pending_call_unref(pending[0]);

	call = dbus_message_new_method_call(NULL, OBJECT, INTERFACE, "Add");
	dbus_message_append_args(call, DBUS_TYPE_STRING, &wrong, DBUS_TYPE_INVALID);
	if (ask(connection, call, &error) != NULL)
		fail("a string was taken for a number");
	errors = dbus_error_has_name(&error, DBUS_ERROR_INVALID_ARGS);
	dbus_error_free(&error);

	reply = ask(connection, dbus_message_new_method_call(NULL, OBJECT, INTERFACE, "Last"), &error);
	if (reply == NULL)
		fail(error.message);
	dbus_message_get_args(reply, NULL, DBUS_TYPE_INT64, &last, DBUS_TYPE_INVALID);
	dbus_message_unref(reply);

	while ((reply = dbus_connection_pop_message(connection)) != NULL)	/* signals that came in */
		dbus_message_unref(reply);
	dbus_connection_close(connection);
	dbus_connection_unref(connection);
	pthread_mutex_lock(&result_lock);
	n_good += last >= 0, n_replies += replies, n_errors += errors;
	pthread_mutex_unlock(&result_lock);
	return NULL;
}

int
main(void)
{
	DBusError error = DBUS_ERROR_INIT;
	struct subject *subject;
	DBusServer *server;
	pthread_t threads[2];
	char *address;

	dbus_threads_init_default();
	server = dbus_server_listen("unix:tmpdir=/tmp", &error);
	if (server == NULL)
		fail(error.message);
	subject = subject_new("visitors");
	dbus_server_set_watch_functions(server, watch_add, watch_remove, NULL, NULL, NULL);
	dbus_server_set_new_connection_function(server, on_connection, subject_ref(subject), subject_unref);
	address = dbus_server_get_address(server);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, client_main, address) != 0)
			fail("pthread_create");
	run_loop();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	dbus_free(address);
	dbus_server_disconnect(server);
	dbus_server_unref(server);
	printf("value %ld, calls %u, replies %ld, errors %ld, good %ld, label %s (%d)\n", subject->value, total_calls,
	    n_replies, n_errors, n_good, subject->label, subject->refs);
	subject_unref(subject);
	return 0;
}
