/*
 * summary: the walk over the registry is left in the middle, with the reference that it has on the dossier it stands on
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A dossier that was withdrawn stays in the chain until nobody walks on it any more. */
struct dossier {
    struct dossier *next, *previous;
    char number[12];
    char applicant[24];
    unsigned filed; /* days since the office opened */
    unsigned fee_due;
    bool withdrawn;
    unsigned usage;
};

struct registry {
    pthread_mutex_t lock;
    struct dossier *first, *last;
    unsigned length;
};

static struct dossier *dossier_open(const char *number, const char *applicant, unsigned filed, unsigned fee_due)
{
    struct dossier *dossier = calloc(1, sizeof *dossier);
    if (!dossier)
        abort();
    snprintf(dossier->number, sizeof dossier->number, "%s", number);
    snprintf(dossier->applicant, sizeof dossier->applicant, "%s", applicant);
    dossier->filed = filed;
    dossier->fee_due = fee_due;
    dossier->usage = 1;
    return dossier;
}

static void dossier_get(struct dossier *dossier)
{
    __sync_fetch_and_add(&dossier->usage, 1);
}

static void dossier_put(struct dossier *dossier)
{
    if (dossier && __sync_sub_and_fetch(&dossier->usage, 1) == 0)
        free(dossier);
}

static void registry_append(struct registry *registry, struct dossier *dossier)
{
    dossier_get(dossier);
    pthread_mutex_lock(&registry->lock);
    dossier->previous = registry->last;
    if (registry->last)
        registry->last->next = dossier;
    else
        registry->first = dossier;
    registry->last = dossier;
    registry->length++;
    pthread_mutex_unlock(&registry->lock);
}

static void registry_unlink(struct registry *registry, struct dossier *dossier)
{
    *(dossier->previous ? &dossier->previous->next : &registry->first) = dossier->next;
    *(dossier->next ? &dossier->next->previous : &registry->last) = dossier->previous;
    dossier->next = dossier->previous = NULL;
    registry->length--;
}

/*
 * The one after `dossier`, or the first one after NULL: with a reference, for the one that the caller had on `dossier`.
 * At the end it is NULL.
 */
static struct dossier *dossier_next(struct registry *registry, struct dossier *dossier)
{
    struct dossier *next;
    pthread_mutex_lock(&registry->lock);
    next = dossier ? dossier->next : registry->first;
    while (next && next->withdrawn)
        next = next->next;
    if (next)
        dossier_get(next);
    pthread_mutex_unlock(&registry->lock);
    dossier_put(dossier);
    return next;
}

#define for_each_dossier(registry, dossier) \
    for (dossier = dossier_next(registry, NULL); dossier; dossier = dossier_next(registry, dossier))

/* With a reference for the caller. */
static struct dossier *find_number(struct registry *registry, const char *number)
{
    struct dossier *dossier;
    for_each_dossier(registry, dossier)
        if (!strcmp(dossier->number, number))
            return dossier;
    return NULL;
}

static unsigned count_due(struct registry *registry, unsigned today)
{
    struct dossier *dossier;
    unsigned due = 0;
    for_each_dossier(registry, dossier) {
        if (dossier->fee_due > today)
            continue;
        due++;
    }
    return due;
}

/* Has the applicant filed anything since that day? */
static bool filed_since(struct registry *registry, const char *applicant, unsigned day)
{
    struct dossier *dossier;
    for_each_dossier(registry, dossier) {
        if (strcmp(dossier->applicant, applicant) != 0)
            continue;
        if (dossier->filed >= day) { /* ACCEPTED */
#ifndef BUG
            dossier_put(dossier);
#endif
            return true; /* GUILTY */
        }
    }
    return false;
}

static unsigned oldest_of(struct registry *registry, const char *applicant, char *number, size_t size)
{
    struct dossier *dossier, *oldest = NULL;
    unsigned filed = 0;
    for_each_dossier(registry, dossier) {
        if (strcmp(dossier->applicant, applicant) != 0)
            continue;
        if (!oldest || dossier->filed < oldest->filed) {
            dossier_put(oldest);
            dossier_get(dossier);
            oldest = dossier;
        }
    }
    if (oldest) {
        snprintf(number, size, "%s", oldest->number);
        filed = oldest->filed;
    }
    dossier_put(oldest);
    return filed;
}

static bool withdraw(struct registry *registry, const char *number)
{
    struct dossier *dossier = find_number(registry, number);
    if (!dossier)
        return false;
    pthread_mutex_lock(&registry->lock);
    bool done = !dossier->withdrawn;
    dossier->withdrawn = true;
    pthread_mutex_unlock(&registry->lock);
    dossier_put(dossier);
    return done;
}

/* In the evening, when the walkers are gone. */
static unsigned sweep(struct registry *registry, bool all)
{
    unsigned swept = 0;
    pthread_mutex_lock(&registry->lock);
    struct dossier *dossier = registry->first;
    while (dossier) {
        struct dossier *next = dossier->next;
        if (all || dossier->withdrawn) {
            registry_unlink(registry, dossier);
            dossier_put(dossier);
            swept++;
        }
        dossier = next;
    }
    pthread_mutex_unlock(&registry->lock);
    return swept;
}

struct desk {
    struct registry *registry;
    const char *const *applicants;
    unsigned since;
    unsigned active, idle, due;
};

static void *desk_work(void *data)
{
    struct desk *desk = data;
    for (const char *const *applicant = desk->applicants; *applicant; applicant++) {
        if (filed_since(desk->registry, *applicant, desk->since))
            desk->active++;
        else
            desk->idle++;
        desk->due += count_due(desk->registry, desk->since + 60);
    }
    return NULL;
}

int main(void)
{
    static const struct { const char *number, *applicant; unsigned filed, fee_due; } files[] = {
        { "EP-20117", "Halvorsen Pumps", 4120, 4500 }, { "EP-20131", "Ito Optics", 4133, 4410 },
        { "EP-20133", "Halvorsen Pumps", 4140, 4520 }, { "EP-20140", "Brook & Daly", 4151, 4470 },
        { "EP-20152", "Ito Optics", 4390, 4770 },      { "EP-20160", "Kowal", 4160, 4540 },
        { "EP-20171", "Brook & Daly", 4402, 4790 },    { "EP-20188", "Kowal", 4201, 4580 },
    };
    static const char *const morning[] = { "Halvorsen Pumps", "Ito Optics", NULL };
    static const char *const afternoon[] = { "Brook & Daly", "Kowal", "Nobody Ltd", NULL };
    struct registry registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct dossier *dossier = dossier_open(files[i].number, files[i].applicant, files[i].filed, files[i].fee_due);
        registry_append(&registry, dossier);
        dossier_put(dossier);
    }
    withdraw(&registry, "EP-20133");
    withdraw(&registry, "EP-29999");

    struct desk desks[] = {
        { .registry = &registry, .applicants = morning, .since = 4380 },
        { .registry = &registry, .applicants = afternoon, .since = 4380 },
    };
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, desk_work, &desks[i]) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    char number[12] = "";
    unsigned filed = oldest_of(&registry, "Kowal", number, sizeof number);
    printf("%u active, %u idle, %u fees seen due\n", desks[0].active + desks[1].active, desks[0].idle + desks[1].idle,
           desks[0].due + desks[1].due);
    printf("oldest of Kowal: %s of day %u\n", number, filed);

    unsigned swept = sweep(&registry, false);
    printf("%u swept, %u left\n", swept, registry.length);
    sweep(&registry, true);
    return 0;
}
