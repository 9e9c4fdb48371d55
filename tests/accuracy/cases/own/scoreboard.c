/*
 * summary: retiring a channel takes it out of the table of numbers but leaves it in the list of its hall, with that list's reference
 * kind: held
 * counts: surplus
 * objects: 2
 * track: own
 * build: clang -O2 -g -pthread
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHANNELS 16
#define HALLS 3
#define DISPLAYS 4
#define BACKLOG 32

/* A channel carries the scores of one game; displays, halls and the hub share it. */

struct channel {
    char title[24];
    int number;
    int hall;
    atomic_int refs;
    pthread_mutex_t lock;
    int home, guest;
};

static struct channel *channel_new(int number, int hall, const char *title)
{
    struct channel *ch = calloc(1, sizeof *ch);

    if (ch == NULL)
        abort();
    snprintf(ch->title, sizeof ch->title, "%s", title);
    ch->number = number;
    ch->hall = hall;
    atomic_init(&ch->refs, 1);
    pthread_mutex_init(&ch->lock, NULL);
    return ch;
}

static inline struct channel *channel_ref(struct channel *ch)
{
    atomic_fetch_add(&ch->refs, 1);
    return ch;
}

static inline void channel_unref(struct channel *ch)
{
    if (ch != NULL && atomic_fetch_sub(&ch->refs, 1) == 1) {
        pthread_mutex_destroy(&ch->lock);
        free(ch);
    }
}

struct hall_entry {
    struct channel *channel;
    struct hall_entry *next;
};

struct update {
    struct channel *channel;
    int home, guest;
};

struct hub {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct channel *numbers[MAX_CHANNELS];
    struct hall_entry *halls[HALLS];
    struct update backlog[BACKLOG];
    unsigned head, tail;
    int closing;
    unsigned applied;
};

struct display {
    int id;
    struct channel *shown;
    unsigned refreshes;
};

static struct hub *hub_new(void)
{
    struct hub *hub = calloc(1, sizeof *hub);

    if (hub == NULL)
        abort();
    pthread_mutex_init(&hub->lock, NULL);
    pthread_cond_init(&hub->wake, NULL);
    return hub;
}

static void hall_insert(struct hub *hub, struct channel *ch)
{
    struct hall_entry *entry = malloc(sizeof *entry);

    if (entry == NULL)
        abort();
    entry->channel = channel_ref(ch);
    entry->next = hub->halls[ch->hall];
    hub->halls[ch->hall] = entry;
}

static void hall_remove(struct hub *hub, struct channel *ch)
{
    struct hall_entry **link = &hub->halls[ch->hall];

    while (*link != NULL) {
        struct hall_entry *entry = *link;

        if (entry->channel == ch) {
            *link = entry->next;
            channel_unref(entry->channel);
            free(entry);
            return;
        }
        link = &entry->next;
    }
}

static int hub_open_channel(struct hub *hub, int number, int hall, const char *title)
{
    struct channel *ch;

    if (number < 0 || number >= MAX_CHANNELS || hub->numbers[number] != NULL)
        return -1;
    ch = channel_new(number, hall, title);
    pthread_mutex_lock(&hub->lock);
    hall_insert(hub, ch);
    hub->numbers[number] = ch;
    pthread_mutex_unlock(&hub->lock);
    return 0;
}

static int hub_retire_channel(struct hub *hub, int number)
{
    struct channel *ch;

    pthread_mutex_lock(&hub->lock);
    ch = hub->numbers[number];
    if (ch == NULL) {
        pthread_mutex_unlock(&hub->lock);
        return -1;
    }
    hub->numbers[number] = NULL; /* GUILTY */
#ifndef BUG
    hall_remove(hub, ch);
#endif
    pthread_mutex_unlock(&hub->lock);
    printf("retired %s %d:%d\n", ch->title, ch->home, ch->guest);
    channel_unref(ch);
    return 0;
}

