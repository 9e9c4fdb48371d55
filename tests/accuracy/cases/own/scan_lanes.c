/* summary: an upload that its lane refuses is put by the lane and once more by the function that submits it
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * libs: -pthread
 * build: gcc -O3 -g
 */

/* The scanner of the upload service: lanes with a bounded queue and a thread each. The ledger keeps every upload until the
 * shift ends, so that its verdict can be asked for. */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_SIZE 8
#define LEDGER_SIZE 32

enum verdict { VERDICT_NONE, VERDICT_CLEAN, VERDICT_SUSPECT, VERDICT_REFUSED };

struct upload {
    char name[48];
    size_t size;
    unsigned pattern;
    _Atomic int verdict;
    atomic_uint refs;
};

struct lane {
    const char *name;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct upload *queue[QUEUE_SIZE];
    int head, used;
    int busy, closed;
    unsigned scanned;
};

struct ledger {
    struct upload *entries[LEDGER_SIZE];
    int used;
};

struct manifest {
    const char *name;
    size_t size;
    unsigned pattern;
};

static struct upload *upload_new(const struct manifest *m)
{
    struct upload *u = calloc(1, sizeof *u);

    if (!u)
        abort();
    snprintf(u->name, sizeof u->name, "%s", m->name);
    u->size = m->size;
    u->pattern = m->pattern;
    atomic_init(&u->verdict, VERDICT_NONE);
    atomic_init(&u->refs, 1);
    return u;
}

static struct upload *upload_hold(struct upload *u)
{
    atomic_fetch_add(&u->refs, 1);
    return u;
}

static void upload_drop(struct upload *u)
{
    if (atomic_fetch_sub(&u->refs, 1) == 1)
        free(u);
}

static void ledger_enter(struct ledger *l, struct upload *u)
{
    if (l->used < LEDGER_SIZE)
        l->entries[l->used++] = upload_hold(u);
}

static int ledger_count(const struct ledger *l, int verdict)
{
    int n = 0;

    for (int i = 0; i < l->used; i++)
        n += atomic_load(&l->entries[i]->verdict) == verdict;
    return n;
}

static void ledger_close(struct ledger *l)
{
    while (l->used > 0)
        upload_drop(l->entries[--l->used]);
}

static void scan(struct upload *u)
{
    unsigned sum = u->pattern;

    for (size_t i = 0; i < u->size; i++)
        sum = sum * 1103515245u + 12345u;
    atomic_store(&u->verdict, (sum >> 16) % 5 == 0 ? VERDICT_SUSPECT : VERDICT_CLEAN);
}

static void *lane_run(void *data)
{
    struct lane *lane = data;

    pthread_mutex_lock(&lane->lock);
    for (;;) {
        struct upload *u;

        while (!lane->used && !lane->closed)
            pthread_cond_wait(&lane->change, &lane->lock);
        if (!lane->used)
            break;
        u = lane->queue[lane->head];
        lane->head = (lane->head + 1) % QUEUE_SIZE;
        lane->used--;
        lane->busy = 1;
        pthread_mutex_unlock(&lane->lock);

        scan(u);
        upload_drop(u);

        pthread_mutex_lock(&lane->lock);
        lane->busy = 0;
        lane->scanned++;
        pthread_cond_broadcast(&lane->change);
    }
    pthread_mutex_unlock(&lane->lock);
    return NULL;
}

static void lane_open(struct lane *lane, const char *name)
{
    memset(lane, 0, sizeof *lane);
    lane->name = name;
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->change, NULL);
    pthread_create(&lane->thread, NULL, lane_run, lane);
}

