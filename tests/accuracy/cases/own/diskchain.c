/* summary: drive_collapse() takes over the base of a layer that a backup still uses by a plain store, the layer gives its own reference to the base back later
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: own
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * diskchain - the disk images of a small virtual machine host.
 *
 * A drive writes to its top image; what the top image lacks is read from its
 * backing image, and so on down to a base image that many drives share.  A
 * snapshot puts a new top image on the old one, a collapse takes the layer
 * below the top one out of the chain again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTERS 32
#define NDRIVES  36
#define NBASES   6
#define NBACKUPS 10

struct image {
    char          name[20];
    unsigned      refs;
    struct image *backing;      /* counted, NULL for a base image */
    struct image *next;         /* open_images, not counted */
    uint32_t      own;          /* clusters that are our own */
    uint16_t      data[CLUSTERS];
};

struct drive {
    unsigned      id;
    struct image *top;
    unsigned      nlayers;
};

/* A copy of a drive as it was, read a few clusters at a time. */
struct backup {
    struct image *source;
    unsigned      pos;
    unsigned long sum;
};

static const char *const base_names[NBASES] = {
    "debian-12", "debian-11", "alpine", "freebsd", "win-srv", "rescue",
};

static struct image *open_images;
static struct image *library[NBASES];
static struct drive drives[NDRIVES];
static struct backup backups[NBACKUPS];
static unsigned n_made, n_freed, n_stolen, n_shared;

/* ---- images ---------------------------------------------------------- */

struct image *image_get(struct image *img);
void image_put(struct image *img);

/* Takes the reference to backing over. */
struct image *image_new(const char *name, struct image *backing)
{
    struct image *img = calloc(1, sizeof *img);

    if (!img)
        abort();
    snprintf(img->name, sizeof img->name, "%s", name);
    img->refs = 1;
    img->backing = backing;
    img->next = open_images;
    open_images = img;
    n_made++;
    return img;
}

__attribute__((noinline)) struct image *image_get(struct image *img)
{
    img->refs++;
    return img;
}

static void image_close(struct image *img)
{
    struct image **pp = &open_images;

    while (*pp != img)
        pp = &(*pp)->next;
    *pp = img->next;
    if (img->backing)
        image_put(img->backing);
    n_freed++;
    free(img);
}

__attribute__((noinline)) void image_put(struct image *img)
{
    if (--img->refs == 0)
        image_close(img);
}

/* Base images are opened once. */
static struct image *image_open(const char *name)
{
    struct image *img;

    for (img = open_images; img; img = img->next)
        if (strcmp(img->name, name) == 0)
            return image_get(img);
    img = image_new(name, NULL);
    for (unsigned i = 0; i < CLUSTERS; i++)
        img->data[i] = (uint16_t)(name[i % strlen(name)] * (i + 1));
    img->own = UINT32_MAX;
    return img;
}

/* The image below may be changed while we read, so hold on to each. */
static uint16_t image_read(struct image *img, unsigned cluster)
{
    struct image *below;
    uint16_t val = 0;

    image_get(img);
    for (;;) {
        if (img->own & 1u << cluster) {
            val = img->data[cluster];
            break;
        }
        if (!img->backing)
            break;
        below = image_get(img->backing);
        image_put(img);
        img = below;
    }
    image_put(img);
    return val;
}

/* ---- drives ---------------------------------------------------------- */
static void drive_push_layer(struct drive *d, struct image *below)
{
    char name[20];

    snprintf(name, sizeof name, "d%u-%u", d->id, d->nlayers++);
    d->top = image_new(name, below);
}

static void drive_attach(struct drive *d, unsigned id, const char *base)
{
    d->id = id;
    drive_push_layer(d, image_open(base));
}

static void drive_write(struct drive *d, unsigned cluster, uint16_t val)
{
    d->top->data[cluster] = val;
    d->top->own |= 1u << cluster;
}

static void drive_snapshot(struct drive *d)
{
    drive_push_layer(d, d->top);        /* the new layer has our reference now */
}

/* Back to the last snapshot. */
static void drive_revert(struct drive *d)
{
    struct image *below = d->top->backing;

    if (!below->backing)
        return;
    image_get(below);
    image_put(d->top);
    drive_push_layer(d, below);
}

