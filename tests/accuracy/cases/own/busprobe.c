/* summary: a probe that was deferred for want of a supply is tried again and looks its clock up once more, over the one that the device holds since the first try
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: own
 * build: gcc -O3 -g
 * exit: 0
 * source: bug class "resource taken again by a deferred probe"
 */
/*
 * busprobe - brings up the devices of a board from its description.
 *
 * Clock controllers and power chips are devices like all others: what needs
 * their outputs is deferred until they have been probed.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define EPROBE_DEFER	517
#define ENODEV		19
#define EINVAL		22

struct kref {
	unsigned refcount;
};

static inline void kref_init(struct kref *k)
{
	k->refcount = 1;
}

static inline void kref_get(struct kref *k)
{
	k->refcount++;
}

static inline int kref_put(struct kref *k, void (*release)(struct kref *))
{
	if (--k->refcount)
		return 0;
	release(k);
	return 1;
}

/* ---- outputs of clock controllers and power chips ---------------------- */

struct output {
	char name[16];
	struct kref kref;
	unsigned long value;		/* Hz or microvolt */
	int users;
	struct output *next;
};

static struct output *outputs;		/* the list owns a reference to each */

static void output_release(struct kref *k)
{
	free(container_of(k, struct output, kref));
}

static void output_register(const char *chip, const char *pin, int i, unsigned long value)
{
	struct output *o = calloc(1, sizeof(*o));

	if (!o)
		abort();
	kref_init(&o->kref);
	snprintf(o->name, sizeof(o->name), "%s.%s%d", chip, pin, i);
	o->value = value;
	o->next = outputs;
	outputs = o;
}

static struct output *output_lookup(const char *name)
{
	for (struct output *o = outputs; o; o = o->next) {
		if (strcmp(o->name, name))
			continue;
		kref_get(&o->kref);
		return o;
	}
	return NULL;
}

static void output_put(struct output *o)
{
	if (o)
		kref_put(&o->kref, output_release);
}

/* ---- devices ----------------------------------------------------------- */

struct device;

struct driver {
	const char *compatible;
	int (*probe)(struct device *);
	void (*remove)(struct device *);
};

struct node {			/* a line of the board's description */
	const char *name, *compatible, *clk, *vdd;
	int arg;
};

struct device {
	const struct node *of;
	const struct driver *drv;	/* while it is bound */
	struct device *next;
	struct kref kref;
	struct output *clk, *vdd;
	int tries, dead;
};

static struct device *devices, **devices_end = &devices;
static unsigned n_probes, n_deferred;

static void device_drop_resources(struct device *d)
{
	output_put(d->vdd);
	d->vdd = NULL;
	output_put(d->clk);
	d->clk = NULL;
}

static void device_release(struct kref *k)
{
	struct device *d = container_of(k, struct device, kref);

	device_drop_resources(d);
	free(d);
}

static void device_add(const struct node *of)
{
	struct device *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	kref_init(&d->kref);
	d->of = of;
	*devices_end = d;
	devices_end = &d->next;
}

static int device_acquire(struct device *d)
{
	if (d->of->clk) {
#ifdef BUG
		d->clk = output_lookup(d->of->clk);	/* GUILTY */
#else
		if (!d->clk)
			d->clk = output_lookup(d->of->clk);
#endif
		if (!d->clk)
			return -EPROBE_DEFER;
	}
	if (d->of->vdd) {
		if (!d->vdd)
			d->vdd = output_lookup(d->of->vdd);
		if (!d->vdd)
			return -EPROBE_DEFER;		/* ACCEPTED */
	}
	return 0;
}

static int clkctl_probe(struct device *d)
{
	for (int i = 0; i < d->of->arg; i++)
		output_register(d->of->name, "clk", i, 12000000ul << i);
	return 0;
}

static int pmic_probe(struct device *d)
{
	for (int i = 0; i < d->of->arg; i++)
		output_register(d->of->name, "ldo", i, 900000 + 300000 * i);
	return 0;
}

/* uarts and the like */
static int serial_probe(struct device *d)
{
	if (d->of->arg <= 0)
		return -EINVAL;
	if (d->clk->value / 16 < (unsigned long)d->of->arg)
		return -ENODEV;
	d->clk->users++;
	return 0;
}