static struct channel *hub_channel(struct hub *hub, int number)
{
    struct channel *ch = NULL;

    pthread_mutex_lock(&hub->lock);
    if (hub->numbers[number] != NULL)
        ch = channel_ref(hub->numbers[number]);
    pthread_mutex_unlock(&hub->lock);
    return ch;
}

static int hub_post(struct hub *hub, int number, int home, int guest)
{
    struct channel *ch = hub_channel(hub, number);
    struct update *slot;

    if (ch == NULL)
        return -1;
    pthread_mutex_lock(&hub->lock);
    if (hub->tail - hub->head == BACKLOG) {
        pthread_mutex_unlock(&hub->lock);
        channel_unref(ch);
        return -1;
    }
    slot = &hub->backlog[hub->tail++ % BACKLOG];
    *slot = (struct update){ ch, home, guest };
    pthread_cond_signal(&hub->wake);
    pthread_mutex_unlock(&hub->lock);
    return 0;
}

static void *hub_worker(void *arg)
{
    struct hub *hub = arg;

    pthread_mutex_lock(&hub->lock);
    for (;;) {
        struct update update;

        while (hub->head == hub->tail && !hub->closing)
            pthread_cond_wait(&hub->wake, &hub->lock);
        if (hub->head == hub->tail)
            break;
        update = hub->backlog[hub->head++ % BACKLOG];
        hub->applied++;
        pthread_mutex_unlock(&hub->lock);

        pthread_mutex_lock(&update.channel->lock);
        update.channel->home += update.home;
        update.channel->guest += update.guest;
        pthread_mutex_unlock(&update.channel->lock);
        channel_unref(update.channel);
        pthread_mutex_lock(&hub->lock);
    }
    pthread_mutex_unlock(&hub->lock);
    return NULL;
}

static void display_show(struct display *display, struct hub *hub, int number)
{
    struct channel *next = hub_channel(hub, number);

    if (next == NULL)
        return;
    channel_unref(display->shown);
    display->shown = next;
    display->refreshes++;
}

static void hub_close(struct hub *hub)
{
    for (int i = 0; i < MAX_CHANNELS; i++) {
        struct channel *ch = hub->numbers[i];

        if (ch == NULL)
            continue;
        hub->numbers[i] = NULL;
        hall_remove(hub, ch);
        channel_unref(ch);
    }
    pthread_cond_destroy(&hub->wake);
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

int main(void)
{
    static const char *const games[] = { "U14 handball", "U16 handball", "futsal", "volleyball A", "volleyball B", "badminton" };
    enum { GAMES = sizeof games / sizeof games[0] };
    struct hub *hub = hub_new();
    struct display displays[DISPLAYS];
    pthread_t worker;
    int missed = 0;

    for (int i = 0; i < GAMES; i++)
        hub_open_channel(hub, i + 1, i % HALLS, games[i]);
    for (int i = 0; i < DISPLAYS; i++) {
        displays[i] = (struct display){ .id = i };
        display_show(&displays[i], hub, i + 1);
    }
    pthread_create(&worker, NULL, hub_worker, hub);
    for (int i = 0; i < 24; i++)
        missed += hub_post(hub, 1 + i % (GAMES + 1), i % 3 == 0, i % 5 == 0) < 0;

    pthread_mutex_lock(&hub->lock);
    hub->closing = 1;
    pthread_cond_signal(&hub->wake);
    pthread_mutex_unlock(&hub->lock);
    pthread_join(worker, NULL);

    hub_retire_channel(hub, 3);
    display_show(&displays[2], hub, 5);
    hub_retire_channel(hub, 6);
    display_show(&displays[3], hub, 6);

    for (int i = 0; i < DISPLAYS; i++) {
        printf("display %d: %s\n", displays[i].id, displays[i].shown->title);
        channel_unref(displays[i].shown);
    }
    printf("%u applied, %d missed\n", hub->applied, missed);
    hub_close(hub);
    return 0;
}
