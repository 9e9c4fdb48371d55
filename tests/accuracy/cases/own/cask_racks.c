/* summary: binding a cask to a full rack puts the cask, and the caller puts it on that error as well
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: clang -O2 -g
 */
/* Warehouse of a distillery: casks are registered for life, racks hold casks, and transfer orders move them between the racks. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RACK_PLACES 3
#define NR_RACKS 4
#define REGISTER_SIZE 16

struct kref {
	atomic_int refcount;
};

static inline void kref_init(struct kref *kref)
{
	atomic_init(&kref->refcount, 1);
}

static inline void kref_get(struct kref *kref)
{
	atomic_fetch_add_explicit(&kref->refcount, 1, memory_order_relaxed);
}

static inline int kref_put(struct kref *kref, void (*release)(struct kref *kref))
{
	if (atomic_fetch_sub_explicit(&kref->refcount, 1, memory_order_acq_rel) == 1) {
		release(kref);
		return 1;
	}
	return 0;
}

struct cask {
	char brand[24];
	int year;
	int litres;
	int strength;			/* per mille */
	bool bonded;			/* duty is not paid */
	struct kref kref;
	unsigned moves;
};

struct rack {
	const char *name;
	bool bonded;
	struct cask *places[RACK_PLACES];
	int load;			/* litres */
};

struct warehouse {
	struct cask *casks[REGISTER_SIZE];
	unsigned nr_casks;
	struct rack racks[NR_RACKS];
};

struct order {
	const char *brand;
	const char *to;
};

static void cask_release(struct kref *kref)
{
	struct cask *cask = (struct cask *)((char *)kref - offsetof(struct cask, kref));

	free(cask);
}

static inline struct cask *cask_get(struct cask *cask)
{
	kref_get(&cask->kref);
	return cask;
}

static inline void cask_put(struct cask *cask)
{
	kref_put(&cask->kref, cask_release);
}

static struct cask *cask_fill(const char *brand, int year, int litres, int strength, bool bonded)
{
	struct cask *cask;

	if (litres <= 0 || litres > 650)
		return NULL;
	cask = calloc(1, sizeof(*cask));
	if (!cask)
		abort();
	snprintf(cask->brand, sizeof(cask->brand), "%s", brand);
	cask->year = year;
	cask->litres = litres;
	cask->strength = strength;
	cask->bonded = bonded;
	kref_init(&cask->kref);
	return cask;
}

static struct rack *warehouse_rack(struct warehouse *house, const char *name)
{
	for (unsigned i = 0; i < NR_RACKS; i++) {
		if (!strcmp(house->racks[i].name, name))
			return &house->racks[i];
	}
	return NULL;
}

/* Returns a reference. */
static struct cask *warehouse_cask(struct warehouse *house, const char *brand)
{
	for (unsigned i = 0; i < house->nr_casks; i++) {
		if (!strcmp(house->casks[i]->brand, brand))
			return cask_get(house->casks[i]);
	}
	return NULL;
}

static struct cask **rack_place_of(struct warehouse *house, const struct cask *cask, struct rack **where)
{
	for (unsigned i = 0; i < NR_RACKS; i++) {
		for (unsigned j = 0; j < RACK_PLACES; j++) {
			if (house->racks[i].places[j] == cask) {
				*where = &house->racks[i];
				return &house->racks[i].places[j];
			}
		}
	}
	return NULL;
}

/* On success the caller's reference is the rack's. */
static int rack_bind(struct rack *rack, struct cask *cask)
{
	int err = 0;

	if (cask->bonded != rack->bonded)
		return -EPERM;
	if (rack->load + cask->litres > 900) {
		err = -EFBIG;
		goto out;
	}
	for (unsigned i = 0; i < RACK_PLACES; i++) {
		if (!rack->places[i]) {
			rack->places[i] = cask;
			rack->load += cask->litres;
			return 0;
		}
	}
	err = -ENOSPC;
out:
#ifdef BUG
	cask_put(cask); /* GUILTY */
#endif
	return err;
}

static void rack_unbind(struct rack *rack, struct cask **place)
{
	struct cask *cask = *place;

	*place = NULL;
	rack->load -= cask->litres;
	cask_put(cask);
}

