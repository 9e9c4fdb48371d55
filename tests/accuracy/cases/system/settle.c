/* summary: a settle timer owns a reference to its device; when a newer event replaces the timer its handler never runs and the reference is lost
 * kind: missing-put
 * counts: surplus
 * objects: 15
 * track: libudev libsystemd
 * packages: libudev libsystemd
 * build: gcc -O2 -g
 * exit: 0
 */
#include <errno.h>
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>

#define SETTLE_USEC   2000
#define MAX_SLOTS     64

/* One per device name: at most one timer is pending for each. */
struct slot {
    char name[32];
    sd_event_source *timer;     /* userdata: the device, referenced */
    int events;
};

struct manager {
    sd_event *event;
    sd_event_source *player;
    struct udev *udev;
    struct slot slots[MAX_SLOTS];
    int n_slots;
    int pending;
    size_t next_step;
    /* results */
    int settled, removed, replaced, char_devices, with_driver;
    unsigned long majors;
};

static struct manager mgr;

/* ---- what the kernel "reports" -------------------------------------- */

enum action { COLDPLUG, CHANGE, REMOVE, WAIT };

static const struct step {
    enum action action;
    const char *subsystem;
    const char *pattern;
} steps[] = {
    { COLDPLUG, "mem", "*" },
    { COLDPLUG, "tty", "tty[0-9]" },
    { CHANGE, "mem", "null" },
    { CHANGE, "tty", "tty[3-6]" },
    { WAIT, NULL, NULL },
    { CHANGE, "tty", "tty[0-9]" },
    { CHANGE, "mem", "*random" },
    { REMOVE, "tty", "tty7" },
    { CHANGE, "tty", "tty[0-9]" },
    { WAIT, NULL, NULL },
    { CHANGE, "mem", "zero" },
    { CHANGE, "mem", "full" },
    { WAIT, NULL, NULL },
};

#define N_STEPS  (sizeof steps / sizeof steps[0])

/* ---- slots ---------------------------------------------------------- */

static struct slot *slot_get(struct manager *m, const char *name)
{
    struct slot *s;

    for (int i = 0; i < m->n_slots; i++)
        if (strcmp(m->slots[i].name, name) == 0)
            return &m->slots[i];
    if (m->n_slots == MAX_SLOTS)
        return NULL;
    s = &m->slots[m->n_slots++];
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

/* Examines a device that has been quiet for a while. */
static void device_settled(struct manager *m, struct udev_device *dev)
{
    struct udev_device *parent = udev_device_get_parent(dev);    /* belongs to dev */
    const char *major = udev_device_get_property_value(dev, "MAJOR");

    m->settled++;
    if (major) {
        m->char_devices++;
        m->majors |= 1UL << (atoi(major) % 64);
    }
    if (parent && udev_device_get_driver(parent))
        m->with_driver++;
}

static int on_settle_timer(sd_event_source *source, uint64_t usec, void *data)
{
    struct udev_device *dev = data;
    struct slot *s = slot_get(&mgr, udev_device_get_sysname(dev));

    device_settled(&mgr, dev);
    s->timer = sd_event_source_unref(s->timer);
    udev_device_unref(dev);
    if (--mgr.pending == 0)
        sd_event_source_set_enabled(mgr.player, SD_EVENT_ON);
    return 0;
}

/* Forgets the pending timer, if any. */
static int slot_disarm(struct manager *m, struct slot *s)
{
    if (!s->timer)
        return 0;
#ifdef BUG
    s->timer = sd_event_source_disable_unref(s->timer);           /* GUILTY */
#else
    udev_device_unref(sd_event_source_get_userdata(s->timer));
    s->timer = sd_event_source_disable_unref(s->timer);
#endif
    m->pending--;
    return 1;
}

static int slot_arm(struct manager *m, struct slot *s, struct udev_device *dev)
{
    int r;

    m->replaced += slot_disarm(m, s);
    r = sd_event_add_time_relative(m->event, &s->timer, CLOCK_MONOTONIC, SETTLE_USEC, 1,
                                   on_settle_timer, dev);
    if (r < 0)
        return r;
    udev_device_ref(dev);                                         /* ACCEPTED */
    m->pending++;
    return 0;
}

/* ---- events --------------------------------------------------------- */

static int handle_event(struct manager *m, enum action action, struct udev_device *dev)
{
    struct slot *s = slot_get(m, udev_device_get_sysname(dev));

    if (!s)
        return -ENOSPC;
    s->events++;
    if (action == REMOVE) {
        slot_disarm(m, s);
        m->removed++;
        return 0;
    }
    return slot_arm(m, s, dev);
}

static int play_step(struct manager *m, const struct step *step)
{
    struct udev_enumerate *e = udev_enumerate_new(m->udev);
    struct udev_list_entry *entry;
    int r = 0;

    if (!e)
        return -ENOMEM;
    udev_enumerate_add_match_subsystem(e, step->subsystem);
    udev_enumerate_add_match_sysname(e, step->pattern);
    r = udev_enumerate_scan_devices(e);
    if (r < 0)
        goto out;
    udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(e)) {
        struct udev_device *dev = udev_device_new_from_syspath(m->udev, udev_list_entry_get_name(entry));

        if (!dev)
            continue;
        r = handle_event(m, step->action, dev);
        udev_device_unref(dev);
        if (r < 0)
            break;
    }
out:
    udev_enumerate_unref(e);
    return r;
}

/* Feeds the steps into the manager, one per loop iteration. */
static int on_player(sd_event_source *source, void *data)
{
    struct manager *m = data;
    const struct step *step;
    int r;

    if (m->next_step == N_STEPS)
        return sd_event_exit(m->event, 0);
    step = &steps[m->next_step++];
    if (step->action == WAIT) {
        if (m->pending > 0)
            sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return 0;
    }
    r = play_step(m, step);
    return r < 0 ? sd_event_exit(m->event, r) : 0;
}

static int manager_open(struct manager *m)
{
    int r;

    m->udev = udev_new();
    if (!m->udev)
        return -ENOMEM;
    r = sd_event_new(&m->event);
    if (r < 0)
        return r;
    r = sd_event_add_defer(m->event, &m->player, on_player, m);
    if (r < 0)
        return r;
    /* before any timer */
    sd_event_source_set_priority(m->player, SD_EVENT_PRIORITY_IMPORTANT);
    return sd_event_source_set_enabled(m->player, SD_EVENT_ON);
}

static void manager_close(struct manager *m)
{
    for (int i = 0; i < m->n_slots; i++)
        slot_disarm(m, &m->slots[i]);
    sd_event_source_disable_unref(m->player);
    sd_event_unref(m->event);
    udev_unref(m->udev);
}

int main(void)
{
    int r, busiest = 0;

    r = manager_open(&mgr);
    if (r >= 0)
        r = sd_event_loop(mgr.event);
    if (r < 0)
        fprintf(stderr, "failed: %s\n", strerror(-r));

    for (int i = 1; i < mgr.n_slots; i++)
        if (mgr.slots[i].events > mgr.slots[busiest].events)
            busiest = i;
    printf("%d devices, %d settled (%d with a node), %d timers replaced, %d removed\n",
           mgr.n_slots, mgr.settled, mgr.char_devices, mgr.replaced, mgr.removed);
    printf("%d major numbers, %d with a driver, busiest: %s with %d events\n",
           __builtin_popcountl(mgr.majors), mgr.with_driver, mgr.slots[busiest].name,
           mgr.slots[busiest].events);
    manager_close(&mgr);
    return r < 0;
}
