/* summary: scan_subsystem goes on to the next entry for a null or zero device without giving it back
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: libudev
 * packages: libudev
 * build: clang-14 -O2
 * exit: 0
 */
/* An inventory of character devices and network links by libudev: enumerate, look up, keep what is of interest,
 * compare with a second look later. */
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 64
#define NPASSES 2

struct item {
  struct udev_device *dev; /* owned */
  int seen;
};

static struct item items[MAX_ITEMS];
static int nitems;
static struct udev_device *console; /* owned, to the end of the process */
static int total, skipped, again, missing, by_number;

/* Borrowed. */
static struct item *find_item(const char *syspath) {
  for (int i = 0; i < nitems; i++)
    if (!strcmp(udev_device_get_syspath(items[i].dev), syspath))
      return &items[i];
  return NULL;
}

/* Keeps a reference of its own. */
static int keep(struct udev_device *dev) {
  if (nitems == MAX_ITEMS)
    return -1;
  items[nitems].dev = udev_device_ref(dev);
  items[nitems].seen = 1;
  nitems++;
  return 0;
}

/* One of the devices that throw away or make up what passes through them. */
static int is_sink(struct udev_device *dev) {
  const char *name = udev_device_get_sysname(dev);

  return !strcmp(name, "null") || !strcmp(name, "zero");
}

static int is_interesting(struct udev_device *dev) {
  const char *name = udev_device_get_sysname(dev);

  return !strcmp(name, "lo") || !strcmp(name, "full") || !strcmp(name, "random") || !strcmp(name, "urandom") ||
         !strcmp(name, "kmsg");
}

/* The same device by its number; gives 1 if it is the same. */
static int check_number(struct udev *udev, struct udev_device *dev) {
  dev_t number = udev_device_get_devnum(dev);
  struct udev_device *other;
  int same;

  if (number == 0)
    return 0;
  other = udev_device_new_from_devnum(udev, 'c', number);
  if (!other)
    return 0;
  if (!udev_device_get_subsystem(other)) {
    udev_device_unref(other);
    return 0;
  }
  same = !strcmp(udev_device_get_syspath(other), udev_device_get_syspath(dev));
  udev_device_unref(other);
  return same;
}

static int scan_subsystem(struct udev *udev, const char *subsystem) {
  struct udev_enumerate *e = udev_enumerate_new(udev);
  struct udev_list_entry *entry;
  int n = 0;

  if (!e)
    return -1;
  if (udev_enumerate_add_match_subsystem(e, subsystem) < 0 || udev_enumerate_scan_devices(e) < 0) {
    udev_enumerate_unref(e);
    return -1;
  }
  udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(e)) {
    const char *syspath = udev_list_entry_get_name(entry);
    struct udev_device *dev = udev_device_new_from_syspath(udev, syspath); /* ACCEPTED */
    struct item *it;

    if (!dev) {
      missing++;
      continue;
    }
    n++;
    if (is_sink(dev)) {
      skipped++; /* ACCEPTED */
#ifndef BUG
      udev_device_unref(dev);
#endif
      continue; /* GUILTY */
    }
    it = find_item(syspath);
    if (it) {
      it->seen++;
      again++;
      udev_device_unref(dev);
      continue;
    }
    by_number += is_interesting(dev) && check_number(udev, dev);
    if (is_interesting(dev))
      keep(dev);
    udev_device_unref(dev);
  }
  udev_enumerate_unref(e);
  return n;
}

/* A new reference, NULL if there is no such device. */
static struct udev_device *look_up(struct udev *udev, const char *subsystem, const char *name) {
  for (int i = 0; i < nitems; i++)
    if (!strcmp(udev_device_get_sysname(items[i].dev), name) &&
        !strcmp(udev_device_get_subsystem(items[i].dev), subsystem))
      return udev_device_ref(items[i].dev);
  return udev_device_new_from_subsystem_sysname(udev, subsystem, name);
}

static int has_node(struct udev *udev, const char *subsystem, const char *name) {
  struct udev_device *dev = look_up(udev, subsystem, name);
  const char *node;
  int yes = 0;

  if (!dev)
    return 0;
  node = udev_device_get_devnode(dev);
  if (node)
    yes = !strncmp(node, "/dev/", 5);
  udev_device_unref(dev);
  return yes;
}

/* How many levels lie above; the parents belong to the child. */
static int depth(struct udev_device *dev) {
  int n = 0;

  for (dev = udev_device_get_parent(dev); dev; dev = udev_device_get_parent(dev))
    n++;
  return n;
}

static void drop_seen_once(void) {
  int left = 0;

  for (int i = 0; i < nitems; i++) {
    if (items[i].seen < NPASSES)
      udev_device_unref(items[i].dev);
    else
      items[left++] = items[i];
  }
  nitems = left;
}

static void drop_all(void) {
  while (nitems > 0)
    udev_device_unref(items[--nitems].dev);
}

int main(void) {
  static const char *const names[] = {"null", "zero", "full", "random", "urandom", "nonesuch"};
  struct udev *udev = udev_new();
  int nodes = 0, levels = 0;

  if (!udev)
    return 1;
  console = udev_device_new_from_subsystem_sysname(udev, "tty", "console");
  for (int pass = 0; pass < NPASSES; pass++) {
    total += scan_subsystem(udev, "mem");
    total += scan_subsystem(udev, "net");
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
      nodes += has_node(udev, "mem", names[i]);
  }
  drop_seen_once();
  for (int i = 0; i < nitems; i++)
    levels += depth(items[i].dev);
  printf("devices %d kept %d skipped %d again %d missing %d numbers %d nodes %d levels %d\n", total, nitems, skipped,
         again, missing, by_number, nodes, levels);
  drop_all();
  udev_unref(udev);
  return 0;
}
