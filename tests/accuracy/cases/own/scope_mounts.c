/* summary: detaching the active instrument puts the reference of `active` and leaves the pointer, which closing the mount puts again
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: own
 * build: gcc -O3 -g
 */
/* Night plan of a small observatory: instruments on the ports of two mounts, exposures, and the archive of the night. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS 4
#define FRAME 48

struct instrument {
	char model[24];
	char serial[16];
	double pixel_um;
	atomic_int links;
	unsigned shutter_count;
	double temperature;
	unsigned short dark[FRAME];
};

struct exposure {
	struct exposure *next;
	struct instrument *with;
	char target[16];
	double seconds;
	unsigned short frame[FRAME];
};

struct mount {
	const char *name;
	struct instrument *port[PORTS];
	struct instrument *active;
	double ra, dec;
};

struct night {
	struct mount east, west;
	struct exposure *first, **end;
	unsigned exposures;
};

struct instrument *instrument_link(struct instrument *ins)
{
	atomic_fetch_add(&ins->links, 1);
	return ins;
}

void instrument_unlink(struct instrument *ins)
{
	if (ins && atomic_fetch_sub(&ins->links, 1) == 1)
		free(ins);
}

struct instrument *instrument_open(const char *model, const char *serial, double pixel)
{
	struct instrument *ins = calloc(1, sizeof *ins);

	if (!ins)
		return NULL;
	atomic_init(&ins->links, 1);
	snprintf(ins->model, sizeof ins->model, "%s", model);
	snprintf(ins->serial, sizeof ins->serial, "%s", serial);
	ins->pixel_um = pixel;
	ins->temperature = -15.0;
	for (int i = 0; i < FRAME; i++)
		ins->dark[i] = (unsigned short)(90 + i % 7);
	return ins;
}

/* The port has a reference of its own. */
static int mount_attach(struct mount *m, int port, struct instrument *ins)
{
	if (port < 0 || port >= PORTS || !ins)
		return -EINVAL;
	if (m->port[port])
		return -EBUSY;
	m->port[port] = instrument_link(ins);
	return 0;
}

static int mount_select(struct mount *m, int port)
{
	struct instrument *before = m->active;

	if (port < 0 || port >= PORTS || !m->port[port])
		return -ENODEV;
	m->active = instrument_link(m->port[port]);
	instrument_unlink(before);
	printf("%s: beam to %s\n", m->name, m->active->model);
	return 0;
}

static int mount_detach(struct mount *m, int port)
{
	struct instrument *ins;

	if (port < 0 || port >= PORTS || !m->port[port])
		return -ENODEV;
	ins = m->port[port];
	m->port[port] = NULL;
	printf("%s: port %d empty, %s stored\n", m->name, port, ins->model);
	if (m->active == ins) {
		instrument_unlink(m->active); /* GUILTY */
#ifndef BUG
		m->active = NULL;
#endif
	}
	instrument_unlink(ins);
	return 0;
}

static int mount_move(struct mount *from, int port, struct mount *to, int to_port)
{
	struct instrument *ins;
	int err;

	if (port < 0 || port >= PORTS || !from->port[port])
		return -ENODEV;
	ins = instrument_link(from->port[port]);
	err = mount_detach(from, port);
	if (!err)
		err = mount_attach(to, to_port, ins);
	instrument_unlink(ins);
	return err;
}

static void mount_close(struct mount *m)
{
	for (int port = 0; port < PORTS; port++) {
		instrument_unlink(m->port[port]);
		m->port[port] = NULL;
	}
	instrument_unlink(m->active); /* ACCEPTED */
	m->active = NULL;
	printf("%s: parked\n", m->name);
}

static void mount_slew(struct mount *m, double ra, double dec)
{
	m->ra = ra;
	m->dec = dec;
}

static int night_expose(struct night *n, struct mount *m, const char *target, double seconds)
{
	struct instrument *ins = m->active;
	struct exposure *e;

	if (!ins)
		return -ENODEV;
	e = calloc(1, sizeof *e);
	if (!e)
		return -ENOMEM;
	e->with = instrument_link(ins);
	e->seconds = seconds;
	snprintf(e->target, sizeof e->target, "%s", target);
	for (int i = 0; i < FRAME; i++)
		e->frame[i] = (unsigned short)(ins->dark[i] + (int)(seconds * (i % 11)) + (int)m->dec);
	ins->shutter_count++;
	*n->end = e;
	n->end = &e->next;
	n->exposures++;
	return 0;
}

static unsigned calibrated_sum(const struct exposure *e)
{
	unsigned sum = 0;

	for (int i = 0; i < FRAME; i++)
		sum += (unsigned)(e->frame[i] - e->with->dark[i]);
	return sum;
}

static void night_archive(struct night *n)
{
	while (n->first) {
		struct exposure *e = n->first;

		n->first = e->next;
		printf("%-8s %5.0f s  %-12s %s at %.1f C, flux %u\n", e->target, e->seconds, e->with->model, e->with->serial,
		       e->with->temperature, calibrated_sum(e));
		instrument_unlink(e->with);
		free(e);
	}
	n->end = &n->first;
}

static int night_equip(struct night *n)
{
	static const struct { const char *model, *serial; double pixel; int west, port; } stock[] = {
		{ "widefield", "WF-2210", 3.76, 0, 0 }, { "guider", "GD-0417", 2.90, 0, 1 },
		{ "spectro", "SP-0009", 4.63, 0, 2 },   { "planetary", "PL-1183", 2.00, 1, 0 },
		{ "photometer", "PM-0052", 9.00, 1, 1 }, { "allsky", "AS-0301", 2.40, 1, 2 },
	};

	for (size_t i = 0; i < sizeof stock / sizeof *stock; i++) {
		struct instrument *ins = instrument_open(stock[i].model, stock[i].serial, stock[i].pixel);
		int err;

		if (!ins)
			return -ENOMEM;
		err = mount_attach(stock[i].west ? &n->west : &n->east, stock[i].port, ins);
		instrument_unlink(ins);
		if (err)
			return err;
	}
	return 0;
}

int main(void)
{
	struct night n = { .east = { .name = "east" }, .west = { .name = "west" } };

	n.end = &n.first;
	if (night_equip(&n))
		return 1;
	mount_slew(&n.east, 83.6, 22.0);
	mount_slew(&n.west, 201.3, -11.2);
	mount_select(&n.east, 0);
	night_expose(&n, &n.east, "M1", 120);
	night_expose(&n, &n.east, "M1", 300);
	mount_select(&n.west, 0);
	night_expose(&n, &n.west, "Spica", 2);
	mount_select(&n.west, 1);
	night_expose(&n, &n.west, "Spica", 30);
	if (mount_select(&n.west, 3) != -ENODEV)
		return 1;
	mount_detach(&n.west, 0);
	mount_move(&n.east, 1, &n.west, 3);
	mount_select(&n.east, 2);
	night_expose(&n, &n.east, "zet Tau", 600);
	night_expose(&n, &n.east, "119 Tau", 600);
	mount_detach(&n.east, 2);
	mount_close(&n.east);
	mount_close(&n.west);
	night_archive(&n);
	printf("%u exposures\n", n.exposures);
	return 0;
}
