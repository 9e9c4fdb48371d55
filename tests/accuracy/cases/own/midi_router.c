/* summary: cable_open() drops its source when the sink refuses, and patch_load() drops the same reference once more
 * kind: extra-put
 * counts: deficit
 * objects: 4
 * track: own
 * build: clang-14 -O2 -g
 * exit: 0
 */
/*
 * midi_router - patches connect the ports of instruments by cables with
 * filters. Ports come and go with their devices, cables keep the ports that
 * they are plugged into.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORTS 24
#define MAX_CABLES 40

enum { DIR_IN = 1, DIR_OUT = 2 };

struct port {
	char name[20];
	unsigned dir;
	int users;
	unsigned fan_in;	/* how many cables may end here */
	unsigned plugged;
	unsigned long events;
};

struct cable {
	struct port *source;	/* the cable's own references */
	struct port *sink;
	unsigned channels;	/* a bit each */
	int transpose;
	struct cable *next;
};

struct router {
	struct port *ports[MAX_PORTS];
	unsigned nports;
	struct cable *cables;
	unsigned ncables, refused, dropped;
};

static unsigned ports_freed;

static inline struct port *port_new(const char *name, unsigned dir, unsigned fan_in)
{
	struct port *p = calloc(1, sizeof *p);

	if (!p)
		abort();
	snprintf(p->name, sizeof p->name, "%s", name);
	p->dir = dir;
	p->fan_in = fan_in;
	p->users = 1;
	return p;
}

static inline struct port *port_get(struct port *p)
{
	p->users++;
	return p;
}

static inline void port_put(struct port *p)
{
	if (--p->users == 0) {
		ports_freed++;
		free(p);
	}
}

static void router_add(struct router *r, const char *name, unsigned dir, unsigned fan_in)
{
	if (r->nports < MAX_PORTS)
		r->ports[r->nports++] = port_new(name, dir, fan_in);
}

/* A reference for the caller. */
static struct port *router_find(struct router *r, const char *name, unsigned dir)
{
	for (unsigned i = 0; i < r->nports; i++)
		if ((r->ports[i]->dir & dir) && strcmp(r->ports[i]->name, name) == 0)
			return port_get(r->ports[i]);
	return NULL;
}

/* ---------------------------------------------------------------- cables */

static void cable_free(struct cable *c)
{
	if (c->sink) {
		c->sink->plugged--;
		port_put(c->sink);
	}
	port_put(c->source);
	free(c);
}

static bool port_plug(struct port *p)
{
	if (p->plugged >= p->fan_in)
		return false;
	p->plugged++;
	return true;
}

/* Takes its own reference to the sink when it could be plugged in; the
 * reference to the source is the caller's and becomes the cable's, also if
 * there is no cable in the end. */
static struct cable *cable_open(struct port *source, struct port *sink, unsigned channels)
{
	struct cable *c = calloc(1, sizeof *c);

	if (!c)
		abort();
	c->source = source;
	c->channels = channels;
	if (!port_plug(sink)) {
		cable_free(c);
		return NULL;
	}
	c->sink = port_get(sink);
	return c;
}

/* ---------------------------------------------------------------- patches */

struct patch_line {
	const char *source, *sink;
	unsigned channels;
	int transpose;
};

static int patch_load(struct router *r, const struct patch_line *lines, unsigned n)
{
	int made = 0;

	for (unsigned i = 0; i < n; i++) {
		struct port *source = NULL, *sink = NULL;
		struct cable *c;

		source = router_find(r, lines[i].source, DIR_OUT);
		if (!source)
			goto refuse;
		sink = router_find(r, lines[i].sink, DIR_IN);
		if (!sink)
			goto refuse;
		if (r->ncables == MAX_CABLES)
			goto refuse;
		c = cable_open(source, sink, lines[i].channels);
#ifdef BUG
		if (!c)				/* ACCEPTED */
			goto refuse;		/* ACCEPTED */
		source = NULL;			/* ACCEPTED */
#else
		source = NULL;
		if (!c)
			goto refuse;
#endif
		c->transpose = lines[i].transpose;
		c->next = r->cables;
		r->cables = c;
		r->ncables++;
		port_put(sink);
		made++;
		continue;

refuse:
		if (source)
			port_put(source);	/* GUILTY */
		if (sink)
			port_put(sink);
		r->refused++;
	}
	return made;
}

