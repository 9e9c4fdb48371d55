/*
 * summary: a loom that has woven its last pattern still points at it, and stopping the loom releases that pattern again
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O3 -g -pthread
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOMS 3
#define DEPTH 8
#define WEFTS 24

/* pattern.h: a woven pattern, shared by the catalogue, the queues of the looms and the looms. */

struct pattern {
    char name[20];
    uint32_t id;
    atomic_int users;
    unsigned wefts;
    uint32_t rows[WEFTS];
};

static inline struct pattern *pattern_acquire(struct pattern *p)
{
    atomic_fetch_add_explicit(&p->users, 1, memory_order_relaxed);
    return p;
}

static inline void pattern_release(struct pattern *p)
{
    if (atomic_fetch_sub_explicit(&p->users, 1, memory_order_acq_rel) == 1)
        free(p);
}

static struct pattern *pattern_draft(uint32_t id, const char *name, unsigned wefts)
{
    struct pattern *p = malloc(sizeof *p);

    if (p == NULL)
        abort();
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", name);
    p->id = id;
    p->wefts = wefts < WEFTS ? wefts : WEFTS;
    for (unsigned i = 0; i < p->wefts; i++)
        p->rows[i] = (id * 2654435761u) ^ (i * 40503u);
    atomic_init(&p->users, 1);
    return p;
}

/* A loom weaves what lies in its queue, in a thread of its own. */

struct loom {
    int id;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct pattern *queue[DEPTH];
    unsigned head, tail;
    struct pattern *current;
    bool running;
    bool jammed;
    unsigned woven;
    uint32_t cloth;
};

static void loom_weave(struct loom *loom, const struct pattern *p)
{
    for (unsigned i = 0; i < p->wefts; i++)
        loom->cloth = loom->cloth * 31 + p->rows[i];
    loom->woven++;
}

static bool loom_next(struct loom *loom)
{
    pthread_mutex_lock(&loom->lock);
    while (loom->head == loom->tail && loom->running)
        pthread_cond_wait(&loom->change, &loom->lock);
    if (loom->head == loom->tail) {
        pthread_mutex_unlock(&loom->lock);
        return false;
    }
    loom->current = loom->queue[loom->head++ % DEPTH];
    pthread_mutex_unlock(&loom->lock);
    return true;
}

static void *loom_run(void *arg)
{
    struct loom *loom = arg;

    while (loom_next(loom)) {
        if (loom->current->wefts == 0) {
            loom->jammed = true;
            break;
        }
        loom_weave(loom, loom->current);
        pattern_release(loom->current); /* GUILTY */
#ifndef BUG
        loom->current = NULL;
#endif
    }
    return NULL;
}

static void loom_start(struct loom *loom, int id)
{
    memset(loom, 0, sizeof *loom);
    loom->id = id;
    loom->running = true;
    pthread_mutex_init(&loom->lock, NULL);
    pthread_cond_init(&loom->change, NULL);
    if (pthread_create(&loom->thread, NULL, loom_run, loom) != 0)
        abort();
}

/* Takes a reference of its own. */
static bool loom_enqueue(struct loom *loom, struct pattern *p)
{
    bool room;

    pthread_mutex_lock(&loom->lock);
    room = loom->tail - loom->head < DEPTH;
    if (room) {
        loom->queue[loom->tail++ % DEPTH] = pattern_acquire(p);
        pthread_cond_signal(&loom->change);
    }
    pthread_mutex_unlock(&loom->lock);
    return room;
}

/* Lets the loom finish its queue. A jammed one leaves the pattern in the shed and the rest undone. */
static void loom_stop(struct loom *loom)
{
    pthread_mutex_lock(&loom->lock);
    loom->running = false;
    pthread_cond_signal(&loom->change);
    pthread_mutex_unlock(&loom->lock);
    pthread_join(loom->thread, NULL);

    if (loom->current != NULL) {
        pattern_release(loom->current); /* ACCEPTED */
        loom->current = NULL;
    }
    while (loom->head != loom->tail)
        pattern_release(loom->queue[loom->head++ % DEPTH]);
    pthread_cond_destroy(&loom->change);
    pthread_mutex_destroy(&loom->lock);
}

/* The catalogue of the mill. */

struct catalogue {
    struct pattern **patterns;
    size_t count, room;
};

static void catalogue_add(struct catalogue *c, struct pattern *p)
{
    if (c->count == c->room) {
        c->room = c->room != 0 ? 2 * c->room : 4;
        c->patterns = realloc(c->patterns, c->room * sizeof *c->patterns);
        if (c->patterns == NULL)
            abort();
    }
    c->patterns[c->count++] = p;
}

static struct pattern *catalogue_find(const struct catalogue *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->patterns[i]->name, name) == 0)
            return pattern_acquire(c->patterns[i]);
    return NULL;
}

static void catalogue_clear(struct catalogue *c)
{
    for (size_t i = 0; i < c->count; i++)
        pattern_release(c->patterns[i]);
    free(c->patterns);
    memset(c, 0, sizeof *c);
}

static bool mill_order(struct catalogue *c, struct loom *loom, const char *name)
{
    struct pattern *p = catalogue_find(c, name);
    bool ok;

    if (p == NULL) {
        printf("no pattern %s\n", name);
        return false;
    }
    ok = loom_enqueue(loom, p);
    pattern_release(p);
    return ok;
}

int main(void)
{
    static const struct {
        const char *name;
        unsigned wefts;
    } drafts[] = { { "herringbone", 16 }, { "houndstooth", 12 }, { "birdseye", 20 }, { "blank", 0 }, { "twill", 8 }, { "tartan", 24 } };
    static const struct {
        int loom;
        const char *name;
    } orders[] = {
        { 0, "herringbone" }, { 1, "twill" }, { 2, "tartan" }, { 0, "birdseye" }, { 1, "houndstooth" },
        { 2, "blank" }, { 2, "twill" }, { 0, "damask" }, { 0, "tartan" }, { 1, "birdseye" },
    };
    struct catalogue catalogue = { NULL, 0, 0 };
    struct loom looms[LOOMS];
    unsigned placed = 0;

    for (size_t i = 0; i < sizeof drafts / sizeof drafts[0]; i++)
        catalogue_add(&catalogue, pattern_draft((uint32_t)i + 1, drafts[i].name, drafts[i].wefts));
    for (int i = 0; i < LOOMS; i++)
        loom_start(&looms[i], i);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        placed += mill_order(&catalogue, &looms[orders[i].loom], orders[i].name);
    for (int i = 0; i < LOOMS; i++) {
        loom_stop(&looms[i]);
        printf("loom %d: %u woven, cloth %08x%s\n", looms[i].id, looms[i].woven, (unsigned)looms[i].cloth,
               looms[i].jammed ? ", jammed" : "");
    }
    printf("%u orders placed\n", placed);
    catalogue_clear(&catalogue);
    return 0;
}