/* Queues u for the lane's thread. */
static int lane_push(struct lane *lane, struct upload *u)
{
    int rc = 0;

    pthread_mutex_lock(&lane->lock);
    if (lane->closed) {
        rc = -ESHUTDOWN;
    } else {
        while (lane->used == QUEUE_SIZE)
            pthread_cond_wait(&lane->change, &lane->lock);
        lane->queue[(lane->head + lane->used++) % QUEUE_SIZE] = u;
        pthread_cond_broadcast(&lane->change);
    }
    pthread_mutex_unlock(&lane->lock);
    if (rc < 0) {
        atomic_store(&u->verdict, VERDICT_REFUSED);
        upload_drop(u);                                                         /* ACCEPTED */
    }
    return rc;
}

static void lane_drain(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    while (lane->used || lane->busy)
        pthread_cond_wait(&lane->change, &lane->lock);
    pthread_mutex_unlock(&lane->lock);
}

static void lane_shut(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->closed = 1;
    pthread_cond_broadcast(&lane->change);
    pthread_mutex_unlock(&lane->lock);
}

static void lane_join(struct lane *lane)
{
    pthread_join(lane->thread, NULL);
    pthread_cond_destroy(&lane->change);
    pthread_mutex_destroy(&lane->lock);
}

static struct lane *lane_for(struct lane *lanes, const struct upload *u)
{
    const char *dot = strrchr(u->name, '.');

    if (dot && (!strcmp(dot, ".zip") || !strcmp(dot, ".tar")))
        return &lanes[1];
    return &lanes[0];
}

static int submit(struct lane *lanes, struct upload *u)
{
    struct lane *lane = lane_for(lanes, u);
    int rc = lane_push(lane, u);

    if (rc < 0) {
        fprintf(stderr, "lane %s: %s\n", lane->name, strerror(-rc));
#ifdef BUG
        upload_drop(u);                                                         /* GUILTY */
#endif
        return rc;
    }
    return 0;
}

static int submit_all(struct lane *lanes, struct ledger *ledger, const struct manifest *list, int n)
{
    struct upload *batch[LEDGER_SIZE];
    int refused = 0;

    for (int i = 0; i < n; i++) {
        batch[i] = upload_new(&list[i]);
        ledger_enter(ledger, batch[i]);
    }
    for (int i = 0; i < n; i++)
        if (submit(lanes, batch[i]) < 0)
            refused++;
    return refused;
}

int main(void)
{
    static const struct manifest morning[] = {
        { "invoice-0411.pdf", 5000, 17 }, { "photos.zip", 40000, 99 },  { "cv.docx", 1200, 5 },
        { "backup.tar", 90000, 1234 },    { "notes.txt", 300, 42 },     { "installer.exe", 70000, 666 },
        { "song.mp3", 30000, 8 },         { "firmware.zip", 8000, 31 }, { "letter.odt", 900, 3 },
    };
    static const struct manifest evening[] = {
        { "menu.pdf", 700, 12 }, { "album.zip", 20000, 77 }, { "plan.dwg", 6000, 21 },
        { "old.tar", 50000, 2 }, { "memo.txt", 200, 9 },
    };
    struct lane lanes[2];
    struct ledger ledger = { .used = 0 };
    int refused;

    lane_open(&lanes[0], "files");
    lane_open(&lanes[1], "archives");
    refused = submit_all(lanes, &ledger, morning, sizeof morning / sizeof morning[0]);
    lane_drain(&lanes[1]);
    lane_shut(&lanes[1]);
    lane_drain(&lanes[0]);
    refused += submit_all(lanes, &ledger, evening, sizeof evening / sizeof evening[0]);
    lane_drain(&lanes[0]);
    lane_shut(&lanes[0]);
    lane_join(&lanes[0]);
    lane_join(&lanes[1]);
    printf("%d uploads: %d clean, %d suspect, %d refused; %u and %u scanned\n", ledger.used,
           ledger_count(&ledger, VERDICT_CLEAN), ledger_count(&ledger, VERDICT_SUSPECT),
           ledger_count(&ledger, VERDICT_REFUSED), lanes[0].scanned, lanes[1].scanned);
    ledger_close(&ledger);
    return refused == 2 ? 0 : 1;
}