/* All cables of a channel, for instance when its player leaves. */
static unsigned patch_unplug(struct router *r, unsigned channel)
{
	unsigned n = 0;

	for (struct cable **at = &r->cables; *at;) {
		struct cable *c = *at;

		c->channels &= ~(1u << channel);
		if (c->channels) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		r->ncables--;
		cable_free(c);
		n++;
	}
	return n;
}

static void router_play(struct router *r, unsigned channel, int note)
{
	bool heard = false;

	for (struct cable *c = r->cables; c; c = c->next) {
		if (!(c->channels & 1u << channel))
			continue;
		if (note + c->transpose < 0 || note + c->transpose > 127)
			continue;
		c->source->events++;
		c->sink->events += 1 + (unsigned long)(note + c->transpose) % 3;
		heard = true;
	}
	if (!heard)
		r->dropped++;
}

static void router_clear(struct router *r)
{
	while (r->cables) {
		struct cable *c = r->cables;

		r->cables = c->next;
		cable_free(c);
	}
	for (unsigned i = 0; i < r->nports; i++)
		port_put(r->ports[i]);
}

int main(void)
{
	static const struct patch_line stage[] = {
		{ "keys-1", "piano", 0x0003, 0 },   { "keys-1", "strings", 0x0004, 12 },
		{ "keys-2", "organ", 0x0018, 0 },   { "pads", "drums", 0x0400, 0 },
		{ "pads", "lights", 0x0200, 0 },    { "harp", "strings", 0x0010, 0 },
		{ "keys-2", "piano", 0x0020, -12 }, { "pedals", "organ", 0x0040, -24 },
		{ "pedals", "bass", 0x0040, 0 },    { "wind", "brass", 0x0080, 0 },
	};
	static const struct patch_line encore[] = {
		{ "wind", "lights", 0x0100, 0 },   { "keys-1", "lights", 0x0001, 0 },
		{ "keys-2", "choir", 0x0400, 0 },  { "seq", "strings", 0x0800, 0 },
		{ "seq", "brass", 0x0800, 7 },     { "keys-2", "bass", 0x0008, 0 },
		{ "pads", "organ", 0x0002, 0 },    { "wind", "bass", 0x0080, -12 },
		{ "pedals", "piano", 0x0040, 12 },
	};
	struct router r = { 0 };
	unsigned unplugged;
	int made;

	static const char *const outs[] = { "keys-1", "keys-2", "pads", "pedals", "wind", "seq" };
	static const char *const ins[] = { "piano", "strings", "organ", "drums", "lights", "bass", "brass" };

	for (unsigned i = 0; i < sizeof outs / sizeof *outs; i++)
		router_add(&r, outs[i], DIR_OUT, 0);
	for (unsigned i = 0; i < sizeof ins / sizeof *ins; i++)
		router_add(&r, ins[i], DIR_IN, 1 + i % 3);
	made = patch_load(&r, stage, sizeof stage / sizeof *stage);
	for (unsigned t = 0; t < 300; t++)
		router_play(&r, t * 7 % 12, 20 + (int)(t * 11 % 100));
	unplugged = patch_unplug(&r, 10);
	made += patch_load(&r, encore, sizeof encore / sizeof *encore);
	for (unsigned t = 0; t < 200; t++)
		router_play(&r, t * 5 % 12, 30 + (int)(t * 13 % 90));
	printf("%d cables, %u unplugged, %u refused, %u unheard\n", made, unplugged, r.refused, r.dropped);
	for (unsigned i = 0; i < r.nports; i++)
		printf(" %s %lu", r.ports[i]->name, r.ports[i]->events);
	putchar('\n');
#ifdef TRUTH
	for (unsigned i = 0; i < r.nports; i++) {
		int due = 1;

		for (struct cable *c = r.cables; c; c = c->next)
			due += (c->source == r.ports[i]) + (c->sink == r.ports[i]);
		printf("%s: %d, due %d%s\n", r.ports[i]->name, r.ports[i]->users, due, due == r.ports[i]->users ? "" : " WRONG");
	}
#endif
	router_clear(&r);
	return ports_freed != r.nports;
}
