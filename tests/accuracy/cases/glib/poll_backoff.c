/* summary: poller_disarm() destroys the source of the timeout and forgets it without dropping the reference from g_timeout_source_new()
 * kind: missing-put
 * counts: surplus
 * objects: 6
 * track: glib
 * packages: glib-2.0
 * build: gcc -Og -g
 * exit: 0
 */
/*
 * Devices on a bus that are polled. A device that does not answer is asked
 * less and less often, and given up in the end.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

typedef enum { ANSWER_OK, ANSWER_BUSY, ANSWER_NONE } Answer;

typedef struct _Poller Poller;

typedef struct {
	GMainContext *context;
	GMainLoop *loop;
	GPtrArray *pollers;	/* owned */
	guint active;
	guint polls, givenup;
} Bus;

struct _Poller {
	Bus *bus;		/* not owned */
	char *name;
	const char *script;	/* what the device answers: . ok, b busy, x nothing */
	guint pos;
	guint interval;		/* ms, now */
	guint misses;
	GSource *timeout;	/* owned, or NULL */
	GByteArray *samples;
};

#define BASE_MS 1
#define MAX_MS 8
#define MAX_MISSES 4

static gboolean poller_fire(gpointer data);

static void poller_arm(Poller *p)
{
	p->timeout = g_timeout_source_new(p->interval);	/* ACCEPTED */
	g_source_set_name(p->timeout, p->name);
	g_source_set_callback(p->timeout, poller_fire, p, NULL);
	g_source_attach(p->timeout, p->bus->context);
}

/* Stops a timeout that may be pending. */
static void poller_disarm(Poller *p)
{
	if (p->timeout == NULL)
		return;
	g_source_destroy(p->timeout);	/* ACCEPTED */
#ifndef BUG
	g_source_unref(p->timeout);
#endif
	p->timeout = NULL;	/* GUILTY */
}

/* The timeout fired and will not come again. */
static void poller_elapsed(Poller *p)
{
	g_clear_pointer(&p->timeout, g_source_unref);
}

static Poller *poller_new(Bus *bus, const char *name, const char *script)
{
	Poller *p = g_new0(Poller, 1);

	p->bus = bus;
	p->name = g_strdup(name);
	p->script = script;
	p->interval = BASE_MS;
	p->samples = g_byte_array_new();
	return p;
}

static void poller_stop(Poller *p)
{
	poller_disarm(p);
	if (--p->bus->active == 0)
		g_main_loop_quit(p->bus->loop);
}

static void poller_free(gpointer data)
{
	Poller *p = data;

	poller_disarm(p);
	g_byte_array_unref(p->samples);
	g_free(p->name);
	g_free(p);
}

static Answer poller_ask(Poller *p)
{
	char c = p->script[p->pos];

	p->bus->polls++;
	if (c != '\0')
		p->pos++;
	switch (c) {
	case '.': {
		guint8 value = (guint8)(p->pos * 7 + strlen(p->name));

		g_byte_array_append(p->samples, &value, 1);
		return ANSWER_OK;
	}
	case 'b':
		return ANSWER_BUSY;
	default:
		return ANSWER_NONE;
	}
}

static Poller *bus_find(Bus *bus, const char *name)
{
	for (guint i = 0; i < bus->pollers->len; i++) {
		Poller *p = g_ptr_array_index(bus->pollers, i);

		if (g_str_equal(p->name, name))
			return p;
	}
	return NULL;
}

static gboolean poller_fire(gpointer data)
{
	Poller *p = data;
	guint interval = p->interval;

	switch (poller_ask(p)) {
	case ANSWER_OK:
		interval = BASE_MS;
		p->misses = 0;
		if (p->script[p->pos] == '\0') {
			poller_stop(p);		/* all that we wanted to know */
			return G_SOURCE_REMOVE;
		}
		break;
	case ANSWER_BUSY:
		break;
	case ANSWER_NONE:
		if (++p->misses == MAX_MISSES) {
			p->bus->givenup++;
			poller_stop(p);
			return G_SOURCE_REMOVE;
		}
		interval = MIN(interval * 2, MAX_MS);
		break;
	}
	if (interval == p->interval)
		return G_SOURCE_CONTINUE;
	p->interval = interval;
	poller_elapsed(p);
	poller_arm(p);
	return G_SOURCE_REMOVE;
}

/* ---- bus ---- */

static Bus *bus_new(void)
{
	Bus *bus = g_new0(Bus, 1);

	bus->context = g_main_context_new();
	bus->loop = g_main_loop_new(bus->context, FALSE);
	bus->pollers = g_ptr_array_new_with_free_func(poller_free);
	return bus;
}

static void bus_add(Bus *bus, const char *name, const char *script)
{
	Poller *p = poller_new(bus, name, script);

	g_ptr_array_add(bus->pollers, p);
	bus->active++;
	poller_arm(p);
}

static void bus_remove(Bus *bus, const char *name)
{
	Poller *p = bus_find(bus, name);

	if (p != NULL)
		g_ptr_array_remove(bus->pollers, p);
}

static void bus_run(Bus *bus)
{
	if (bus->active > 0)
		g_main_loop_run(bus->loop);
}

static guint bus_sum(Bus *bus)
{
	guint sum = 0;

	for (guint i = 0; i < bus->pollers->len; i++) {
		Poller *p = g_ptr_array_index(bus->pollers, i);

		for (guint k = 0; k < p->samples->len; k++)
			sum += p->samples->data[k];
	}
	return sum;
}

static void bus_free(Bus *bus)
{
	g_ptr_array_unref(bus->pollers);
	g_main_loop_unref(bus->loop);
	g_main_context_unref(bus->context);
	g_free(bus);
}

int main(void)
{
	Bus *bus = bus_new();

	bus_add(bus, "boiler", "....b..");
	bus_add(bus, "tank", ".x.x.b.");
	bus_add(bus, "valve", "..xxxx");
	bus_add(bus, "fan", "bb...");
	bus_run(bus);
	printf("%u polls, %u given up, sum %u\n", bus->polls, bus->givenup, bus_sum(bus));

	bus_remove(bus, "valve");
	bus_add(bus, "valve2", ".x.");
	bus_add(bus, "pump", "xx..xx.");
	bus_run(bus);
	printf("%u polls, %u given up, sum %u\n", bus->polls, bus->givenup, bus_sum(bus));
	bus_free(bus);
	return 0;
}
