/* summary: a channel that missed its pulse is put for the burst before the retry takes its own reference
 * kind: late-get
 * counts: none
 * objects: 1
 * track: own
 * build: gcc -O2 -g -flto
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define container_of(ptr, type, member) ((type *) ((char *) (ptr) -offsetof(type, member)))

struct list_head {
    struct list_head *next, *prev;
};

static inline void list_init(struct list_head *head)
{
    head->next = head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
    return head->next == head;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
    entry->prev = head->prev;
    entry->next = head;
    head->prev->next = entry;
    head->prev = entry;
}

static inline void list_del(struct list_head *entry)
{
    entry->prev->next = entry->next;
    entry->next->prev = entry->prev;
    list_init(entry);
}

struct refcount {
    atomic_int refs;
};

struct kref {
    struct refcount refcount;
};

static inline void kref_init(struct kref *kref)
{
    atomic_init(&kref->refcount.refs, 1);
}

static inline void kref_get(struct kref *kref)
{
    atomic_fetch_add_explicit(&kref->refcount.refs, 1, memory_order_relaxed);
}

static inline bool kref_put(struct kref *kref, void (*release)(struct kref *kref))
{
    if (atomic_fetch_sub_explicit(&kref->refcount.refs, 1, memory_order_acq_rel) != 1)
        return false;
    release(kref);
    return true;
}

struct laser {
    struct list_head channels; /* the table; owns one reference each */
    struct list_head retries;
    unsigned live, released;
    unsigned pulses, missed;
};

struct channel {
    struct laser *laser;
    struct list_head node;  /* in laser->channels */
    struct list_head retry; /* in laser->retries */
    unsigned id;
    int power;
    struct kref kref;
    unsigned attempts;
    unsigned short trace[16];
};

/* Pulses that are shot together. */
struct burst {
    struct channel *channels[8];
    unsigned length;
};

static void channel_release(struct kref *kref)
{
    struct channel *channel = container_of(kref, struct channel, kref);

    channel->laser->live--;
    channel->laser->released++;
    free(channel);
}

static struct channel *channel_get(struct channel *channel)
{
    kref_get(&channel->kref);
    return channel;
}

static void channel_put(struct channel *channel)
{
    if (channel)
        kref_put(&channel->kref, channel_release);
}

static int channel_create(struct laser *laser, unsigned id, int power)
{
    struct channel *channel = calloc(1, sizeof *channel);

    if (!channel)
        return -ENOMEM;
    kref_init(&channel->kref);
    channel->laser = laser;
    channel->id = id;
    channel->power = power;
    list_init(&channel->retry);
    list_add_tail(&channel->node, &laser->channels);
    laser->live++;
    return 0;
}

/* A new reference, or NULL. */
static struct channel *channel_find(struct laser *laser, unsigned id)
{
    for (struct list_head *at = laser->channels.next; at != &laser->channels; at = at->next) {
        struct channel *channel = container_of(at, struct channel, node);
        if (channel->id == id)
            return channel_get(channel);
    }
    return NULL;
}

static int channel_remove(struct laser *laser, unsigned id)
{
    struct channel *channel = channel_find(laser, id);

    if (!channel)
        return -ENOENT;
    list_del(&channel->node);
    channel_put(channel); /* the table's */
    channel_put(channel);
    return 0;
}

static int channel_fire(struct channel *channel)
{
    channel->attempts++;
    channel->trace[channel->attempts % 16] = (unsigned short) (channel->power * 7);
    if (channel->power < 20 && channel->attempts < 3)
        return -EAGAIN;
    if (channel->power > 88)
        return -EIO;
    channel->laser->pulses++;
    return 0;
}

/* The retry list has a reference of its own. */
static void queue_retry(struct laser *laser, struct channel *channel)
{
    if (!list_empty(&channel->retry))
        return;
    channel_get(channel);
    list_add_tail(&channel->retry, &laser->retries);
}

static void burst_add(struct burst *burst, struct laser *laser, unsigned id)
{
    struct channel *channel = channel_find(laser, id);

    if (channel && burst->length < 8)
        burst->channels[burst->length++] = channel;
    else
        channel_put(channel);
}

static void burst_fire(struct burst *burst, struct laser *laser)
{
    for (unsigned i = 0; i < burst->length; i++) {
        struct channel *channel = burst->channels[i];
        int error = channel_fire(channel);

        if (error == -EAGAIN) {
#ifdef BUG
            channel_put(channel); /* ACCEPTED */
            queue_retry(laser, channel); /* GUILTY */
#else
            queue_retry(laser, channel);
            channel_put(channel);
#endif
            continue;
        }
        if (error) {
            laser->missed++;
            channel->power -= 10;
        }
        channel_put(channel);
    }
    burst->length = 0;
}

static void run_retries(struct laser *laser)
{
    while (!list_empty(&laser->retries)) {
        struct channel *channel = container_of(laser->retries.next, struct channel, retry);

        list_del(&channel->retry);
        if (channel_fire(channel) == -EAGAIN)
            queue_retry(laser, channel);
        channel_put(channel);
    }
}

static void laser_shutdown(struct laser *laser)
{
    while (!list_empty(&laser->channels))
        channel_remove(laser, container_of(laser->channels.next, struct channel, node)->id);
}

int main(void)
{
    struct laser laser = { .live = 0 };
    struct burst burst = { .length = 0 };

    list_init(&laser.channels);
    list_init(&laser.retries);
    for (unsigned id = 0; id < 30; id++) {
        if (channel_create(&laser, id, 5 + (int) (id * 17 % 101)) < 0)
            return 1;
    }
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < 6; i++)
            burst_add(&burst, &laser, round * 6 + i);
        if (round == 1)
            channel_remove(&laser, 8); /* while it is in a burst */
        if (round == 3)
            channel_remove(&laser, 18); /* power 8: has to retry */
        burst_fire(&burst, &laser);
        if (round % 2)
            run_retries(&laser);
    }
    run_retries(&laser);
    if (channel_remove(&laser, 77) != -ENOENT)
        return 1;
    printf("%u pulses, %u missed, %u channels live\n", laser.pulses, laser.missed, laser.live);
    laser_shutdown(&laser);
    printf("%u released\n", laser.released);
    return 0;
}
