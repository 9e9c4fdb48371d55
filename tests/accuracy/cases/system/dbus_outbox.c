/* summary: outbox_flush() skips a message to a service that is away with continue and forgets the reference that it took out of the queue
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: dbus
 * packages: dbus-1
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "continue in front of the unref at the end of the loop"
 */
/*
 * The outbox of a settings daemon: what changed is told to services by messages,
 * which wait until there is time. No bus is needed here: services are functions.
 */
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

struct service {
	const char *name;
	int away;
	unsigned calls, bytes;
	DBusMessage *last;	/* what it was told at last */
};

static struct service services[] = {
	{ "org.example.Panel", 0, 0, 0, NULL },
	{ "org.example.Clock", 0, 0, 0, NULL },
	{ "org.example.Printer", 1, 0, 0, NULL },
	{ "org.example.Lock", 0, 0, 0, NULL },
};

static struct {
	DBusMessage *queue[MOST];
	unsigned first, count;
	unsigned dropped, unknown, sent;
} outbox;

static struct service *service_find(const char *name)
{
	for (size_t i = 0; i < sizeof services / sizeof *services; i++)
		if (name && !strcmp(services[i].name, name))
			return &services[i];
	return NULL;
}

/* Takes over the reference. */
static int outbox_push(DBusMessage *m)
{
	if (outbox.count == MOST) {
		outbox.dropped++;
		dbus_message_unref(m);
		return 0;
	}
	outbox.queue[(outbox.first + outbox.count++) % MOST] = m;
	return 1;
}

/* The reference is the caller's. */
static DBusMessage *outbox_pop(void)
{
	DBusMessage *m;

	if (!outbox.count)
		return NULL;
	m = outbox.queue[outbox.first];
	outbox.first = (outbox.first + 1) % MOST;
	outbox.count--;
	return m;
}

static DBusMessage *change_new(const char *dest, const char *key, dbus_uint32_t value)
{
	DBusMessage *m = dbus_message_new_method_call(dest, "/org/example/Settings",
						      "org.example.Settings", "Changed");

	if (!m)
		abort();
	if (!dbus_message_append_args(m, DBUS_TYPE_STRING, &key, DBUS_TYPE_UINT32, &value,
				      DBUS_TYPE_INVALID))
		abort();
	dbus_message_set_no_reply(m, TRUE);
	return m;
}

static int service_call(struct service *s, DBusMessage *m)
{
	const char *key;
	dbus_uint32_t value;

	if (!dbus_message_get_args(m, NULL, DBUS_TYPE_STRING, &key, DBUS_TYPE_UINT32, &value,
				   DBUS_TYPE_INVALID))
		return 0;
	s->calls++;
	s->bytes += strlen(key) + value;
	if (s->last)
		dbus_message_unref(s->last);
	s->last = dbus_message_ref(m);
	return 1;
}

static void outbox_flush(unsigned most)
{
	DBusMessage *m;

	while (most-- && (m = outbox_pop())) {	/* ACCEPTED */
		struct service *s = service_find(dbus_message_get_destination(m));

		if (!s) {
			outbox.unknown++;
			dbus_message_unref(m);
			continue;
		}
		if (s->away) {
			outbox.dropped++;
#ifndef BUG
			dbus_message_unref(m);
#endif
			continue;	/* GUILTY */
		}
		outbox.sent += service_call(s, m);
		dbus_message_unref(m);
	}
}

/* Everybody is told, by copies with other destinations. */
static void tell_all(const char *key, dbus_uint32_t value)
{
	DBusMessage *first = change_new(services[0].name, key, value);

	for (size_t i = 1; i < sizeof services / sizeof *services; i++) {
		DBusMessage *copy;

		if (services[i].away)
			continue;
		copy = dbus_message_copy(first);
		if (!copy || !dbus_message_set_destination(copy, services[i].name))
			abort();
		outbox_push(copy);
	}
	outbox_push(first);
}

static void ask_last(void)
{
	for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
		struct service *s = &services[i];
		const char *key = "-";

		if (s->last)
			dbus_message_get_args(s->last, NULL, DBUS_TYPE_STRING, &key,
					      DBUS_TYPE_INVALID);
		printf("%s: %u calls, %u bytes, last %s\n", s->name, s->calls, s->bytes, key);
	}
}

static void services_stop(void)
{
	for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
		if (services[i].last)
			dbus_message_unref(services[i].last);
		services[i].last = NULL;
	}
}

int main(void)
{
	char key[24];

	for (unsigned i = 0; i < 25; i++) {
		snprintf(key, sizeof key, "display/%u", i);
		if (i % 10 == 4)
			outbox_push(change_new("org.example.Printer", key, i));
		else if (i % 10 == 7)
			outbox_push(change_new("org.example.Nobody", key, i));
		else
			outbox_push(change_new(services[i % 2 ? 1 : 3].name, key, i));
		if (i % 6 == 5)
			outbox_flush(4);
	}
	outbox_flush(MOST);
	for (unsigned i = 0; i < 8; i++)
		tell_all(i % 2 ? "night" : "day", i);
	outbox_flush(MOST);
	ask_last();
	printf("%u sent, %u dropped, %u to nobody, %u wait\n", outbox.sent, outbox.dropped,
	       outbox.unknown, outbox.count);
	services_stop();
	dbus_shutdown();
	return 0;
}
