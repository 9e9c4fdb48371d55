/* summary: the handler of ListJobs replaces its half-built reply by an error message without unreffing the reply
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: DBusMessage
 * packages: dbus-1
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "reply overwritten by the error reply"
 */
/*
 * The message part of a print spooler's D-Bus service. Instead of a bus,
 * requests come from a script and go through the wire format in both
 * directions, as a test of the handlers does.
 */
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "com.example.Spooler"
#define PATH "/com/example/Spooler"
#define MAX_JOBS 64

struct job {
	unsigned id;
	const char *queue;
	unsigned pages;
	dbus_bool_t damaged;	/* the file on disk cannot be read */
};

static struct job jobs[MAX_JOBS];
static unsigned n_jobs;

static DBusMessage *error_reply(DBusMessage *request, const char *name, const char *text)
{
	return dbus_message_new_error(request, name, text);
}

static DBusMessage *handle_submit(DBusMessage *request)
{
	DBusMessage *reply;
	const char *queue;
	dbus_uint32_t pages;
	struct job *j;

	if (!dbus_message_get_args(request, NULL, DBUS_TYPE_STRING, &queue,
				   DBUS_TYPE_UINT32, &pages, DBUS_TYPE_INVALID))
		return error_reply(request, DBUS_ERROR_INVALID_ARGS, "queue and pages expected");
	if (n_jobs == MAX_JOBS)
		return error_reply(request, DBUS_ERROR_LIMITS_EXCEEDED, "spool is full");
	j = &jobs[n_jobs++];
	j->id = 1000 + n_jobs;
	j->queue = strdup(queue);
	j->pages = pages;
	j->damaged = pages == 0;
	reply = dbus_message_new_method_return(request);
	dbus_message_append_args(reply, DBUS_TYPE_UINT32, &j->id, DBUS_TYPE_INVALID);
	return reply;
}

static dbus_bool_t append_job(DBusMessageIter *array, const struct job *j)
{
	DBusMessageIter entry;

	if (j->damaged)
		return FALSE;
	if (!dbus_message_iter_open_container(array, DBUS_TYPE_STRUCT, NULL, &entry))
		return FALSE;
	dbus_message_iter_append_basic(&entry, DBUS_TYPE_UINT32, &j->id);
	dbus_message_iter_append_basic(&entry, DBUS_TYPE_UINT32, &j->pages);
	return dbus_message_iter_close_container(array, &entry);
}

static DBusMessage *handle_list(DBusMessage *request)
{
	DBusMessage *reply;
	DBusMessageIter iter, array;
	const char *queue;

	if (!dbus_message_get_args(request, NULL, DBUS_TYPE_STRING, &queue, DBUS_TYPE_INVALID))
		return error_reply(request, DBUS_ERROR_INVALID_ARGS, "queue expected");
	reply = dbus_message_new_method_return(request);	/* ACCEPTED */
	dbus_message_iter_init_append(reply, &iter);
	dbus_message_iter_open_container(&iter, DBUS_TYPE_ARRAY, "(uu)", &array);
	for (unsigned i = 0; i < n_jobs; i++) {
		if (strcmp(jobs[i].queue, queue) != 0)
			continue;
		if (!append_job(&array, &jobs[i])) {
			dbus_message_iter_abandon_container(&iter, &array);
#ifndef BUG
			dbus_message_unref(reply);
#endif
			reply = error_reply(request, DBUS_ERROR_FILE_NOT_FOUND, queue);	/* GUILTY */
			return reply;
		}
	}
	dbus_message_iter_close_container(&iter, &array);
	return reply;
}

static DBusMessage *handle_count(DBusMessage *request)
{
	DBusMessage *reply = dbus_message_new_method_return(request);
	dbus_uint32_t n = n_jobs;

	if (!dbus_message_append_args(reply, DBUS_TYPE_UINT32, &n, DBUS_TYPE_INVALID)) {
		dbus_message_unref(reply);
		return error_reply(request, DBUS_ERROR_NO_MEMORY, "no memory");
	}
	return reply;
}

static const struct {
	const char *member;
	DBusMessage *(*handle)(DBusMessage *request);
} methods[] = {
	{ "Submit", handle_submit },
	{ "ListJobs", handle_list },
	{ "Count", handle_count },
};

