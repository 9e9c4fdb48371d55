/*
 * summary: the refusal of a coupon that does not go with the shop's own offer puts that offer, which was only looked up
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: own
 * build: clang -O2 -g
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CATALOGUE_LENGTH 12
#define BASKET_OFFERS 4

enum outcome { APPLIED, UNKNOWN_CODE, NOT_YET_VALID, BELOW_MINIMUM, NOT_COMBINABLE, BASKET_FULL };

static const char *const outcomes[] = {
    "applied", "unknown code", "not valid", "below the minimum", "cannot be combined", "too many offers",
};

struct campaign {
    char code[16];
    unsigned percent;
    long minimum; /* cents */
    int users;
    unsigned first_day, last_day;
    unsigned group; /* campaigns of one group exclude each other */
    unsigned redeemed;
};

struct catalogue {
    struct campaign *campaigns[CATALOGUE_LENGTH];
    unsigned length;
};

struct shop {
    const char *city;
    struct catalogue *catalogue;
    char house_code[16];
    unsigned today;
};

struct basket {
    struct shop *shop;
    unsigned number;
    long total; /* cents */
    struct campaign *offers[BASKET_OFFERS];
    unsigned offer_count;
};

static struct campaign *campaign_new(const char *code, unsigned percent, long minimum, unsigned first_day,
                                     unsigned last_day, unsigned group)
{
    struct campaign *campaign = calloc(1, sizeof *campaign);
    if (!campaign)
        abort();
    snprintf(campaign->code, sizeof campaign->code, "%s", code);
    campaign->percent = percent;
    campaign->minimum = minimum;
    campaign->first_day = first_day;
    campaign->last_day = last_day;
    campaign->group = group;
    campaign->users = 1;
    return campaign;
}

static struct campaign *campaign_hold(struct campaign *campaign)
{
    campaign->users++;
    return campaign;
}

static void campaign_drop(struct campaign *campaign)
{
    if (--campaign->users == 0)
        free(campaign);
}

/* Takes over the caller's reference. */
static void catalogue_add(struct catalogue *catalogue, struct campaign *campaign)
{
    if (catalogue->length == CATALOGUE_LENGTH) {
        campaign_drop(campaign);
        return;
    }
    catalogue->campaigns[catalogue->length++] = campaign;
}

/* Belongs to the catalogue. */
static struct campaign *catalogue_peek(struct catalogue *catalogue, const char *code)
{
    for (unsigned i = 0; i < catalogue->length; i++) {
        if (!strcmp(catalogue->campaigns[i]->code, code))
            return catalogue->campaigns[i];
    }
    return NULL;
}

/* Belongs to the caller. */
static struct campaign *catalogue_take(struct catalogue *catalogue, const char *code)
{
    struct campaign *campaign = catalogue_peek(catalogue, code);
    return campaign ? campaign_hold(campaign) : NULL;
}

static bool catalogue_withdraw(struct catalogue *catalogue, const char *code)
{
    for (unsigned i = 0; i < catalogue->length; i++) {
        struct campaign *campaign = catalogue->campaigns[i];
        if (strcmp(campaign->code, code))
            continue;
        catalogue->campaigns[i] = catalogue->campaigns[--catalogue->length];
        campaign_drop(campaign);
        return true;
    }
    return false;
}

static void catalogue_close(struct catalogue *catalogue)
{
    while (catalogue->length > 0)
        campaign_drop(catalogue->campaigns[--catalogue->length]);
}

static bool campaigns_combine(const struct campaign *a, const struct campaign *b)
{
    return a == b || a->group != b->group;
}

static bool basket_excludes(const struct basket *basket, const struct campaign *campaign)
{
    for (unsigned i = 0; i < basket->offer_count; i++) {
        if (basket->offers[i] == campaign || !campaigns_combine(basket->offers[i], campaign))
            return true;
    }
    return false;
}

static enum outcome basket_redeem(struct basket *basket, const char *code)
{
    struct shop *shop = basket->shop;
    struct campaign *campaign = catalogue_take(shop->catalogue, code);
    struct campaign *house = catalogue_peek(shop->catalogue, shop->house_code);
    enum outcome outcome = APPLIED;

