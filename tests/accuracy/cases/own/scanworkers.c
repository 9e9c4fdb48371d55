/* summary: ring_push() takes over the caller's reference in any case, but when the ring is closed it only reports that and keeps the file's reference
 * kind: missing-put
 * counts: surplus
 * objects: 7
 * track: auto
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * A virus scanner's back end: files are pushed into the ring of a scanner
 * thread, the report holds those that it lists. A ring is closed when its
 * engine is to be updated.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RINGS 2
#define RING_SIZE 8

struct sfile
{
    char path[32];
    uint32_t hash;
    atomic_int infected;
    atomic_uint usecnt;
};

struct ring
{
    pthread_mutex_t mtx;
    pthread_cond_t nonempty, nonfull, idle;
    struct sfile *items[RING_SIZE];
    unsigned head, tail;
    int closed, busy, quit;
    unsigned scanned, dropped;
    pthread_t thread;
};

static struct ring rings[RINGS];

static struct sfile *sfile_open(const char *path)
{
    struct sfile *f = calloc(1, sizeof(struct sfile));

    if (f == NULL)
        abort();
    snprintf(f->path, sizeof(f->path), "%s", path);
    atomic_init(&f->usecnt, 1);
    return f;
}

__attribute__((noinline)) static struct sfile *sfile_ref(struct sfile *f)
{
    atomic_fetch_add_explicit(&f->usecnt, 1, memory_order_relaxed);
    return f;
}

__attribute__((noinline)) static void sfile_unref(struct sfile *f)
{
    if (f == NULL)
        return;
    if (atomic_fetch_sub_explicit(&f->usecnt, 1, memory_order_acq_rel) == 1)
        free(f);
}

static void scan(struct sfile *f)
{
    uint32_t h = 2166136261u;

    for (int round = 0; round < 500; round++)
        for (const char *p = f->path; *p; p++)
            h = (h ^ (unsigned char)*p) * 16777619u;
    f->hash = h;
    if (h % 11 == 0)
        atomic_store(&f->infected, 1);
}

/* Consumes the reference. Returns -1 if nobody will scan the file. */
static int ring_push(struct ring *r, struct sfile *f)
{
    pthread_mutex_lock(&r->mtx);
    while (!r->closed && r->head - r->tail == RING_SIZE)
        pthread_cond_wait(&r->nonfull, &r->mtx);
    if (r->closed)
    {
        r->dropped++; /* ACCEPTED */
        pthread_mutex_unlock(&r->mtx);
#ifdef BUG
        return -1; /* GUILTY */
#else
        sfile_unref(f);
        return -1;
#endif
    }
    r->items[r->head++ % RING_SIZE] = f;
    pthread_cond_signal(&r->nonempty);
    pthread_mutex_unlock(&r->mtx);
    return 0;
}

static void *scanner(void *arg)
{
    struct ring *r = arg;

    pthread_mutex_lock(&r->mtx);
    for (;;)
    {
        struct sfile *f;

        while (r->head == r->tail && !r->quit)
        {
            pthread_cond_broadcast(&r->idle);
            pthread_cond_wait(&r->nonempty, &r->mtx);
        }
        if (r->head == r->tail)
            break;
        f = r->items[r->tail++ % RING_SIZE];
        r->busy = 1;
        pthread_cond_signal(&r->nonfull);
        pthread_mutex_unlock(&r->mtx);

        scan(f);
        sfile_unref(f);

        pthread_mutex_lock(&r->mtx);
        r->busy = 0;
        r->scanned++;
    }
    pthread_mutex_unlock(&r->mtx);
    return NULL;
}

static void ring_start(struct ring *r)
{
    pthread_mutex_init(&r->mtx, NULL);
    pthread_cond_init(&r->nonempty, NULL);
    pthread_cond_init(&r->nonfull, NULL);
    pthread_cond_init(&r->idle, NULL);
    pthread_create(&r->thread, NULL, scanner, r);
}

/* For an update of the engine: waits until what is there is scanned. */
static void ring_close(struct ring *r)
{
    pthread_mutex_lock(&r->mtx);
    r->closed = 1;
    while (r->head != r->tail || r->busy)
        pthread_cond_wait(&r->idle, &r->mtx);
    pthread_mutex_unlock(&r->mtx);
}

static void ring_reopen(struct ring *r)
{
    pthread_mutex_lock(&r->mtx);
    r->closed = 0;
    pthread_mutex_unlock(&r->mtx);
}

static void ring_stop(struct ring *r)
{
    pthread_mutex_lock(&r->mtx);
    r->quit = 1;
    pthread_cond_signal(&r->nonempty);
    pthread_mutex_unlock(&r->mtx);
    pthread_join(r->thread, NULL);
}

int main(void)
{
    struct sfile *report[64];
    int listed = 0, unscanned = 0, infected = 0;

    for (int i = 0; i < RINGS; i++)
        ring_start(&rings[i]);

    for (int n = 0; n < 150; n++)
    {
        char path[32];
        struct sfile *f;

        if (n == 60)
            ring_close(&rings[1]);
        if (n == 75)
            ring_reopen(&rings[1]);
        snprintf(path, sizeof(path), "/srv/up/%03d.%s", n, n % 4 ? "doc" : "exe");
        f = sfile_open(path);
        if (n % 4 == 0)
            report[listed++] = sfile_ref(f);
        if (ring_push(&rings[n % RINGS], f) < 0)
            unscanned++;
    }

    for (int i = 0; i < RINGS; i++)
        ring_stop(&rings[i]);
    for (int i = 0; i < listed; i++)
    {
        infected += atomic_load(&report[i]->infected);
        sfile_unref(report[i]);
    }
    printf("%u + %u scanned, %d not, %d of %d programs infected\n", rings[0].scanned, rings[1].scanned, unscanned,
           infected, listed);
    return 0;
}
