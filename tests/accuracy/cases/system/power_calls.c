/* summary: service_handle() returns for a call that wants no reply without dropping the reply that the method made
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: dbus
 * packages: dbus-1
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * A service for batteries: calls come out of a queue, and what would go over
 * the bus is marshalled and counted.
 */
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/org/example/Power"
#define IFACE "org.example.Power"

struct battery {
	const char *name;
	dbus_uint32_t percent;
	dbus_uint32_t threshold;	/* charging stops there */
	dbus_bool_t present;
};

struct queue {
	DBusMessage *items[64];
	int head, tail;
};

struct service {
	struct battery batteries[3];
	struct queue in, out;
	int calls, errors, silent;
	dbus_uint32_t serial;
};

typedef DBusMessage *(*method_fn)(struct service *s, DBusMessage *call);

static void *need(void *p)
{
	if (p == NULL) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return p;
}

/* ---- queues, which own their messages ---- */

static void queue_push(struct queue *q, DBusMessage *m)
{
	q->items[q->tail++ % 64] = m;
}

static DBusMessage *queue_pop(struct queue *q)
{
	return q->head == q->tail ? NULL : q->items[q->head++ % 64];
}

/* ---- methods: each one returns a new message ---- */

static struct battery *find_battery(struct service *s, const char *name)
{
	for (int i = 0; i < 3; i++)
		if (strcmp(s->batteries[i].name, name) == 0)
			return &s->batteries[i];
	return NULL;
}

static DBusMessage *bad_arguments(DBusMessage *call, DBusError *error)
{
	DBusMessage *reply = need(dbus_message_new_error(call, error->name, error->message));

	dbus_error_free(error);
	return reply;
}

static DBusMessage *method_list(struct service *s, DBusMessage *call)
{
	DBusMessage *reply = need(dbus_message_new_method_return(call));
	DBusMessageIter iter, array;

	dbus_message_iter_init_append(reply, &iter);
	dbus_message_iter_open_container(&iter, DBUS_TYPE_ARRAY, "s", &array);
	for (int i = 0; i < 3; i++)
		if (s->batteries[i].present)
			dbus_message_iter_append_basic(&array, DBUS_TYPE_STRING, &s->batteries[i].name);
	dbus_message_iter_close_container(&iter, &array);
	return reply;
}

static DBusMessage *method_level(struct service *s, DBusMessage *call)
{
	DBusError error = DBUS_ERROR_INIT;
	DBusMessage *reply;
	struct battery *b;
	const char *name;

	if (!dbus_message_get_args(call, &error, DBUS_TYPE_STRING, &name, DBUS_TYPE_INVALID))
		return bad_arguments(call, &error);
	b = find_battery(s, name);
	if (b == NULL || !b->present)
		return need(dbus_message_new_error_printf(call, IFACE ".Error.NoBattery", "no battery %s", name));
	reply = need(dbus_message_new_method_return(call));
	dbus_message_append_args(reply, DBUS_TYPE_UINT32, &b->percent, DBUS_TYPE_INVALID);
	return reply;
}

static DBusMessage *method_set_threshold(struct service *s, DBusMessage *call)
{
	DBusError error = DBUS_ERROR_INIT;
	struct battery *b;
	const char *name;
	dbus_uint32_t percent;

	if (!dbus_message_get_args(call, &error, DBUS_TYPE_STRING, &name, DBUS_TYPE_UINT32, &percent, DBUS_TYPE_INVALID))
		return bad_arguments(call, &error);
	b = find_battery(s, name);
	if (b == NULL || percent < 20 || percent > 100)
		return need(dbus_message_new_error(call, DBUS_ERROR_INVALID_ARGS, "not possible"));
	b->threshold = percent;
	return need(dbus_message_new_method_return(call));
}

static const struct { const char *member; method_fn fn; } methods[] = {
	{ "List", method_list }, { "GetLevel", method_level }, { "SetThreshold", method_set_threshold },
};

/* ---- service ---- */

