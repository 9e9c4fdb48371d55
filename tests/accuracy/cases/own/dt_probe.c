/* summary: panel_probe() starts a search at the node of the panel, and find_node_by_name() drops the node that it starts at
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -Og -g
 * exit: 0
 */
/*
 * Drivers of a board that find their devices in a tree of nodes.
 *
 * As everywhere with such trees: a search or an iterator drops the node that
 * it comes from and returns the one it finds with a reference. A node that is
 * attached is held by the tree.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kref {
	int count;
};

struct prop {
	char name[16];
	int value;
	struct prop *next;
};

struct node {
	char name[24];
	char compatible[24];
	struct node *parent, *child, *sibling;
	struct node *all_next;		/* in the order of the tree */
	struct prop *props;
	bool attached;
	struct kref kref;
};

static struct node *root;
static int bad_puts;
static struct node *node_alloc(const char *name, const char *compatible)
{
	struct node *np = calloc(1, sizeof(*np));
	if (!np)
		abort();
	snprintf(np->name, sizeof(np->name), "%s", name);
	snprintf(np->compatible, sizeof(np->compatible), "%s", compatible);
	np->kref.count = 1;
	return np;
}

static void node_release(struct node *np)
{
	struct prop *p;

	if (np->attached) {
		bad_puts++;		/* whoever did that; keep the tree whole */
		return;
	}
	while ((p = np->props) != NULL) {
		np->props = p->next;
		free(p);
	}
	free(np);
}

static struct node *node_get(struct node *np)
{
	if (np)
		np->kref.count++;
	return np;
}

static void node_put(struct node *np)
{
	if (np && --np->kref.count == 0)
		node_release(np);
}

static void node_attach(struct node *np, struct node *parent)
{
	static struct node *last;
	struct node **pp;

	np->parent = parent;
	np->attached = true;
	if (!parent) {
		root = last = np;
		return;
	}
	pp = &parent->child;
	while (*pp)
		pp = &(*pp)->sibling;
	*pp = np;
	last->all_next = np;
	last = np;
}

static void node_set(struct node *np, const char *name, int value)
{
	struct prop *p = calloc(1, sizeof(*p));

	snprintf(p->name, sizeof(p->name), "%s", name);
	p->value = value;
	p->next = np->props;
	np->props = p;
}

static int node_read(const struct node *np, const char *name, int *value)
{
	for (const struct prop *p = np->props; p; p = p->next) {
		if (strcmp(p->name, name) == 0) {
			*value = p->value;
			return 0;
		}
	}
	return -ENODATA;
}

static struct node *next_child(struct node *parent, struct node *prev)
{
	struct node *np = node_get(prev ? prev->sibling : parent->child);

	node_put(prev);
	return np;
}

#define for_each_child(parent, np) for (np = next_child(parent, NULL); np; np = next_child(parent, np))

static struct node *find_node_by_name(struct node *from, const char *name)
{
	struct node *np = from ? from->all_next : root;

	while (np && strcmp(np->name, name) != 0)
		np = np->all_next;
	np = node_get(np);
	node_put(from);
	return np;
}

static struct node *find_compatible(struct node *from, const char *compatible)
{
	struct node *np = from ? from->all_next : root;

	while (np && strcmp(np->compatible, compatible) != 0)
		np = np->all_next;
	np = node_get(np);
	node_put(from);
	return np;
}

struct panel {
	struct node *np;
	int width, height, clock;
	int nmodes;
};

struct leds {
	int n, on;
};

static int leds_probe(struct node *np, struct leds *leds)
{
	struct node *led;
	int reg;

	for_each_child(np, led) {
		if (node_read(led, "reg", &reg) < 0) {
			node_put(led);
			return -EINVAL;
		}
		leds->n++;
		if (node_read(led, "default-on", &reg) == 0)
			leds->on += reg;
	}
	return 0;
}

static int panel_add_modes(struct panel *p, struct node *timings)
{
	struct node *mode;
	int clock;

	for_each_child(timings, mode) {
		if (node_read(mode, "clock", &clock) < 0)
			continue;
		if (clock > p->clock) {
			p->clock = clock;
			node_read(mode, "hactive", &p->width);
			node_read(mode, "vactive", &p->height);
		}
		p->nmodes++;
	}
	return p->nmodes ? 0 : -ENODATA;
}

static int panel_probe(struct panel *p, struct node *np)
{
	struct node *timings;
	int native, ret;

	p->np = node_get(np);
	if (node_read(np, "native-mode", &native) == 0) {
		p->clock = native;
		return 0;
	}
	/* the timings come behind the panel, with it or on the board */
#ifdef BUG
	timings = find_node_by_name(np, "display-timings");	/* GUILTY */
#else
	timings = find_node_by_name(node_get(np), "display-timings");
#endif
	if (!timings)
		return -ENOENT;
	ret = panel_add_modes(p, timings);
	node_put(timings);
	return ret;
}

static void panel_remove(struct panel *p)
{
	node_put(p->np);
	p->np = NULL;
}

static struct node *add(struct node *parent, const char *name, const char *compatible)
{
	struct node *np = node_alloc(name, compatible);
	node_attach(np, parent);
	return np;
}

static void add_panel(struct node *bus, int reg, int nmodes, int native)
{
	struct node *np = add(bus, "panel", "acme,panel"), *timings, *mode;

	node_set(np, "reg", reg);
	if (native)
		node_set(np, "native-mode", native);
	if (!nmodes)
		return;
	timings = add(np, "display-timings", "");
	for (int i = 0; i < nmodes; i++) {
		mode = add(timings, "timing", "");
		node_set(mode, "clock", 25000 + 10000 * i);
		node_set(mode, "hactive", 640 + 160 * i);
		node_set(mode, "vactive", 480 + 120 * i);
	}
}

static void board_build(void)
{
	struct node *soc = add(add(NULL, "/", "acme,board"), "soc", "simple-bus"), *leds, *led;

	leds = add(soc, "leds", "gpio-leds");
	for (int i = 0; i < 4; i++) {
		led = add(leds, "led", "");
		if (i < 3)
			node_set(led, "reg", i);
		node_set(led, "default-on", i % 2);
	}
	add_panel(soc, 0, 2, 0);
	add_panel(soc, 1, 0, 33000);
	add_panel(soc, 2, 3, 0);
}

static void board_remove(void)
{
	struct node *np, *next;

	for (np = root; np; np = next) {
		next = np->all_next;
		np->attached = false;
		node_put(np);
	}
	root = NULL;
}

int main(void)
{
	struct panel panels[4] = { { 0 } };
	struct leds leds = { 0 };
	struct node *np;
	int n = 0, failed = 0;

	board_build();
	for (np = find_compatible(NULL, "gpio-leds"); np; np = find_compatible(np, "gpio-leds"))
		failed += leds_probe(np, &leds) < 0;
	for (np = find_compatible(NULL, "acme,panel"); np; np = find_compatible(np, "acme,panel"))
		failed += panel_probe(&panels[n++], np) < 0;
	printf("%d leds, %d on; %d failed\n", leds.n, leds.on, failed);
	for (int i = 0; i < n; i++) {
		printf("panel %d: %dx%d, %d modes\n", i, panels[i].width, panels[i].height, panels[i].nmodes);
		panel_remove(&panels[i]);
	}
	board_remove();
	return 0;
}