static DBusMessage *dispatch(DBusMessage *request)
{
	for (unsigned i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (dbus_message_is_method_call(request, NAME, methods[i].member))
			return methods[i].handle(request);
	return error_reply(request, DBUS_ERROR_UNKNOWN_METHOD, dbus_message_get_member(request));
}

/* Over the wire: the copy has its own reference, the original stays. */
static DBusMessage *transmit(DBusMessage *msg)
{
	static dbus_uint32_t serial = 1;
	DBusMessage *copy;
	char *data;
	int len;

	if (dbus_message_get_serial(msg) == 0)
		dbus_message_set_serial(msg, serial++);
	if (!dbus_message_marshal(msg, &data, &len))
		return NULL;
	copy = dbus_message_demarshal(data, len, NULL);
	dbus_free(data);
	return copy;
}

/* What the last clients asked, for the log. */
#define LOG 6
static DBusMessage *recent[LOG];
static unsigned n_recent;

static void remember(DBusMessage *msg)
{
	DBusMessage **slot = &recent[n_recent++ % LOG];

	if (*slot)
		dbus_message_unref(*slot);
	*slot = dbus_message_ref(msg);
}

static DBusMessage *call(DBusMessage *request)
{
	DBusMessage *received = transmit(request);
	DBusMessage *reply, *answer;

	remember(received);
	reply = dispatch(received);
	dbus_message_unref(received);
	answer = transmit(reply);
	dbus_message_unref(reply);
	return answer;
}

static dbus_uint32_t submit(const char *queue, dbus_uint32_t pages)
{
	DBusMessage *m = dbus_message_new_method_call(NAME, PATH, NAME, "Submit");
	DBusMessage *answer;
	dbus_uint32_t id = 0;

	dbus_message_append_args(m, DBUS_TYPE_STRING, &queue, DBUS_TYPE_UINT32, &pages,
				 DBUS_TYPE_INVALID);
	answer = call(m);
	dbus_message_unref(m);
	if (dbus_message_get_type(answer) == DBUS_MESSAGE_TYPE_METHOD_RETURN)
		dbus_message_get_args(answer, NULL, DBUS_TYPE_UINT32, &id, DBUS_TYPE_INVALID);
	dbus_message_unref(answer);
	return id;
}

static void list(const char *queue)
{
	DBusMessage *m = dbus_message_new_method_call(NAME, PATH, NAME, "ListJobs");
	DBusMessage *answer;
	DBusMessageIter iter, array, entry;
	unsigned n = 0, pages = 0;
	DBusError error = DBUS_ERROR_INIT;

	dbus_message_append_args(m, DBUS_TYPE_STRING, &queue, DBUS_TYPE_INVALID);
	answer = call(m);
	dbus_message_unref(m);
	if (dbus_set_error_from_message(&error, answer)) {
		printf("%s: %s\n", queue, error.name);
		dbus_error_free(&error);
		dbus_message_unref(answer);
		return;
	}
	dbus_message_iter_init(answer, &iter);
	for (dbus_message_iter_recurse(&iter, &array);
	     dbus_message_iter_get_arg_type(&array) == DBUS_TYPE_STRUCT;
	     dbus_message_iter_next(&array)) {
		dbus_uint32_t p;

		dbus_message_iter_recurse(&array, &entry);
		dbus_message_iter_next(&entry);
		dbus_message_iter_get_basic(&entry, &p);
		pages += p;
		n++;
	}
	printf("%s: %u jobs, %u pages\n", queue, n, pages);
	dbus_message_unref(answer);
}

int main(void)
{
	static const char *const queues[] = { "laser", "plotter", "label", "photo", "office" };
	DBusMessage *m, *answer;
	unsigned accepted = 0;

	for (unsigned i = 0; i < 35; i++)
		accepted += submit(queues[i % 5], i % 5 == 3 && i > 20 ? 0 : 1 + i % 9) != 0;
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 5; i++)
			list(queues[i]);
	m = dbus_message_new_method_call(NAME, PATH, NAME, "Purge");
	answer = call(m);
	printf("%u accepted; Purge: %s\n", accepted, dbus_message_get_error_name(answer));
	dbus_message_unref(answer);
	dbus_message_unref(m);

	for (unsigned i = 0; i < LOG; i++)
		if (recent[i])
			dbus_message_unref(recent[i]);
	for (unsigned i = 0; i < n_jobs; i++)
		free((char *)jobs[i].queue);
	dbus_shutdown();
	return 0;
}
