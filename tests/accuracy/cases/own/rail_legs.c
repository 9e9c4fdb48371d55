/*
 * summary: a relief train's legs are copied as a whole, and the copy's change station is not counted for
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O3 -g
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STATIONS 16
#define NO_CHANGE ""

typedef struct Station {
    char abbreviation[8];
    double latitude, longitude;
    atomic_uint ref_count;
    uint32_t platforms;
    char name[32];
} Station;

typedef struct Leg {
    struct Leg *next;
    Station *from, *to;
    Station *change; /* where the crew changes, or NULL */
    int departs, arrives;
} Leg;

typedef struct Train {
    unsigned number;
    Leg *first, *last;
    Station *home;
    bool relief;
} Train;

typedef struct Network {
    Station *stations[MAX_STATIONS];
    unsigned length;
} Network;

static Station *StationNew(const char *abbreviation, const char *name, uint32_t platforms)
{
    Station *station = calloc(1, sizeof(Station));
    if (!station)
        abort();
    strncpy(station->abbreviation, abbreviation, sizeof(station->abbreviation) - 1);
    strncpy(station->name, name, sizeof(station->name) - 1);
    station->platforms = platforms;
    atomic_init(&station->ref_count, 1);
    return station;
}

static inline Station *StationRef(Station *station)
{
    if (station)
        atomic_fetch_add(&station->ref_count, 1);
    return station;
}

static inline void StationUnref(Station *station)
{
    if (!station)
        return;
    if (atomic_fetch_sub(&station->ref_count, 1) == 1)
        free(station);
}

static void NetworkAdd(Network *network, const char *abbreviation, const char *name, uint32_t platforms)
{
    if (network->length < MAX_STATIONS)
        network->stations[network->length++] = StationNew(abbreviation, name, platforms);
}

/* A new reference, or NULL. */
static Station *NetworkLookup(Network *network, const char *abbreviation)
{
    for (unsigned i = 0; i < network->length; i++) {
        if (strcmp(network->stations[i]->abbreviation, abbreviation) == 0)
            return StationRef(network->stations[i]);
    }
    return NULL;
}

static void NetworkFree(Network *network)
{
    while (network->length > 0)
        StationUnref(network->stations[--network->length]);
}

static void LegFree(Leg *leg)
{
    StationUnref(leg->from);
    StationUnref(leg->to);
    StationUnref(leg->change);
    free(leg);
}

static void TrainAppend(Train *train, Leg *leg)
{
    leg->next = NULL;
    if (train->last)
        train->last->next = leg;
    else
        train->first = leg;
    train->last = leg;
}

static bool TrainAddLeg(Train *train, Network *network, const char *from, const char *to, const char *change,
                        int departs, int arrives)
{
    Leg *leg = calloc(1, sizeof(Leg));
    if (!leg)
        abort();
    leg->from = NetworkLookup(network, from);
    leg->to = NetworkLookup(network, to);
    leg->change = NetworkLookup(network, change);
    leg->departs = departs;
    leg->arrives = arrives;
    if (!leg->from || !leg->to || arrives <= departs) {
        LegFree(leg);
        return false;
    }
    if (train->last && train->last->to != leg->from) {
        LegFree(leg);
        return false;
    }
    if (!train->home)
        train->home = StationRef(leg->from);
    TrainAppend(train, leg);
    return true;
}

static Leg *LegCopy(const Leg *leg, int delay)
{
    Leg *copy = malloc(sizeof(Leg));
    if (!copy)
        abort();
    *copy = *leg; /* ACCEPTED */
    copy->departs += delay;
    copy->arrives += delay;
    StationRef(copy->from);
    StationRef(copy->to); /* GUILTY */
#ifndef BUG
    StationRef(copy->change);
#endif
    return copy;
}

static Train *TrainNew(unsigned number)
{
    Train *train = calloc(1, sizeof(Train));
    if (!train)
        abort();
    train->number = number;
    return train;
}

