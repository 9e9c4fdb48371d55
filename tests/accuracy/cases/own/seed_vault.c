/*
 * summary: a lot that the index refuses as a duplicate is put by the receiver too, although the index has put it
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: own
 * build: gcc -O3 -g -pthread
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The seed vault: lots come in, are listed under their accession number, and samples of some of them go through a
   germination test, which a thread of its own works off. */

#define BUCKETS 32

struct lot {
    int accession;
    int year;
    char species[32];
    int seeds;
    int viable; /* per cent, -1: not tested */
    int users;
    unsigned flags;
};

enum { LOT_QUARANTINE = 1, LOT_TESTED = 2 };

struct index_node {
    struct index_node *next;
    struct lot *lot;
};

struct test_request {
    struct test_request *next;
    struct lot *lot;
    int sample;
};

struct vault {
    pthread_mutex_t lock; /* guards the lots' users and the two lists */
    struct index_node *buckets[BUCKETS];
    struct test_request *first;
    struct test_request **last;
    pthread_t tester;
    bool testing;
    int listed;
    int refused;
    int tested;
};

static struct vault vault = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &vault.first};

static struct lot *lot_create(int accession, const char *species, int year, int seeds)
{
    struct lot *lot = calloc(1, sizeof *lot);

    if (lot == NULL)
        abort();
    lot->accession = accession;
    snprintf(lot->species, sizeof lot->species, "%s", species);
    lot->year = year;
    lot->seeds = seeds;
    lot->viable = -1;
    lot->users = 1;
    return lot;
}

static struct lot *lot_get(struct lot *lot)
{
    pthread_mutex_lock(&vault.lock);
    lot->users++;
    pthread_mutex_unlock(&vault.lock);
    return lot;
}

static void lot_put(struct lot *lot)
{
    int users;

    if (lot == NULL)
        return;
    pthread_mutex_lock(&vault.lock);
    users = --lot->users;
    pthread_mutex_unlock(&vault.lock);
    if (users == 0)
        free(lot);
}

/* Lists the lot. The reference of the caller belongs to the index from here on, whatever comes of it. */
static bool index_insert(struct lot *lot)
{
    struct index_node **bucket = &vault.buckets[(unsigned)lot->accession % BUCKETS];
    struct index_node *node;

    pthread_mutex_lock(&vault.lock);
    for (node = *bucket; node != NULL; node = node->next)
        if (node->lot->accession == lot->accession)
            break;
    if (node != NULL) {
        vault.refused++;
        pthread_mutex_unlock(&vault.lock);
        lot_put(lot); /* ACCEPTED */
        return false;
    }
    node = malloc(sizeof *node);
    if (node == NULL)
        abort();
    node->lot = lot;
    node->next = *bucket;
    *bucket = node;
    vault.listed++;
    pthread_mutex_unlock(&vault.lock);
    return true;
}

/* Returns the lot with a reference for the caller, or NULL. */
static struct lot *index_find(int accession)
{
    struct lot *found = NULL;

    pthread_mutex_lock(&vault.lock);
    for (struct index_node *node = vault.buckets[(unsigned)accession % BUCKETS]; node != NULL; node = node->next) {
        if (node->lot->accession == accession) {
            found = node->lot;
            found->users++;
            break;
        }
    }
    pthread_mutex_unlock(&vault.lock);
    return found;
}

/* Takes the lot out of the index; its reference becomes the caller's. */
static struct lot *index_remove(int accession)
{
    struct index_node **link = &vault.buckets[(unsigned)accession % BUCKETS];
    struct lot *lot = NULL;

    pthread_mutex_lock(&vault.lock);
    while (*link != NULL && (*link)->lot->accession != accession)
        link = &(*link)->next;
    if (*link != NULL) {
        struct index_node *node = *link;

        *link = node->next;
        lot = node->lot;
        free(node);
        vault.listed--;
    }
    pthread_mutex_unlock(&vault.lock);
    return lot;
}

static void request_test(struct lot *lot, int sample)
{
    struct test_request *request = malloc(sizeof *request);

    if (request == NULL)
        abort();
    request->next = NULL;
    request->sample = sample;
    request->lot = lot_get(lot);
    pthread_mutex_lock(&vault.lock);
    *vault.last = request;
    vault.last = &request->next;
    pthread_mutex_unlock(&vault.lock);
}

static void *tester_main(void *unused)
{
    (void)unused;
    for (;;) {
        struct test_request *request;
        struct lot *lot;

        pthread_mutex_lock(&vault.lock);
        request = vault.first;
        if (request != NULL) {
            vault.first = request->next;
            if (vault.first == NULL)
                vault.last = &vault.first;
        }
        pthread_mutex_unlock(&vault.lock);
        if (request == NULL)
            return NULL;

        lot = request->lot;
        lot->viable = 97 - (2025 - lot->year) * 2 - request->sample % 3;
        lot->seeds -= request->sample;
        lot->flags |= LOT_TESTED;
        vault.tested++;
        lot_put(lot);
        free(request);
    }
}

static void start_tests(void)
{
    if (!vault.testing && pthread_create(&vault.tester, NULL, tester_main, NULL) == 0)
        vault.testing = true;
}

static void finish_tests(void)
{
    if (vault.testing)
        pthread_join(vault.tester, NULL);
    vault.testing = false;
}

/* A delivery: old or small lots are listed without a test. */
static int receive(int accession, const char *species, int year, int seeds)
{
    struct lot *lot = lot_create(accession, species, year, seeds);

    if (seeds <= 0) {
        lot_put(lot);
        return -1;
    }
    if (year < 2000)
        lot->flags |= LOT_QUARANTINE;
    if (seeds >= 500)
        request_test(lot, seeds / 100);
    if (!index_insert(lot)) {
        printf("%d is listed already, %s of %d goes back\n", accession, species, year);
#ifdef BUG
        lot_put(lot); /* GUILTY */
#endif
        return -1;
    }
    return 0;
}

static void withdraw(int accession, int seeds)
{
    struct lot *lot = index_find(accession);

    if (lot == NULL) {
        printf("%d is not here\n", accession);
        return;
    }
    lot->seeds -= seeds;
    if (lot->seeds <= 0) {
        printf("%d is used up\n", accession);
        lot_put(index_remove(accession));
    }
    lot_put(lot);
}

static void print_lot(int accession)
{
    struct lot *lot = index_find(accession);

    if (lot == NULL)
        return;
    printf("%d %-20s %d: %d seeds, viable %d%s\n", lot->accession, lot->species, lot->year, lot->seeds, lot->viable,
           lot->flags & LOT_QUARANTINE ? ", quarantine" : "");
    lot_put(lot);
}

int main(void)
{
    static const int numbers[] = {7001, 7002, 7003, 7004, 7005, 7006};

    receive(7001, "Triticum monococcum", 2019, 1200);
    receive(7002, "Secale cereale", 2021, 90);
    receive(7003, "Lens culinaris", 1997, 400);
    receive(7004, "Vicia faba", 2020, 0);
    receive(7005, "Papaver somniferum", 2016, 5000);
    start_tests();
    finish_tests();
    withdraw(7002, 90);
    withdraw(7004, 10);
    withdraw(7005, 250);

    receive(7006, "Hordeum vulgare", 2022, 2400);
    receive(7001, "Triticum dicoccum", 2023, 800);
    start_tests();
    finish_tests();

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        print_lot(numbers[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        lot_put(index_remove(numbers[i]));
    printf("%d tested, %d refused, %d still listed\n", vault.tested, vault.refused, vault.listed);
    return 0;
}
