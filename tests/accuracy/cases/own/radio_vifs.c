/*
 * summary: creating an interface with an address that is in use returns without the put of the looked-up phy
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: own
 * build: gcc -O2 -g
 */
/* Virtual interfaces of wireless adapters: the configuration part of a small access point. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kref.h ---- */
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

struct kref {
	atomic_uint refcount;
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

/* ---- list.h ---- */
struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD(name) struct list_head name = { &(name), &(name) }
#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head->prev = head;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

/* ---- phys ---- */
struct phy {
	char name[16];
	struct list_head node;
	struct list_head vifs;
	unsigned max_vifs, nvifs;
	uint32_t channels;
	struct kref ref;
};

enum vif_type { VIF_AP, VIF_STATION, VIF_MONITOR };

struct vif {
	char name[16];
	uint8_t addr[6];
	enum vif_type type;
	unsigned channel;
	struct phy *phy;
	struct list_head node;
	struct kref ref;
};

static LIST_HEAD(phys);

static void phy_release(struct kref *kref)
{
	struct phy *phy = container_of(kref, struct phy, ref);

	printf("%s released\n", phy->name);
	free(phy);
}

static __attribute__((noinline)) void phy_put(struct phy *phy)
{
	kref_put(&phy->ref, phy_release);
}

static __attribute__((noinline)) struct phy *phy_get(struct phy *phy)
{
	kref_get(&phy->ref);
	return phy;
}

static struct phy *phy_register(const char *name, unsigned max_vifs, uint32_t channels)
{
	struct phy *phy = calloc(1, sizeof(*phy));

	if (!phy)
		return NULL;
	snprintf(phy->name, sizeof(phy->name), "%s", name);
	phy->max_vifs = max_vifs;
	phy->channels = channels;
	INIT_LIST_HEAD(&phy->vifs);
	kref_init(&phy->ref);
	list_add_tail(&phy->node, &phys);
	return phy;
}

static void phy_unregister(struct phy *phy)
{
	list_del_init(&phy->node);
	phy_put(phy);
}

static struct phy *phy_lookup(const char *name)
{
	struct list_head *pos;

	list_for_each(pos, &phys) {
		struct phy *phy = container_of(pos, struct phy, node);

		if (strcmp(phy->name, name) == 0)
			return phy_get(phy);
	}
	return NULL;
}

static int phy_addr_in_use(const struct phy *phy, const uint8_t *addr)
{
	struct list_head *pos;

	list_for_each(pos, &phy->vifs)
		if (memcmp(container_of(pos, struct vif, node)->addr, addr, 6) == 0)
			return 1;
	return 0;
}

/* ---- interfaces ---- */
static void vif_release(struct kref *kref)
{
	struct vif *vif = container_of(kref, struct vif, ref);

	phy_put(vif->phy);
	free(vif);
}

static __attribute__((noinline)) void vif_put(struct vif *vif)
{
	kref_put(&vif->ref, vif_release);
}

static int vif_create(const char *phy_name, const char *name, enum vif_type type,
		      unsigned channel, uint8_t unit)
{
	uint8_t addr[6] = { 0x02, 0x11, 0x22, 0, 0, unit };
	struct phy *phy;
	struct vif *vif;
	int err;

	phy = phy_lookup(phy_name);
	if (!phy)
		return -ENODEV;

	if (phy->nvifs >= phy->max_vifs) {
		err = -ENOSPC;
		goto put_phy;
	}
	if (channel > 31 || !(phy->channels & (1u << channel))) {
		err = -EINVAL;
		goto put_phy;
	}
	if (type != VIF_MONITOR && phy_addr_in_use(phy, addr)) {
#ifdef BUG
		return -EADDRINUSE; /* GUILTY */
#else
		err = -EADDRINUSE;
		goto put_phy;
#endif
	}

	vif = calloc(1, sizeof(*vif));
	if (!vif) {
		err = -ENOMEM;
		goto put_phy;
	}
	snprintf(vif->name, sizeof(vif->name), "%s", name);
	memcpy(vif->addr, addr, sizeof(addr));
	vif->type = type;
	vif->channel = channel;
	vif->phy = phy;
	kref_init(&vif->ref);
	list_add_tail(&vif->node, &phy->vifs);
	phy->nvifs++;
	return 0;

put_phy:
	phy_put(phy);
	return err;
}

static void phy_remove_vifs(struct phy *phy)
{
	while (phy->vifs.next != &phy->vifs) {
		struct vif *vif = container_of(phy->vifs.next, struct vif, node);

		list_del_init(&vif->node);
		phy->nvifs--;
		vif_put(vif);
	}
}

static int vif_count(const char *phy_name)
{
	struct phy *phy = phy_lookup(phy_name);
	int count;

	if (!phy)
		return -ENODEV;
	count = phy->nvifs;
	phy_put(phy);
	return count;
}

struct request {
	const char *phy, *name;
	enum vif_type type;
	unsigned channel;
	uint8_t unit;
};

static const struct request boot_config[] = {
	{ "phy0", "home", VIF_AP, 6, 1 },	{ "phy0", "guest", VIF_AP, 6, 2 },
	{ "phy1", "office", VIF_AP, 20, 3 },	{ "phy1", "backhaul", VIF_STATION, 20, 3 },
	{ "phy2", "survey", VIF_MONITOR, 11, 1 }, { "phy2", "mesh", VIF_STATION, 13, 5 },
	{ "phy3", "lab", VIF_AP, 1, 7 },	{ "phy0", "camera", VIF_AP, 6, 1 },
	{ "phy3", "lab-mon", VIF_MONITOR, 1, 7 }, { "phy4", "yard", VIF_AP, 3, 8 },
	{ "phy9", "none", VIF_AP, 1, 9 },	{ "phy0", "kids", VIF_AP, 6, 4 },
	{ "phy0", "late", VIF_AP, 6, 5 },
};

int main(void)
{
	static const uint32_t channels[] = { 0x00003ffe, 0x00ff0000, 0x00000ffe, 0x00000012, 0x00003ffe };
	struct phy *all[5];
	char name[16];

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "phy%d", i);
		all[i] = phy_register(name, i == 0 ? 3 : 2, channels[i]);
		if (!all[i])
			return 1;
	}
	for (size_t i = 0; i < sizeof(boot_config) / sizeof(boot_config[0]); i++) {
		const struct request *r = &boot_config[i];
		int err = vif_create(r->phy, r->name, r->type, r->channel, r->unit);

		if (err)
			printf("%s on %s: %s\n", r->name, r->phy, strerror(-err));
	}
	for (int i = 0; i < 5; i++)
		printf("%s has %d\n", all[i]->name, vif_count(all[i]->name));
	for (int i = 0; i < 5; i++) {
		phy_remove_vifs(all[i]);
		phy_unregister(all[i]);
	}
	return 0;
}