/* Put the drive's own writes on another base. */
static void drive_rebase(struct drive *d, const char *base)
{
    struct image *img = image_open(base);

    image_put(d->top->backing);
    d->top->backing = img;
}

/* Merge the layer below the top one into the top one, and leave it out. */
static int drive_collapse(struct drive *d)
{
    struct image *top = d->top, *mid = top->backing;
    uint32_t missing;

    if (!mid->backing)
        return -1;
    missing = mid->own & ~top->own;
    for (unsigned i = 0; i < CLUSTERS; i++)
        if (missing & 1u << i)
            top->data[i] = mid->data[i];
    top->own |= missing;

    if (mid->refs == 1) {               /* goes away below */
        n_stolen++;
        top->backing = mid->backing;
        mid->backing = NULL;
    } else {
        n_shared++;
#ifdef BUG
        top->backing = mid->backing;                    /* GUILTY */
#else
        top->backing = image_get(mid->backing);
#endif
    }
    image_put(mid);                                     /* ACCEPTED */
    return 0;
}

static void drive_detach(struct drive *d)
{
    image_put(d->top);
    d->top = NULL;
}

/* ---- backups --------------------------------------------------------- */

static void backup_start(struct backup *b, struct drive *d)
{
    drive_snapshot(d);
    b->source = image_get(d->top->backing);
    b->pos = 0;
}

/* Returns whether there is more to do. */
static int backup_step(struct backup *b, unsigned n)
{
    if (!b->source)
        return 0;
    for (; n && b->pos < CLUSTERS; n--, b->pos++)
        b->sum = b->sum * 31 + image_read(b->source, b->pos);
    if (b->pos < CLUSTERS)
        return 1;
    image_put(b->source);
    b->source = NULL;
    return 0;
}

int main(void)
{
    unsigned long sum = 0;
    int busy, refused = 0, round = 0;

    for (unsigned i = 0; i < NBASES; i++)
        library[i] = image_open(base_names[i]);
    for (unsigned i = 0; i < NDRIVES; i++)
        drive_attach(&drives[i], i, base_names[(i * 5 + i / 7) % NBASES]);

    for (unsigned i = 0; i < NDRIVES; i++) {
        struct drive *d = &drives[i];

        for (unsigned j = 0; j < 5 + i % 4; j++)
            drive_write(d, (i * 7 + j * 3) % CLUSTERS, (uint16_t)(i * 100 + j));
        if (i % 5 == 1)
            drive_snapshot(d);
        if (i % 10 == 6)
            drive_revert(d);
        drive_write(d, i % CLUSTERS, (uint16_t)i);
    }
    drive_rebase(&drives[4], "alpine");
    drive_rebase(&drives[20], "debian-11");

    /* the nightly backups; some disks are tidied up while they run */
    for (unsigned i = 0; i < NBACKUPS; i++)
        backup_start(&backups[i], &drives[i * 3 % NDRIVES + 2]);
    do {
        busy = 0;
        for (unsigned i = 0; i < NBACKUPS; i++)
            busy += backup_step(&backups[i], 5 + i % 3);
        for (unsigned i = 0; round == 2 && i < 24; i += 2)
            refused += drive_collapse(&drives[i]) < 0;
        round++;
    } while (busy);
    for (unsigned i = 1; i < NDRIVES; i += 5)
        refused += drive_collapse(&drives[i]) < 0;

    for (unsigned i = 0; i < NDRIVES; i++)
        for (unsigned j = 0; j < CLUSTERS; j += 3)
            sum = sum * 33 + image_read(drives[i].top, j);
    for (unsigned i = 0; i < NDRIVES; i++)
        drive_detach(&drives[i]);
    for (unsigned i = 0; i < NBACKUPS; i++)
        sum ^= backups[i].sum;
    for (unsigned i = 0; i < NBASES; i++)
        image_put(library[i]);

    printf("%u drives, %d collapses refused, %u layers gone at once, %u in use\n",
           NDRIVES, refused, n_stolen, n_shared);
    printf("images: %u made, %u freed, sum %lx\n", n_made, n_freed, sum);
    return 0;
}
