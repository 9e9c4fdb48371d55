/*
 * summary: the registry hands out a tour whose last reference is gone and which is on its way out, with a plain get
 * kind: late-get
 * counts: none
 * objects: 1
 * track: own
 * build: gcc -O2 -g -pthread
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* kref.h */

struct kref {
    atomic_uint count;
};

static inline void kref_init(struct kref *k)
{
    atomic_init(&k->count, 1);
}

static inline void kref_get(struct kref *k)
{
    atomic_fetch_add_explicit(&k->count, 1, memory_order_relaxed);
}

static inline bool kref_get_unless_zero(struct kref *k)
{
    unsigned old = atomic_load(&k->count);

    while (old != 0)
        if (atomic_compare_exchange_weak(&k->count, &old, old + 1))
            return true;
    return false;
}

static inline bool kref_put(struct kref *k, void (*release)(struct kref *))
{
    if (atomic_fetch_sub_explicit(&k->count, 1, memory_order_acq_rel) == 1) {
        release(k);
        return true;
    }
    return false;
}

/* tour.h */

#define STOPS 6

struct tour {
    struct tour *next;
    char language[8];
    int number;
    struct kref ref;
    unsigned plays[STOPS];
};

static void tour_release(struct kref *k);

static inline void tour_get(struct tour *t)
{
    kref_get(&t->ref);
}

static inline bool tour_get_unless_zero(struct tour *t)
{
    return kref_get_unless_zero(&t->ref);
}

static inline void tour_put(struct tour *t)
{
    kref_put(&t->ref, tour_release);
}

/* The history goes to a slow medium; whoever writes there may wait for it. */

struct medium {
    sem_t busy, ready;
    int slow_number;
    unsigned written;
};

static struct medium medium;

static void medium_write(int number, unsigned total)
{
    printf("history: tour %d, %u plays\n", number, total);
    medium.written++;
    if (number == medium.slow_number) {
        sem_post(&medium.busy);
        sem_wait(&medium.ready);
    }
}

/* Registry: the tours in use, by number and language. It has no references to them. */

static struct {
    pthread_mutex_t lock;
    struct tour *head;
    unsigned opened;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct tour *registry_find(int number, const char *language)
{
    struct tour *t;

    for (t = registry.head; t != NULL; t = t->next) {
        if (t->number != number || strcmp(t->language, language) != 0)
            continue;
#ifdef BUG
        tour_get(t); /* GUILTY */
        return t;
#else
        if (tour_get_unless_zero(t))
            return t;
#endif
    }
    return NULL;
}

static bool registry_remove(const struct tour *gone)
{
    struct tour **link;
    bool found = false;

    pthread_mutex_lock(&registry.lock);
    for (link = &registry.head; *link != NULL; link = &(*link)->next) {
        if (*link == gone) {
            *link = gone->next;
            found = true;
            break;
        }
    }
    pthread_mutex_unlock(&registry.lock);
    return found;
}

static struct tour *tour_new(int number, const char *language)
{
    struct tour *t = calloc(1, sizeof *t);

    if (t == NULL)
        abort();
    t->number = number;
    strncpy(t->language, language, sizeof t->language - 1);
    kref_init(&t->ref);
    return t;
}

static struct tour *tour_open(int number, const char *language)
{
    struct tour *t;

    pthread_mutex_lock(&registry.lock);
    t = registry_find(number, language);
    if (t == NULL) {
        t = tour_new(number, language);
        t->next = registry.head;
        registry.head = t;
        registry.opened++;
    }
    pthread_mutex_unlock(&registry.lock);
    return t;
}

static unsigned tour_total(const struct tour *t)
{
    unsigned total = 0;

    for (int i = 0; i < STOPS; i++)
        total += t->plays[i];
    return total;
}

static void tour_release(struct kref *k)
{
    struct tour *t = (struct tour *)((char *)k - offsetof(struct tour, ref));

    if (tour_total(t) > 0)
        medium_write(t->number, tour_total(t));
    if (registry_remove(t))
        free(t);
}

/* Handsets are given out at the desk; each has the tour that it plays. */

struct handset {
    int id;
    struct tour *tour;
    unsigned at;
};

static void handset_select(struct handset *h, int number, const char *language)
{
    struct tour *next = tour_open(number, language);

    if (h->tour != NULL)
        tour_put(h->tour);
    h->tour = next;
    h->at = 0;
}

static void handset_share(const struct handset *from, struct handset *to)
{
    tour_get(from->tour);
    if (to->tour != NULL)
        tour_put(to->tour);
    to->tour = from->tour;
    to->at = from->at;
}

static void handset_play(struct handset *h, unsigned stops)
{
    while (stops-- > 0)
        h->tour->plays[h->at++ % STOPS]++;
}

static void handset_return(struct handset *h)
{
    struct tour *t = h->tour;

    h->tour = NULL;
    if (t != NULL)
        tour_put(t);
}

static void *desk(void *arg)
{
    handset_return(arg);
    return NULL;
}

int main(void)
{
    static const struct {
        int number;
        const char *language;
    } wishes[] = { { 1, "en" }, { 2, "en" }, { 2, "fr" }, { 3, "de" }, { 4, "en" }, { 5, "it" }, { 1, "en" } };
    enum { HANDSETS = sizeof wishes / sizeof wishes[0] };
    struct handset handsets[HANDSETS], late = { .id = 100 };
    pthread_t thread;

    sem_init(&medium.busy, 0, 0);
    sem_init(&medium.ready, 0, 0);
    for (int i = 0; i < HANDSETS; i++) {
        handsets[i] = (struct handset){ .id = i };
        handset_select(&handsets[i], wishes[i].number, wishes[i].language);
        handset_play(&handsets[i], 2 + (unsigned)i);
    }
    handset_share(&handsets[0], &handsets[5]);
    handset_play(&handsets[5], 1);

    medium.slow_number = 4;
    pthread_create(&thread, NULL, desk, &handsets[4]);
    sem_wait(&medium.busy);
    handset_select(&late, 4, "en");
    medium.slow_number = 0;
    sem_post(&medium.ready);
    pthread_join(thread, NULL);
    handset_select(&late, 1, "en");

    handset_play(&late, 1);
    for (int i = 0; i < HANDSETS; i++)
        handset_return(&handsets[i]);
    handset_return(&late);
    printf("%u tours opened, %u written\n", registry.opened, medium.written);
    return 0;
}