static void TrainFree(Train *train)
{
    Leg *leg = train->first;
    while (leg) {
        Leg *next = leg->next;
        LegFree(leg);
        leg = next;
    }
    StationUnref(train->home);
    free(train);
}

/* The relief train runs the same way from the station where the other one is stuck. */
static Train *TrainMakeRelief(const Train *train, const Station *stuck, int delay)
{
    Train *relief = TrainNew(train->number + 90000);
    relief->relief = true;
    for (const Leg *leg = train->first; leg; leg = leg->next) {
        if (!relief->first && leg->from != stuck)
            continue;
        TrainAppend(relief, LegCopy(leg, delay));
    }
    if (!relief->first) {
        TrainFree(relief);
        return NULL;
    }
    relief->home = StationRef(relief->first->from);
    return relief;
}

static void TrainTruncate(Train *train, const Station *at)
{
    Leg **link = &train->first;
    Leg *kept = NULL;
    while (*link && (*link)->from != at) {
        kept = *link;
        link = &kept->next;
    }
    Leg *rest = *link;
    *link = NULL;
    train->last = kept;
    while (rest) {
        Leg *next = rest->next;
        LegFree(rest);
        rest = next;
    }
}

static void TrainPrint(const Train *train)
{
    printf("%u%s from %s:", train->number, train->relief ? " (relief)" : "", train->home->name);
    for (const Leg *leg = train->first; leg; leg = leg->next) {
        printf(" %s-%s %02d:%02d", leg->from->abbreviation, leg->to->abbreviation, leg->departs / 60, leg->departs % 60);
        if (leg->change)
            printf(" [%s]", leg->change->abbreviation);
    }
    printf("\n");
}

int main(void)
{
    Network network = {.length = 0};
    NetworkAdd(&network, "HH", "Hamburg", 14);
    NetworkAdd(&network, "HB", "Bremen", 9);
    NetworkAdd(&network, "EOS", "Osnabrueck", 7);
    NetworkAdd(&network, "EMST", "Muenster", 9);
    NetworkAdd(&network, "EHM", "Hamm", 12);
    NetworkAdd(&network, "EDO", "Dortmund", 16);
    NetworkAdd(&network, "KK", "Koeln", 11);

    Train *evening = TrainNew(2311);
    Train *night = TrainNew(419);
    unsigned refused = 0;
    refused += !TrainAddLeg(evening, &network, "HH", "HB", NO_CHANGE, 1000, 1056);
    refused += !TrainAddLeg(evening, &network, "HB", "EOS", "HB", 1060, 1114);
    refused += !TrainAddLeg(evening, &network, "EOS", "EMST", NO_CHANGE, 1116, 1140);
    refused += !TrainAddLeg(evening, &network, "EMST", "EDO", "EHM", 1142, 1175);
    refused += !TrainAddLeg(evening, &network, "EDO", "KK", "EDO", 1180, 1252);
    refused += !TrainAddLeg(night, &network, "HH", "EOS", NO_CHANGE, 1300, 1420);
    refused += !TrainAddLeg(night, &network, "EMST", "KK", NO_CHANGE, 1425, 1500);
    refused += !TrainAddLeg(night, &network, "EOS", "KK", "EHM", 1425, 1500);

    Station *stuck = NetworkLookup(&network, "EOS");
    Train *relief = TrainMakeRelief(evening, stuck, 35);
    TrainTruncate(evening, stuck);
    TrainPrint(evening);
    if (relief)
        TrainPrint(relief);

    Station *closed = NetworkLookup(&network, "KK");
    Train *none = TrainMakeRelief(night, closed, 10);
    TrainPrint(night);
    printf("%u legs refused, %s second relief train\n", refused, none ? "a" : "no");

    StationUnref(closed);
    StationUnref(stuck);
    if (relief)
        TrainFree(relief);
    TrainFree(night);
    TrainFree(evening);
    NetworkFree(&network);
    return 0;
}
