/*
 * summary: a flash that jumps the queue of a subscriber is put in front without a reference for that queue
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: own
 * build: clang -O2 -g
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The desk of a news wire. Stories come in, are filed by their slug, and go out to the subscribers, each at its own speed. A
   newer version of a story knows the one that it supersedes. */

enum priority { ROUTINE, URGENT, FLASH };

struct story {
    struct story *supersedes;
    char slug[24];
    atomic_int refs;
    int version;
    enum priority priority;
    unsigned topics;
    char *text;
};

struct queued {
    struct queued *next;
    struct story *story;
};

struct outbox {
    struct queued *first;
    struct queued **last;
    int waiting;
};

struct subscriber {
    const char *name;
    unsigned topics;
    int per_round;
    bool breaks_for_flash; /* a flash is sent before what waits */
    struct outbox outbox;
    int delivered;
    size_t bytes;
};

#define SHELVES 16
#define MOST_SUBSCRIBERS 6

struct filed {
    struct filed *next;
    struct story *story;
};

struct desk {
    struct filed *shelves[SHELVES];
    struct subscriber *subscribers[MOST_SUBSCRIBERS];
    int count;
    int spiked;
};

enum { SPORT = 1, MARKETS = 2, POLITICS = 4, WEATHER = 8 };

static int stories_alive;

static struct story *story_new(const char *slug, int version, enum priority priority, unsigned topics, const char *text)
{
    struct story *story = calloc(1, sizeof *story);

    if (story == NULL)
        abort();
    snprintf(story->slug, sizeof story->slug, "%s", slug);
    atomic_init(&story->refs, 1);
    story->version = version;
    story->priority = priority;
    story->topics = topics;
    story->text = strdup(text);
    stories_alive++;
    return story;
}

static struct story *story_ref(struct story *story)
{
    atomic_fetch_add_explicit(&story->refs, 1, memory_order_relaxed);
    return story;
}

static void story_unref(struct story *story)
{
    while (story != NULL && atomic_fetch_sub_explicit(&story->refs, 1, memory_order_acq_rel) == 1) {
        struct story *older = story->supersedes;

        free(story->text);
        free(story);
        stories_alive--;
        story = older;
    }
}

static void outbox_init(struct outbox *outbox)
{
    outbox->first = NULL;
    outbox->last = &outbox->first;
    outbox->waiting = 0;
}

static struct queued *queued_new(struct story *story)
{
    struct queued *item = malloc(sizeof *item);

    if (item == NULL)
        abort();
    item->next = NULL;
    item->story = story;
    return item;
}

static void outbox_append(struct outbox *outbox, struct story *story)
{
    struct queued *item = queued_new(story_ref(story));

    *outbox->last = item;
    outbox->last = &item->next;
    outbox->waiting++;
}

static void outbox_prepend(struct outbox *outbox, struct story *story)
{
#ifdef BUG
    struct queued *item = queued_new(story); /* GUILTY */
#else
    struct queued *item = queued_new(story_ref(story));
#endif

    item->next = outbox->first;
    if (outbox->first == NULL)
        outbox->last = &item->next;
    outbox->first = item;
    outbox->waiting++;
}

/* Returns the story at the front; the caller unrefs it. */
static struct story *outbox_take(struct outbox *outbox)
{
    struct queued *item = outbox->first;
    struct story *story;

    if (item == NULL)
        return NULL;
    story = item->story;
    outbox->first = item->next;
    if (outbox->first == NULL)
        outbox->last = &outbox->first;
    outbox->waiting--;
    free(item);
    return story;
}

static unsigned shelf_of(const char *slug)
{
    unsigned hash = 5381;

    while (*slug != '\0')
        hash = hash * 33 + (unsigned char)*slug++;
    return hash % SHELVES;
}

static struct filed *desk_find(struct desk *desk, const char *slug)
{
    struct filed *filed = desk->shelves[shelf_of(slug)];

    while (filed != NULL && strcmp(filed->story->slug, slug) != 0)
        filed = filed->next;
    return filed;
}