static method_fn find_method(DBusMessage *call)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (dbus_message_is_method_call(call, IFACE, methods[i].member))
			return methods[i].fn;
	return NULL;
}

static void service_handle(struct service *s, DBusMessage *call)
{
	method_fn fn = find_method(call);
	DBusMessage *reply;

	s->calls++;
	if (fn != NULL)
		reply = fn(s, call);
	else
		reply = need(dbus_message_new_error(call, DBUS_ERROR_UNKNOWN_METHOD, dbus_message_get_member(call)));
	if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_ERROR)
		s->errors++;
	if (dbus_message_get_no_reply(call)) {
		s->silent++;
#ifndef BUG
		dbus_message_unref(reply);
#endif
		return;	/* GUILTY */
	}
	dbus_message_set_serial(reply, ++s->serial);
	queue_push(&s->out, reply);
}

static void service_run(struct service *s)
{
	DBusMessage *call;

	while ((call = queue_pop(&s->in)) != NULL) {
		service_handle(s, call);
		dbus_message_unref(call);
	}
}

static long service_flush(struct service *s)
{
	DBusMessage *reply;
	long bytes = 0;

	while ((reply = queue_pop(&s->out)) != NULL) {
		char *data;
		int len;

		if (dbus_message_marshal(reply, &data, &len)) {
			bytes += len;
			dbus_free(data);
		}
		dbus_message_unref(reply);
	}
	return bytes;
}

/* ---- what the applications call ---- */

static void client_call(struct service *s, const char *sender, const char *member, const char *name,
			int percent, int no_reply)
{
	static dbus_uint32_t serial;
	DBusMessage *m = need(dbus_message_new_method_call("org.example.Power", PATH, IFACE, member));
	dbus_uint32_t value = (dbus_uint32_t)percent;

	dbus_message_set_serial(m, ++serial);
	dbus_message_set_sender(m, sender);
	if (name != NULL)
		dbus_message_append_args(m, DBUS_TYPE_STRING, &name, DBUS_TYPE_INVALID);
	if (percent >= 0)
		dbus_message_append_args(m, DBUS_TYPE_UINT32, &value, DBUS_TYPE_INVALID);
	dbus_message_set_no_reply(m, no_reply);
	queue_push(&s->in, m);
}

static const struct { const char *sender, *member, *name; int percent, no_reply; } script[] = {
	{ ":1.4", "List", NULL, -1, 0 },
	{ ":1.4", "GetLevel", "BAT0", -1, 0 },
	{ ":1.9", "SetThreshold", "BAT0", 80, 1 },
	{ ":1.4", "GetLevel", "BAT1", -1, 0 },
	{ ":1.9", "SetThreshold", "BAT1", 5, 0 },
	{ ":1.9", "SetThreshold", "BAT1", 5, 1 },
	{ ":1.7", "Refresh", NULL, -1, 1 },
	{ ":1.7", "GetLevel", NULL, -1, 0 },
	{ ":1.4", "GetLevel", "BAT2", -1, 0 },
	{ ":1.9", "SetThreshold", "BAT1", 60, 1 },
	{ ":1.7", "Refresh", NULL, -1, 0 },
};

int main(void)
{
	struct service s = { .batteries = { { "BAT0", 71, 100, 1 }, { "BAT1", 34, 100, 1 }, { "BAT2", 0, 100, 0 } } };
	long bytes = 0;

	for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++) {
		client_call(&s, script[i].sender, script[i].member, script[i].name, script[i].percent, script[i].no_reply);
		if (i % 4 == 3) {
			service_run(&s);
			bytes += service_flush(&s);
		}
	}
	service_run(&s);
	bytes += service_flush(&s);
	printf("%d calls, %d errors, %d without a reply, %ld bytes\n", s.calls, s.errors, s.silent, bytes);
	for (int i = 0; i < 3; i++)
		printf("%s stops at %u\n", s.batteries[i].name, s.batteries[i].threshold);
	dbus_shutdown();
	return 0;
}
