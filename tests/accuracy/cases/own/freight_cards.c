/*
 * summary: a surcharge notice replaces the zone's rate card and lets the pointer to the old one go, with its reference
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: own
 * libs: -pthread
 * build: clang -O3 -g
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONES 6
#define BRACKETS 4
#define CLERKS 2

/* A rate card never changes once it is published; revisions are new cards. */
struct rate_card {
    unsigned zone;
    uint32_t holders;
    unsigned revision;
    unsigned surcharge; /* per mille */
    unsigned cents[BRACKETS];
};

struct zone {
    pthread_mutex_t lock;
    struct rate_card *card;
};

struct tariff {
    struct zone zones[ZONES];
    unsigned notices;
};

struct parcel {
    unsigned zone;
    unsigned grams;
};

struct quote {
    struct rate_card *card; /* as it was when the quote was made */
    unsigned cents;
};

static struct rate_card *card_draft(unsigned zone, unsigned revision, const unsigned *cents)
{
    struct rate_card *card = calloc(1, sizeof *card);
    if (!card)
        abort();
    card->zone = zone;
    card->revision = revision;
    memcpy(card->cents, cents, sizeof card->cents);
    __atomic_store_n(&card->holders, 1, __ATOMIC_RELAXED);
    return card;
}

static inline struct rate_card *card_hold(struct rate_card *card)
{
    __atomic_add_fetch(&card->holders, 1, __ATOMIC_RELAXED);
    return card;
}

static inline void card_release(struct rate_card *card)
{
    if (card && __atomic_sub_fetch(&card->holders, 1, __ATOMIC_ACQ_REL) == 0)
        free(card);
}

static struct rate_card *zone_card(struct zone *zone)
{
    pthread_mutex_lock(&zone->lock);
    struct rate_card *card = zone->card ? card_hold(zone->card) : NULL;
    pthread_mutex_unlock(&zone->lock);
    return card;
}

/* Puts a card up that the caller keeps a reference to. */
static void zone_publish(struct zone *zone, struct rate_card *card)
{
    pthread_mutex_lock(&zone->lock);
    struct rate_card *before = zone->card;
    zone->card = card_hold(card);
    pthread_mutex_unlock(&zone->lock);
    card_release(before);
}

static void zone_withdraw(struct zone *zone)
{
    pthread_mutex_lock(&zone->lock);
    struct rate_card *before = zone->card;
    zone->card = NULL;
    pthread_mutex_unlock(&zone->lock);
    card_release(before);
}

/* A fuel surcharge comes by telex, for one zone, on top of what is in force. */
static bool apply_surcharge(struct tariff *tariff, unsigned number, unsigned per_mille)
{
    struct zone *zone = &tariff->zones[number];

    pthread_mutex_lock(&zone->lock);
    struct rate_card *current = zone->card;
    if (!current || current->surcharge == per_mille) {
        pthread_mutex_unlock(&zone->lock);
        return false;
    }
    struct rate_card *revised = card_draft(number, current->revision + 1, current->cents);
    revised->surcharge = per_mille;
    zone->card = revised; /* GUILTY */
    pthread_mutex_unlock(&zone->lock); /* ACCEPTED */
#ifndef BUG
    card_release(current);
#endif
    __atomic_add_fetch(&tariff->notices, 1, __ATOMIC_RELAXED);
    return true;
}

static void load_tariff(struct tariff *tariff, unsigned revision)
{
    for (unsigned number = 0; number < ZONES; number++) {
        unsigned cents[BRACKETS];
        for (unsigned i = 0; i < BRACKETS; i++)
            cents[i] = 390 + 110 * number + 240 * i + 5 * revision;
        struct rate_card *card = card_draft(number, revision * 100, cents);
        zone_publish(&tariff->zones[number], card);
        card_release(card);
    }
}

static unsigned bracket_of(unsigned grams)
{
    return grams <= 1000 ? 0 : grams <= 5000 ? 1 : grams <= 15000 ? 2 : 3;
}

static bool make_quote(struct tariff *tariff, const struct parcel *parcel, struct quote *quote)
{
    if (parcel->zone >= ZONES)
        return false;
    struct rate_card *card = zone_card(&tariff->zones[parcel->zone]);
    if (!card)
        return false;
    if (parcel->grams > 31500) {
        card_release(card);
        return false;
    }
    unsigned base = card->cents[bracket_of(parcel->grams)];
    quote->cents = base + base * card->surcharge / 1000;
    quote->card = card;
    return true;
}

/* An accepted quote is billed at its own card, whatever is in force by now: one per cent off without surcharge. */
static unsigned settle_quote(struct quote *quote, bool accepted)
{
    unsigned cents = 0;
    if (accepted)
        cents = quote->card->surcharge ? quote->cents : quote->cents - quote->cents / 100;
    card_release(quote->card);
    quote->card = NULL;
    return cents;
}

struct clerk {
    struct tariff *tariff;
    unsigned seed;
    unsigned quoted, refused;
    unsigned long turnover;
};

static void *clerk_work(void *data)
{
    struct clerk *clerk = data;
    struct quote open[3] = { { 0 } };
    unsigned next = 0;

    for (unsigned i = 0; i < 60; i++) {
        clerk->seed = clerk->seed * 1103515245 + 12345;
        struct parcel parcel = { .zone = clerk->seed >> 16 & 7, .grams = clerk->seed >> 8 & 0x7fff };
        struct quote quote;
        if (!make_quote(clerk->tariff, &parcel, &quote)) {
            clerk->refused++;
            continue;
        }
        clerk->quoted++;
        if (open[next].card)
            clerk->turnover += settle_quote(&open[next], i % 4 != 0);
        open[next] = quote;
        next = (next + 1) % 3;
    }
    for (unsigned i = 0; i < 3; i++)
        if (open[i].card)
            clerk->turnover += settle_quote(&open[i], true);
    return NULL;
}

int main(void)
{
    static struct tariff tariff;
    struct clerk clerks[CLERKS];
    pthread_t threads[CLERKS];

    for (unsigned i = 0; i < ZONES; i++)
        pthread_mutex_init(&tariff.zones[i].lock, NULL);
    load_tariff(&tariff, 1);

    for (unsigned i = 0; i < CLERKS; i++) {
        clerks[i] = (struct clerk) { .tariff = &tariff, .seed = 77 + i };
        if (pthread_create(&threads[i], NULL, clerk_work, &clerks[i]) != 0)
            return 1;
    }
    apply_surcharge(&tariff, 1, 45);
    apply_surcharge(&tariff, 4, 45);
    apply_surcharge(&tariff, 4, 45);
    load_tariff(&tariff, 2);
    apply_surcharge(&tariff, 2, 60);
    zone_withdraw(&tariff.zones[5]);
    apply_surcharge(&tariff, 5, 60);

    for (unsigned i = 0; i < CLERKS; i++)
        pthread_join(threads[i], NULL);

    unsigned quoted = 0, refused = 0;
    for (unsigned i = 0; i < CLERKS; i++) {
        quoted += clerks[i].quoted;
        refused += clerks[i].refused;
    }
    printf("%u quoted, %u refused, %u surcharge notices\n", quoted, refused, tariff.notices);

    for (unsigned i = 0; i < ZONES; i++) {
        zone_withdraw(&tariff.zones[i]);
        pthread_mutex_destroy(&tariff.zones[i].lock);
    }
    return 0;
}
