/*
 * summary: when the press queue is closed its push puts the plate, and the feeder puts it again
 * kind: extra-put
 * counts: deficit
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

/* A printing house: plates are made once, stay in the archive for reprints, and go through the queue of a press for each run. The
   pressmen are threads. When the evening shift ends the queue is closed, what is in it is still printed. */

#define QUEUE 8
#define ARCHIVE 16
#define PRESSMEN 2

struct plate {
    char title[24];
    int refs;
    int colours;
    long sheets;
};

struct press {
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    struct {
        struct plate *plate;
        int sheets;
    } runs[QUEUE];
    int first, count;
    bool closed;
    long printed;
    int runs_done;
};

struct archive {
    struct plate *plates[ARCHIVE];
    int count;
};

static struct plate *plate_make(const char *title, int colours)
{
    struct plate *plate = calloc(1, sizeof *plate);
    if (!plate)
        abort();
    snprintf(plate->title, sizeof plate->title, "%s", title);
    plate->colours = colours;
    __atomic_store_n(&plate->refs, 1, __ATOMIC_RELAXED);
    return plate;
}

static struct plate *plate_get(struct plate *plate)
{
    __atomic_add_fetch(&plate->refs, 1, __ATOMIC_RELAXED);
    return plate;
}

static void plate_put(struct plate *plate)
{
    if (plate && __atomic_sub_fetch(&plate->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(plate);
}

static void press_init(struct press *press)
{
    memset(press, 0, sizeof *press);
    pthread_mutex_init(&press->lock, NULL);
    pthread_cond_init(&press->filled, NULL);
    pthread_cond_init(&press->drained, NULL);
}

static void press_fini(struct press *press)
{
    for (int i = 0; i < press->count; i++)
        plate_put(press->runs[(press->first + i) % QUEUE].plate);
    pthread_cond_destroy(&press->drained);
    pthread_cond_destroy(&press->filled);
    pthread_mutex_destroy(&press->lock);
}

/* The plate is the queue's from here on. */
static bool press_push(struct press *press, struct plate *plate, int sheets)
{
    bool pushed = false;
    pthread_mutex_lock(&press->lock);
    while (press->count == QUEUE && !press->closed)
        pthread_cond_wait(&press->drained, &press->lock);
    if (!press->closed) {
        int at = (press->first + press->count++) % QUEUE;
        press->runs[at].plate = plate;
        press->runs[at].sheets = sheets;
        pthread_cond_signal(&press->filled);
        pushed = true;
    }
    pthread_mutex_unlock(&press->lock);
    if (!pushed)
        plate_put(plate); /* ACCEPTED */
    return pushed;
}

static struct plate *press_pop(struct press *press, int *sheets)
{
    struct plate *plate = NULL;
    pthread_mutex_lock(&press->lock);
    while (press->count == 0 && !press->closed)
        pthread_cond_wait(&press->filled, &press->lock);
    if (press->count > 0) {
        plate = press->runs[press->first].plate;
        *sheets = press->runs[press->first].sheets;
        press->first = (press->first + 1) % QUEUE;
        press->count--;
        pthread_cond_signal(&press->drained);
    }
    pthread_mutex_unlock(&press->lock);
    return plate;
}

static void press_close(struct press *press)
{
    pthread_mutex_lock(&press->lock);
    press->closed = true;
    pthread_cond_broadcast(&press->filled);
    pthread_cond_broadcast(&press->drained);
    pthread_mutex_unlock(&press->lock);
}

static void *pressman(void *data)
{
    struct press *press = data;
    struct plate *plate;
    int sheets = 0;
    while ((plate = press_pop(press, &sheets))) {
        long impressions = (long)sheets * plate->colours;
        __atomic_add_fetch(&plate->sheets, sheets, __ATOMIC_RELAXED);
        pthread_mutex_lock(&press->lock);
        press->printed += impressions;
        press->runs_done++;
        pthread_mutex_unlock(&press->lock);
        plate_put(plate);
    }
    return NULL;
}

static struct plate *archive_store(struct archive *archive, struct plate *plate)
{
    if (archive->count == ARCHIVE)
        abort();
    archive->plates[archive->count++] = plate_get(plate);
    return plate;
}

static struct plate *archive_find(struct archive *archive, const char *title)
{
    for (int i = 0; i < archive->count; i++)
        if (!strcmp(archive->plates[i]->title, title))
            return plate_get(archive->plates[i]);
    return NULL;
}

static void archive_clear(struct archive *archive)
{
    while (archive->count > 0)
        plate_put(archive->plates[--archive->count]);
}

/* A first run: the plate is made, archived and printed. */
static int feed_new(struct press *press, struct archive *archive, const char *title, int colours, int sheets)
{
    struct plate *plate = archive_store(archive, plate_make(title, colours));
    if (sheets == 0) {
        plate_put(plate);
        return 0;
    }
    return press_push(press, plate, sheets) ? sheets : -1;
}

/* A reprint from the archive, in bundles of at most 500 sheets. */
static int feed_again(struct press *press, struct archive *archive, const char *title, int sheets)
{
    struct plate *plate = archive_find(archive, title);
    int fed = 0;
    if (!plate)
        return -1;
    while (fed < sheets) {
        int bundle = sheets - fed < 500 ? sheets - fed : 500;
        if (!press_push(press, plate_get(plate), bundle)) {
#ifdef BUG
            plate_put(plate); /* GUILTY */
#endif
            printf("%s: %d sheets wait for tomorrow\n", plate->title, sheets - fed);
            break;
        }
        fed += bundle;
    }
    plate_put(plate);
    return fed;
}

static long archive_sheets(const struct archive *archive)
{
    long sheets = 0;
    for (int i = 0; i < archive->count; i++)
        sheets += archive->plates[i]->sheets;
    return sheets;
}

int main(void)
{
    struct press press;
    struct archive archive = {.count = 0};
    pthread_t men[PRESSMEN];
    int refused = 0;

    press_init(&press);
    for (int i = 0; i < PRESSMEN; i++)
        if (pthread_create(&men[i], NULL, pressman, &press))
            return 1;

    feed_new(&press, &archive, "parish letter", 1, 300);
    feed_new(&press, &archive, "theatre poster", 4, 120);
    feed_new(&press, &archive, "cook book", 4, 800);
    feed_new(&press, &archive, "ballot", 1, 0);
    feed_new(&press, &archive, "timetable", 2, 650);
    feed_again(&press, &archive, "ballot", 2400);
    feed_again(&press, &archive, "timetable", 1200);
    feed_again(&press, &archive, "theatre poster", 60);
    refused += feed_again(&press, &archive, "calendar", 100) < 0;

    press_close(&press);
    refused += feed_new(&press, &archive, "sports day", 2, 200) < 0;
    refused += feed_again(&press, &archive, "cook book", 900) == 0;
    refused += feed_again(&press, &archive, "parish letter", 300) == 0;
    for (int i = 0; i < PRESSMEN; i++)
        pthread_join(men[i], NULL);

    printf("%d runs, %ld impressions, %d refused\n", press.runs_done, press.printed, refused);
    printf("%d plates in the archive, %ld sheets of them\n", archive.count, archive_sheets(&archive));
    press_fini(&press);
    archive_clear(&archive);
    return 0;
}
