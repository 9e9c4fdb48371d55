/* summary: the stable's horses as kernel modules and devices: lookups that return one more reference to a known module, modules that hold their context, parents that are borrowed
 * track: kmod_ctx kmod_module udev udev_device udev_enumerate
 * build: gcc -O2 stable_modules.c -o OUT $(pkg-config --cflags --libs libkmod libudev)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <libkmod.h>
#include <libudev.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int bad;

static void expect(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "stable: %s\n", what);
		bad++;
	}
}

static char folder[] = "/tmp/stable.XXXXXX";
static char config[sizeof folder + 16];

static int write_config(void)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(config, sizeof config, "%s/horses.conf", folder);
	FILE *file = fopen(config, "w");
	if (!file)
		return -1;
	fputs("alias pony shetland\nalias gelding* hunter\nalias gelding* cob\nblacklist cob\noptions hunter gait=trot\n", file);
	return fclose(file);
}

/* The context has a table of the modules that live, without a reference of its own: the same name is the same module. */
static void same_names(struct kmod_ctx *context)
{
	struct kmod_module *horses[6];
	for (int i = 0; i < 6; i++)
		if (kmod_module_new_from_name(context, i % 2 ? "shire" : "cob", &horses[i]) < 0)
			abort();
	expect(horses[0] == horses[2] && horses[1] == horses[5], "the same modules");
	/* Each has been given out three times; gone in another order than they came. */
	for (int i = 5; i >= 0; i--)
		kmod_module_unref(horses[(i * 5 + 2) % 6]);
	struct kmod_module *again;
	kmod_module_new_from_name(context, "cob", &again);   /* another one: the first was freed */
	struct kmod_module *kept = kmod_module_ref(again);
	kmod_module_unref(again);
	expect(strcmp(kmod_module_get_name(kept), "cob") == 0, "kept");
	expect(kmod_module_unref(kept) == NULL, "unref returns none");
}

/* Lists: each node owns a reference; get_module takes one more. */
static struct kmod_module *look_up(struct kmod_ctx *context, const char *alias)
{
	struct kmod_list *list = NULL, *node, *filtered = NULL;
	struct kmod_module *best = NULL;
	if (kmod_module_new_from_lookup(context, alias, &list) < 0)
		return NULL;
	if (kmod_module_apply_filter(context, KMOD_FILTER_BLACKLIST, list, &filtered) == 0) {
		kmod_module_unref_list(list);                /* the filtered one has its own */
		list = filtered;
	}
	kmod_list_foreach(node, list) {
		struct kmod_module *module = kmod_module_get_module(node);
		if (!best)
			best = module;                       /* kept, without a further one */
		else
			kmod_module_unref(module);
	}
	kmod_module_unref_list(list);
	return best;
}

/* A module keeps the context: the user's own may go first. */
static void context_goes_first(void)
{
	const char *paths[] = { folder, NULL };
	struct kmod_ctx *context = kmod_new(folder, paths);
	struct kmod_module *module = NULL, *pony;
	if (!context)
		abort();
	same_names(context);
	pony = look_up(context, "pony");
	module = look_up(context, "gelding7");
	if (!module)
		kmod_module_new_from_name(context, "hunter", &module);
	struct kmod_ctx *second = kmod_ref(context);
	kmod_unref(context);
	expect(kmod_unref(second) == second || module, "context lives");
	const char *options = kmod_module_get_options(module);
	expect(!options || strstr(options, "gait"), "options");
	struct kmod_module *twin;
	kmod_module_new_from_name(second, "hunter", &twin);  /* by an address that a module keeps */
	kmod_module_unref(twin);
	kmod_module_unref(pony);
	kmod_module_unref(module);                           /* and the context with it */
}

struct rider {
	struct udev *udev;
	char path[64];
	struct udev_device *device;
	pthread_t thread;
};

/* A device's context is its own reference; its parent belongs to it, and lives as long. */
static void *ride(void *data)
{
	struct rider *rider = data;
	rider->device = udev_device_new_from_syspath(rider->udev, rider->path);
	udev_unref(rider->udev);                             /* the thread's */
	return NULL;
}

static void follow_parents(struct udev_device *device)
{
	struct udev_device *kept = NULL;
	for (struct udev_device *up = device; up; up = udev_device_get_parent(up))
		if (!kept && up != device)
			kept = udev_device_ref(up);
	if (kept && udev_device_get_parent(device) == kept)
		expect(udev_device_get_syspath(kept) != NULL, "parent");
	udev_device_unref(kept);                             /* or NULL, which is no event */
}

static void devices(void)
{
	struct udev *udev = udev_new();
	struct udev_enumerate *list = udev_enumerate_new(udev);
	struct udev_device *found[8];
	struct udev_list_entry *entry;
	int count = 0;
	udev_enumerate_add_match_subsystem(list, "mem");
	udev_enumerate_add_match_subsystem(list, "net");
	udev_enumerate_scan_devices(list);
	struct udev_enumerate *twice = udev_enumerate_ref(list);
	udev_enumerate_unref(list);
	udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(twice)) {
		if (count == 8)
			break;
		found[count] = udev_device_new_from_syspath(udev_enumerate_get_udev(twice), udev_list_entry_get_name(entry));
		if (found[count])
			count++;
	}
	udev_enumerate_unref(twice);

	struct rider riders[3] = { 0 };
	for (int i = 0; i < 3; i++) {
		riders[i].udev = udev_ref(udev);
		snprintf(riders[i].path, sizeof riders[i].path, "%s", i == 2 ? "/sys/class/mem/none" : i ? "/sys/class/mem/zero" : "/sys/class/mem/null");
		pthread_create(&riders[i].thread, NULL, ride, &riders[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(riders[i].thread, NULL);
	udev = udev_unref(udev);
	expect(!riders[2].device, "no such device");
	for (int i = 0; i < 3; i++)
		if (riders[i].device)
			follow_parents(riders[i].device);
	for (int i = 0; i < count; i++) {
		follow_parents(found[i]);
		if (i % 2)
			udev_device_ref(found[i]);
	}
	/* Odd ones twice, even ones once: a loop that puts the whole, and one for the rest. */
	for (int step = 1; step <= 2; step++)
		for (int i = step - 1; i < count; i += step)
			udev_device_unref(found[i]);
	for (int i = 0; i < 3; i++)
		udev_device_unref(riders[i].device);
}

int main(void)
{
	if (write_config() < 0)
		return 1;
	context_goes_first();
	devices();
	unlink(config);
	rmdir(folder);
	printf("%d bad\n", bad);
	return bad != 0;
}