    if (!campaign)
        return UNKNOWN_CODE;
    if (shop->today < campaign->first_day || shop->today > campaign->last_day) {
        outcome = NOT_YET_VALID;
        goto refuse;
    }
    if (basket->total < campaign->minimum) {
        outcome = BELOW_MINIMUM;
        goto refuse;
    }
    if (house && !campaigns_combine(house, campaign)) {
#ifdef BUG
        campaign_drop(house); /* GUILTY */
#endif
        outcome = NOT_COMBINABLE;
        goto refuse;
    }
    if (basket_excludes(basket, campaign)) {
        outcome = NOT_COMBINABLE;
        goto refuse;
    }
    if (basket->offer_count == BASKET_OFFERS) {
        outcome = BASKET_FULL;
        goto refuse;
    }
    campaign->redeemed++;
    basket->offers[basket->offer_count++] = campaign;
    return APPLIED;

refuse:
    campaign_drop(campaign);
    return outcome;
}

static void basket_open(struct basket *basket, struct shop *shop, unsigned number, long total)
{
    *basket = (struct basket) { .shop = shop, .number = number, .total = total };
    struct campaign *house = catalogue_take(shop->catalogue, shop->house_code);
    if (!house)
        return;
    if (total >= house->minimum)
        basket->offers[basket->offer_count++] = house;
    else
        campaign_drop(house);
}

static long basket_pay(struct basket *basket)
{
    long due = basket->total;
    for (unsigned i = 0; i < basket->offer_count; i++)
        due -= basket->total * (long) basket->offers[i]->percent / 100;
    return due < 0 ? 0 : due;
}

static void basket_close(struct basket *basket)
{
    while (basket->offer_count > 0)
        campaign_drop(basket->offers[--basket->offer_count]);
}

int main(void)
{
    static const struct { unsigned shop; long total; const char *codes[3]; } visits[] = {
        { 0, 4250, { "SPRING10", "NEWS5", NULL } },
        { 1, 990, { "NEWS5", "LOYAL15", NULL } },
        { 1, 8300, { "LOYAL15", "SUNDAY", "FRIENDS" } },
        { 0, 12000, { "BULK20", "FRIENDS", "WINTER" } },
        { 2, 5600, { "STUDENT", "NEWS5", NULL } },
    };
    struct catalogue catalogue = { .length = 0 };
    struct shop shops[] = {
        { "Ghent", &catalogue, "GHENT3", 100 },
        { "Liege", &catalogue, "LIEGE8", 101 },
        { "Bruges", &catalogue, "", 102 },
    };
    long taken = 0;
    unsigned applied = 0, refused = 0;

    catalogue_add(&catalogue, campaign_new("GHENT3", 3, 1000, 1, 365, 1));
    catalogue_add(&catalogue, campaign_new("LIEGE8", 8, 2000, 1, 365, 2));
    catalogue_add(&catalogue, campaign_new("SPRING10", 10, 2500, 80, 120, 3));
    catalogue_add(&catalogue, campaign_new("NEWS5", 5, 0, 1, 365, 4));
    catalogue_add(&catalogue, campaign_new("LOYAL15", 15, 5000, 1, 365, 2));
    catalogue_add(&catalogue, campaign_new("BULK20", 20, 10000, 1, 365, 5));
    catalogue_add(&catalogue, campaign_new("WINTER", 12, 0, 330, 365, 3));
    catalogue_add(&catalogue, campaign_new("FRIENDS", 6, 0, 1, 365, 6));

    for (unsigned i = 0; i < sizeof visits / sizeof *visits; i++) {
        struct shop *shop = &shops[visits[i].shop];
        struct basket basket;

        basket_open(&basket, shop, i + 1, visits[i].total);
        for (unsigned k = 0; k < 3 && visits[i].codes[k]; k++) {
            enum outcome outcome = basket_redeem(&basket, visits[i].codes[k]);
            printf("%s #%u %s: %s\n", shop->city, basket.number, visits[i].codes[k], outcomes[outcome]);
            if (outcome == APPLIED)
                applied++;
            else
                refused++;
        }
        if (i == 3)
            catalogue_withdraw(&catalogue, "BULK20");
        taken += basket_pay(&basket);
        basket_close(&basket);
    }

    printf("%u applied, %u refused, %ld.%02ld taken, %u campaigns\n", applied, refused, taken / 100, taken % 100,
           catalogue.length);
    catalogue_close(&catalogue);
    return 0;
}
