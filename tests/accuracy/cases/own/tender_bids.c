/*
 * summary: a bid in a currency that has no rate leaves the evaluation with the bidder's reference in hand
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIDDERS_MOST 16
#define QUEUE_LENGTH 8
#define EVALUATORS 2

struct bidder {
    atomic_int refs;
    unsigned number;
    char name[32];
    bool suspended;
    long guarantee; /* cents, in euro */
};

struct bid {
    unsigned lot;
    unsigned bidder_number;
    char currency[4];
    long amount; /* cents, in its currency */
};

struct ranking {
    struct bidder *winner;
    long best;
};

struct directory {
    pthread_mutex_t lock;
    struct bidder *entries[BIDDERS_MOST];
    unsigned used;
};

#define LOTS 4

struct tender {
    struct directory *directory;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct bid queue[QUEUE_LENGTH];
    unsigned head, length;
    bool closed;
    struct ranking lots[LOTS];
    unsigned accepted, refused;
};

static struct bidder *bidder_new(unsigned number, const char *name, long guarantee)
{
    struct bidder *bidder = calloc(1, sizeof *bidder);
    if (!bidder)
        abort();
    atomic_init(&bidder->refs, 1);
    bidder->number = number;
    bidder->guarantee = guarantee;
    snprintf(bidder->name, sizeof bidder->name, "%s", name);
    return bidder;
}

static inline struct bidder *bidder_get(struct bidder *bidder)
{
    atomic_fetch_add_explicit(&bidder->refs, 1, memory_order_relaxed);
    return bidder;
}

static inline void bidder_put(struct bidder *bidder)
{
    if (!bidder)
        return;
    if (atomic_fetch_sub_explicit(&bidder->refs, 1, memory_order_acq_rel) == 1)
        free(bidder);
}

static int directory_add(struct directory *dir, struct bidder *bidder)
{
    int result = 0;
    pthread_mutex_lock(&dir->lock);
    if (dir->used == BIDDERS_MOST)
        result = -ENOSPC;
    else
        dir->entries[dir->used++] = bidder_get(bidder);
    pthread_mutex_unlock(&dir->lock);
    return result;
}

/* The bidder with a reference for the caller, or NULL. */
static struct bidder *directory_find(struct directory *dir, unsigned number)
{
    struct bidder *found = NULL;
    pthread_mutex_lock(&dir->lock);
    for (unsigned i = 0; i < dir->used; i++) {
        if (dir->entries[i]->number == number) {
            found = bidder_get(dir->entries[i]);
            break;
        }
    }
    pthread_mutex_unlock(&dir->lock);
    return found;
}

static void directory_clear(struct directory *dir)
{
    pthread_mutex_lock(&dir->lock);
    while (dir->used > 0)
        bidder_put(dir->entries[--dir->used]);
    pthread_mutex_unlock(&dir->lock);
}