static void serial_remove(struct device *d)
{
	d->clk->users--;
}

static int sensor_probe(struct device *d)
{
	if (d->vdd->value < (unsigned long)d->of->arg)
		return -ENODEV;
	d->vdd->users++;
	return 0;
}

static void sensor_remove(struct device *d)
{
	d->vdd->users--;
}

static const struct driver drivers[] = {
	{ "clkctl", clkctl_probe, NULL },
	{ "pmic", pmic_probe, NULL },
	{ "serial", serial_probe, serial_remove },
	{ "sensor", sensor_probe, sensor_remove },
};

/* 1: bound or given up, 0: try again later */
static int device_probe(struct device *d)
{
	const struct driver *drv = NULL;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (!strcmp(drivers[i].compatible, d->of->compatible))
			drv = &drivers[i];
	n_probes++;
	d->tries++;
	err = drv ? device_acquire(d) : -ENODEV;
	if (!err)
		err = drv->probe(d);
	if (err == -EPROBE_DEFER) {
		n_deferred++;
		return 0;
	}
	if (err) {
		device_drop_resources(d);
		d->dead = 1;
		return 1;
	}
	d->drv = drv;
	return 1;
}

static int probe_all(void)
{
	int progress = 0;

	for (struct device *d = devices; d; d = d->next) {
		if (d->drv || d->dead)
			continue;
		kref_get(&d->kref);		/* a driver may unplug it */
		progress += device_probe(d);
		kref_put(&d->kref, device_release);
	}
	return progress;
}

static const struct node board[] = {
	{ "uart0", "serial", "cc0.clk0", NULL, 115200 },
	{ "uart1", "serial", "cc0.clk1", "pm0.ldo1", 115200 },
	{ "cc0", "clkctl", NULL, NULL, 5 },
	{ "uart2", "serial", "cc0.clk1", "pm0.ldo2", 9600 },
	{ "bt", "serial", "cc0.clk4", "pm0.ldo1", 3000000 },
	{ "gps", "serial", "cc0.clk2", NULL, 9600 },
	{ "lidar", "serial", "cc0.clk0", "pm1.ldo0", 921600 },
	{ "baro", "sensor", NULL, "pm0.ldo2", 1200000 },
	{ "hall", "sensor", NULL, "pm1.ldo1", 1100000 },
	{ "cam", "sensor", "cc1.clk1", "pm1.ldo2", 1500000 },
	{ "toy", "gadget", "cc0.clk3", NULL, 0 },
	{ "cc1", "clkctl", "cc0.clk3", NULL, 3 },
	{ "pm0", "pmic", NULL, NULL, 4 },
	{ "imu", "sensor", "cc1.clk0", "pm0.ldo3", 1800000 },
	{ "fan", "serial", "cc0.clk3", "pm0.ldo0", 0 },
	{ "tof", "sensor", "cc1.clk2", "pm0.ldo1", 2800000 },
	{ "lost", "sensor", "cc0.clk2", "pm0.ldo9", 900000 },
	{ "pm1", "pmic", "cc0.clk0", NULL, 3 },
	{ "late", "sensor", "cc1.clk1", "pm1.ldo2", 900000 },
};

int main(void)
{
	unsigned bound = 0, dead = 0, left = 0, rounds = 0;

	for (size_t i = 0; i < ARRAY_SIZE(board); i++)
		device_add(&board[i]);
	while (probe_all())
		rounds++;
	for (struct device *d = devices; d; d = d->next) {
		bound += d->drv != NULL;
		dead += d->dead;
		left += !d->drv && !d->dead;
	}
	printf("%u bound, %u given up, %u wait, %u rounds, %u probes, %u deferred\n",
	       bound, dead, left, rounds, n_probes, n_deferred);

	for (struct device *d; (d = devices); kref_put(&d->kref, device_release)) {
		devices = d->next;
		if (d->drv && d->drv->remove)
			d->drv->remove(d);
	}
	for (struct output *o; (o = outputs); output_put(o))
		outputs = o->next;
	return 0;
}