static int warehouse_transfer(struct warehouse *house, const struct order *order)
{
	struct rack *target = warehouse_rack(house, order->to), *source = NULL;
	struct cask *cask, **place;
	int err;

	if (!target)
		return -ENOENT;
	cask = warehouse_cask(house, order->brand);
	if (!cask)
		return -ENOENT;
	place = rack_place_of(house, cask, &source);
	if (source == target) {
		err = -EALREADY;
		goto put;
	}
	err = rack_bind(target, cask);
	if (err)
		goto put; /* ACCEPTED */
	if (place)
		rack_unbind(source, place);
	cask->moves++;
	return 0;
put:
	cask_put(cask); /* ACCEPTED */
	return err;
}

static int warehouse_register(struct warehouse *house, const char *brand, int year, int litres, int strength, bool bonded)
{
	struct cask *cask;

	if (house->nr_casks == REGISTER_SIZE)
		return -ENOSPC;
	cask = cask_fill(brand, year, litres, strength, bonded);
	if (!cask)
		return -EINVAL;
	house->casks[house->nr_casks++] = cask;
	return 0;
}

static void warehouse_print(const struct warehouse *house)
{
	for (unsigned i = 0; i < NR_RACKS; i++) {
		const struct rack *rack = &house->racks[i];

		printf("%-6s %4d l:", rack->name, rack->load);
		for (unsigned j = 0; j < RACK_PLACES; j++) {
			if (rack->places[j])
				printf(" %s/%d", rack->places[j]->brand, rack->places[j]->year);
		}
		printf("\n");
	}
}

static void warehouse_close(struct warehouse *house)
{
	for (unsigned i = 0; i < NR_RACKS; i++) {
		for (unsigned j = 0; j < RACK_PLACES; j++) {
			if (house->racks[i].places[j])
				rack_unbind(&house->racks[i], &house->racks[i].places[j]);
		}
	}
	for (unsigned i = 0; i < house->nr_casks; i++)
		cask_put(house->casks[i]);
	house->nr_casks = 0;
}

int main(void)
{
	static struct warehouse house = {
		.racks = { { "dunn-1", true, { NULL }, 0 }, { "dunn-2", true, { NULL }, 0 }, { "duty", false, { NULL }, 0 },
			   { "show", false, { NULL }, 0 } },
	};
	static const struct order orders[] = {
		{ "Ardmhor", "dunn-1" }, { "Benrath", "dunn-1" }, { "Corrie", "dunn-1" }, { "Dalwhin", "dunn-2" },
		{ "Glenay", "duty" },    { "Inver", "show" },     { "Eilean", "dunn-2" }, { "Dalwhin", "dunn-1" },
		{ "Benrath", "duty" },   { "Eilean", "dunn-1" },  { "Corrie", "dunn-2" }, { "Inver", "duty" },
		{ "Glenay", "duty" },    { "Nobody", "duty" },    { "Ardmhor", "attic" },
	};
	unsigned done = 0, refused = 0, missing = 0;
	int rejected = 0;

	rejected += warehouse_register(&house, "Ardmhor", 1998, 250, 581, true) != 0;
	rejected += warehouse_register(&house, "Benrath", 2004, 200, 602, true) != 0;
	rejected += warehouse_register(&house, "Corrie", 2011, 190, 617, true) != 0;
	rejected += warehouse_register(&house, "Dalwhin", 2011, 500, 611, true) != 0;
	rejected += warehouse_register(&house, "Eilean", 2015, 125, 634, true) != 0;
	rejected += warehouse_register(&house, "Glenay", 2002, 480, 566, false) != 0;
	rejected += warehouse_register(&house, "Inver", 1995, 210, 548, false) != 0;
	rejected += warehouse_register(&house, "Monster", 2020, 900, 640, true) != 0;

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		int err = warehouse_transfer(&house, &orders[i]);

		if (!err) {
			done++;
			continue;
		}
		printf("%s to %s: %s\n", orders[i].brand, orders[i].to, strerror(-err));
		if (err == -ENOENT)
			missing++;
		else
			refused++;
	}
	warehouse_print(&house);
	printf("%u done, %u refused, %u missing, %d rejected\n", done, refused, missing, rejected);
	warehouse_close(&house);
	return 0;
}