/* Files the story; an older version becomes what it supersedes. */
static void desk_file(struct desk *desk, struct story *story)
{
    struct filed *filed = desk_find(desk, story->slug);

    if (filed != NULL) {
        story->supersedes = filed->story;
        filed->story = story_ref(story);
        return;
    }
    filed = malloc(sizeof *filed);
    if (filed == NULL)
        abort();
    filed->story = story_ref(story);
    filed->next = desk->shelves[shelf_of(story->slug)];
    desk->shelves[shelf_of(story->slug)] = filed;
}

static void desk_publish(struct desk *desk, struct story *story)
{
    const struct filed *filed = desk_find(desk, story->slug);

    if (filed != NULL && filed->story->version >= story->version) {
        desk->spiked++;
        return;
    }
    desk_file(desk, story);
    for (int i = 0; i < desk->count; i++) {
        struct subscriber *subscriber = desk->subscribers[i];

        if ((subscriber->topics & story->topics) == 0)
            continue;
        if (story->priority == FLASH && subscriber->breaks_for_flash)
            outbox_prepend(&subscriber->outbox, story); /* ACCEPTED */
        else
            outbox_append(&subscriber->outbox, story);
    }
}

static void desk_round(struct desk *desk)
{
    for (int i = 0; i < desk->count; i++) {
        struct subscriber *subscriber = desk->subscribers[i];

        for (int sent = 0; sent < subscriber->per_round; sent++) {
            struct story *story = outbox_take(&subscriber->outbox);

            if (story == NULL)
                break;
            subscriber->delivered++;
            subscriber->bytes += strlen(story->text);
            printf("%-8s %s.%d%s\n", subscriber->name, story->slug, story->version, story->priority == FLASH ? " flash" : "");
            story_unref(story);
        }
    }
}

static void desk_close(struct desk *desk)
{
    for (int i = 0; i < desk->count; i++) {
        struct story *story;

        while ((story = outbox_take(&desk->subscribers[i]->outbox)) != NULL)
            story_unref(story);
    }
    for (int shelf = 0; shelf < SHELVES; shelf++) {
        while (desk->shelves[shelf] != NULL) {
            struct filed *filed = desk->shelves[shelf];

            desk->shelves[shelf] = filed->next;
            story_unref(filed->story);
            free(filed);
        }
    }
}

static void write_story(struct desk *desk, const char *slug, int version, enum priority priority, unsigned topics, const char *text)
{
    struct story *story = story_new(slug, version, priority, topics, text);

    desk_publish(desk, story);
    story_unref(story);
}

int main(void)
{
    static struct subscriber paper = {.name = "paper", .topics = SPORT | POLITICS | MARKETS, .per_round = 2};
    static struct subscriber radio = {.name = "radio", .topics = POLITICS | WEATHER, .per_round = 1, .breaks_for_flash = true};
    static struct subscriber broker = {.name = "broker", .topics = MARKETS, .per_round = 3};
    struct desk desk = {.subscribers = {&paper, &radio, &broker}, .count = 3};

    for (int i = 0; i < desk.count; i++)
        outbox_init(&desk.subscribers[i]->outbox);
    write_story(&desk, "budget", 1, URGENT, POLITICS | MARKETS, "The house debates the budget.");
    write_story(&desk, "regatta", 1, ROUTINE, SPORT, "Eight boats start in the bay.");
    write_story(&desk, "storm", 1, ROUTINE, WEATHER, "Wind from the west, rising.");
    write_story(&desk, "copper", 1, FLASH, MARKETS, "Copper trade is suspended.");
    desk_round(&desk);
    write_story(&desk, "budget", 2, URGENT, POLITICS | MARKETS, "The house rejects two chapters.");
    write_story(&desk, "storm", 2, URGENT, WEATHER, "Gale warning for the coast.");
    write_story(&desk, "storm", 1, ROUTINE, WEATHER, "Wind from the west.");
    write_story(&desk, "minister", 1, FLASH, POLITICS, "The minister resigns.");
    desk_round(&desk);
    desk_round(&desk);
    printf("paper %d, radio %d, broker %d, %d spiked\n", paper.delivered, radio.delivered, broker.delivered, desk.spiked);
    desk_close(&desk);
    return 0;
}