static long to_euro(const char *currency, long amount)
{
    static const struct { char code[4]; int per_mille; } rates[] = {
        { "EUR", 1000 }, { "PLN", 232 }, { "CZK", 40 }, { "SEK", 88 },
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (!strcmp(rates[i].code, currency))
            return amount / 1000 * rates[i].per_mille;
    return -1;
}

/* Keeps the cheapest bidder of the lot; takes over the reference. */
static void rank(struct tender *tender, unsigned lot, struct bidder *bidder, long euro)
{
    struct bidder *outbid = bidder;
    pthread_mutex_lock(&tender->lock);
    struct ranking *ranking = &tender->lots[lot];
    if (!ranking->winner || euro < ranking->best ||
        (euro == ranking->best && bidder->number < ranking->winner->number)) {
        outbid = ranking->winner;
        ranking->winner = bidder;
        ranking->best = euro;
    }
    pthread_mutex_unlock(&tender->lock);
    bidder_put(outbid);
}

static int evaluate(struct tender *tender, const struct bid *bid)
{
    if (bid->lot >= LOTS)
        return -ERANGE;

    struct bidder *bidder = directory_find(tender->directory, bid->bidder_number);
    if (!bidder)
        return -ENOENT;
    if (bidder->suspended) {
        bidder_put(bidder);
        return -EPERM;
    }

    long euro = to_euro(bid->currency, bid->amount);
    if (euro < 0) { /* ACCEPTED */
#ifndef BUG
        bidder_put(bidder);
#endif
        return -EINVAL; /* GUILTY */
    }
    if (euro / 10 > bidder->guarantee) {
        bidder_put(bidder);
        return -EDQUOT;
    }
    rank(tender, bid->lot, bidder, euro);
    return 0;
}

static bool next_bid(struct tender *tender, struct bid *bid)
{
    bool got = false;
    pthread_mutex_lock(&tender->lock);
    while (tender->length == 0 && !tender->closed)
        pthread_cond_wait(&tender->changed, &tender->lock);
    if (tender->length > 0) {
        *bid = tender->queue[tender->head];
        tender->head = (tender->head + 1) % QUEUE_LENGTH;
        tender->length--;
        got = true;
        pthread_cond_broadcast(&tender->changed);
    }
    pthread_mutex_unlock(&tender->lock);
    return got;
}

static void *evaluator(void *data)
{
    struct tender *tender = data;
    struct bid bid;
    while (next_bid(tender, &bid)) {
        int result = evaluate(tender, &bid);
        pthread_mutex_lock(&tender->lock);
        if (result == 0)
            tender->accepted++;
        else
            tender->refused++;
        pthread_mutex_unlock(&tender->lock);
    }
    return NULL;
}

static void submit(struct tender *tender, const struct bid *bid)
{
    pthread_mutex_lock(&tender->lock);
    while (tender->length == QUEUE_LENGTH)
        pthread_cond_wait(&tender->changed, &tender->lock);
    tender->queue[(tender->head + tender->length++) % QUEUE_LENGTH] = *bid;
    pthread_cond_broadcast(&tender->changed);
    pthread_mutex_unlock(&tender->lock);
}

static void close_tender(struct tender *tender)
{
    pthread_mutex_lock(&tender->lock);
    tender->closed = true;
    pthread_cond_broadcast(&tender->changed);
    pthread_mutex_unlock(&tender->lock);
}

int main(void)
{
    static const char *const names[] = { "Arnold Tiefbau", "Brana Stav", "Cegielnia Sp.", "Dahl Mark",
                                         "Ewers & Kind", "Falk Gleisbau", "Greta Asfalt" };
    static const struct bid bids[] = {
        { 0, 101, "EUR", 4200000 }, { 0, 102, "CZK", 98000000 }, { 1, 103, "PLN", 20000000 },
        { 1, 101, "EUR", 5100000 }, { 2, 104, "NOK", 36000000 }, { 2, 105, "EUR", 2600000 },
        { 3, 106, "EUR", 7700000 }, { 0, 103, "PLN", 17500000 }, { 1, 104, "SEK", 49000000 },
        { 2, 107, "HUF", 88000000 }, { 3, 102, "CZK", 190000000 }, { 3, 999, "EUR", 10000 },
        { 7, 101, "EUR", 10000 },    { 2, 101, "EUR", 2450000 },  { 3, 105, "EUR", 990000000 },
    };
    struct directory directory = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct tender tender = { .directory = &directory, .lock = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER };

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct bidder *bidder = bidder_new(101 + i, names[i], 900000);
        bidder->suspended = bidder->number == 106;
        if (directory_add(&directory, bidder) != 0)
            fprintf(stderr, "no room for %s\n", bidder->name);
        bidder_put(bidder);
    }

    pthread_t threads[EVALUATORS];
    for (int i = 0; i < EVALUATORS; i++)
        if (pthread_create(&threads[i], NULL, evaluator, &tender) != 0)
            return 1;
    for (size_t i = 0; i < sizeof bids / sizeof *bids; i++)
        submit(&tender, &bids[i]);
    close_tender(&tender);
    for (int i = 0; i < EVALUATORS; i++)
        pthread_join(threads[i], NULL);

    printf("%u accepted, %u refused\n", tender.accepted, tender.refused);
    for (unsigned lot = 0; lot < LOTS; lot++) {
        struct ranking *ranking = &tender.lots[lot];
        if (ranking->winner)
            printf("lot %u: %s, %ld.%02ld EUR\n", lot, ranking->winner->name, ranking->best / 100,
                   ranking->best % 100);
        bidder_put(ranking->winner);
        ranking->winner = NULL;
    }
    directory_clear(&directory);
    return 0;
}
