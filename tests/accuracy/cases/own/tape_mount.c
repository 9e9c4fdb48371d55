/* summary: volume_check() drops the cartridge before it reports a bad label, and its caller's error way drops it as well
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O0 -g
 * exit: 0
 */
// tape_mount: a robot that loads cartridges into drives for backup jobs.
// The library's shelf holds every cartridge, a job holds those it works with.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHELF = 14, DRIVES = 2 };

typedef enum { T_OK, T_NOT_THERE, T_BAD_LABEL, T_WORN, T_FULL } TapeResult;

typedef struct Cartridge {
    char barcode[8];
    char label[12];
    long written, capacity;
    int mounts, maxMounts;
    int useCount;
} Cartridge;

typedef struct Drive {
    Cartridge *loaded; // holds it
    long spooled;
} Drive;

typedef struct Library {
    Cartridge *shelf[SHELF]; // holds them
    Drive drives[DRIVES];
    int results[5];
} Library;

static Cartridge *cartridgeNew(int number, const char *pool) {
    Cartridge *c = calloc(1, sizeof(Cartridge));
    if (!c) abort();
    sprintf(c->barcode, "LTO%03d", number);
    sprintf(c->label, "%s-%d", pool, number);
    c->capacity = 9000;
    c->maxMounts = 40;
    c->useCount = 1;
    return c;
}

static Cartridge *cartridgeHold(Cartridge *c) {
    c->useCount += 1;
    return c;
}

static void cartridgeDrop(Cartridge *c) {
    c->useCount -= 1;
    if (c->useCount == 0)
        free(c);
}

// Looks a cartridge up and holds it for the caller.
static Cartridge *libraryFind(Library *lib, const char *barcode) {
    for (int i = 0; i < SHELF; i++)
        if (lib->shelf[i] && !strcmp(lib->shelf[i]->barcode, barcode))
            return cartridgeHold(lib->shelf[i]);
    return NULL;
}

static void driveUnload(Drive *d) {
    if (!d->loaded) return;
    cartridgeDrop(d->loaded);
    d->loaded = NULL;
}

static void driveLoad(Drive *d, Cartridge *c) {
    if (d->loaded == c) return;
    driveUnload(d);
    d->loaded = cartridgeHold(c);
    c->mounts++;
}

// Is it what the job wants? The cartridge is the caller's.
static TapeResult volumeCheck(Cartridge *c, const char *pool, long bytes) {
    if (strncmp(c->label, pool, strlen(pool)) != 0) {
        printf("%s: label %s is not of pool %s\n", c->barcode, c->label, pool);
#ifdef BUG
        cartridgeDrop(c); // GUILTY
#endif
        return T_BAD_LABEL;
    }
    if (c->mounts >= c->maxMounts)
        return T_WORN;
    if (c->written + bytes > c->capacity)
        return T_FULL;
    return T_OK;
}

static TapeResult jobWrite(Library *lib, Drive *d, const char *barcode, const char *pool, long bytes) {
    TapeResult result;
    Cartridge *c = libraryFind(lib, barcode);

    if (!c)
        return T_NOT_THERE;
    result = volumeCheck(c, pool, bytes);
    if (result != T_OK)
        goto fail;
    driveLoad(d, c);
    c->written += bytes;
    d->spooled += bytes;
    cartridgeDrop(c);
    return T_OK;

fail:
    cartridgeDrop(c); // ACCEPTED
    return result;
}

int main(void) {
    Library lib;
    unsigned long r = 1;

    memset(&lib, 0, sizeof lib);
    for (int i = 0; i < SHELF; i++)
        lib.shelf[i] = cartridgeNew(i, i % 3 ? "weekly" : "daily");

    for (int job = 0; job < 120; job++) {
        char barcode[8];
        r = (r * 1366 + 150889) % 714025;
        int n = (int)(r % (SHELF + 1));
        // the operators know the pools, save for two jobs with a typo
        const char *pool = n % 3 ? "weekly" : "daily";
        if (job == 61 || job == 97) pool = "yearly";
        sprintf(barcode, "LTO%03d", n);
        TapeResult t = jobWrite(&lib, &lib.drives[job % DRIVES], barcode, pool, 300 + (long)(r % 900));
        lib.results[t]++;
    }

    for (int i = 0; i < DRIVES; i++) {
        printf("drive %d: %ld\n", i, lib.drives[i].spooled);
        driveUnload(&lib.drives[i]);
    }
    long total = 0;
    for (int i = 0; i < SHELF; i++)
        total += lib.shelf[i]->written;
    for (int i = 0; i < SHELF; i++)
        cartridgeDrop(lib.shelf[i]);
    printf("ok %d, unknown %d, label %d, worn %d, full %d, %ld written\n", lib.results[T_OK],
           lib.results[T_NOT_THERE], lib.results[T_BAD_LABEL], lib.results[T_WORN], lib.results[T_FULL], total);
    return 0;
}
