/* summary: a packing that fails drops the work it was lent, and the loan that asked for it drops it again
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: own
 * build: clang -O0 -g
 * exit: 0
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORKS 40
#define MAX_CRATES 6

/* A work of art: owned by the collection, by loans, by crates and by the catalogue's pages. */
typedef struct work {
    char *title;
    unsigned inventory;
    unsigned width, height; /* cm */
    bool fragile;
    int64_t value;
    uint32_t users;
} work_t;

typedef struct {
    work_t *content;
    unsigned width, height;
    bool padded;
} crate_t;

typedef struct loan {
    char borrower[24];
    work_t *work;
    crate_t *crate;
    struct loan *next;
} loan_t;

typedef struct {
    work_t *works[MAX_WORKS];
    unsigned length;
    crate_t crates[MAX_CRATES];
    loan_t *loans;
    unsigned refused;
} museum_t;

static work_t *work_create(const char *title, unsigned inventory, unsigned width, unsigned height)
{
    work_t *work = calloc(1, sizeof *work);

    if (!work || !(work->title = strdup(title)))
        abort();
    work->inventory = inventory;
    work->width = width;
    work->height = height;
    work->users = 1;
    return work;
}

static work_t *work_acquire(work_t *work)
{
    work->users++;
    return work;
}

static void work_drop(work_t *work)
{
    if (!work || --work->users > 0)
        return;
    free(work->title);
    free(work);
}

static bool museum_add(museum_t *museum, work_t *work)
{
    if (museum->length == MAX_WORKS)
        return false;
    museum->works[museum->length++] = work_acquire(work);
    return true;
}

/* A new reference, or NULL. */
static work_t *museum_find(museum_t *museum, unsigned inventory)
{
    for (unsigned i = 0; i < museum->length; i++) {
        if (museum->works[i]->inventory == inventory)
            return work_acquire(museum->works[i]);
    }
    return NULL;
}

static crate_t *museum_free_crate(museum_t *museum, const work_t *work)
{
    for (unsigned i = 0; i < MAX_CRATES; i++) {
        crate_t *crate = &museum->crates[i];
        if (!crate->content && crate->width >= work->width && crate->height >= work->height)
            return crate;
    }
    return NULL;
}

static void crate_unpack(crate_t *crate)
{
    work_drop(crate->content);
    crate->content = NULL;
}

/* The crate takes a reference of its own; the caller keeps its one. */
static crate_t *crate_pack(museum_t *museum, work_t *work)
{
    crate_t *crate = museum_free_crate(museum, work);

    if (!crate)
        return NULL;
    crate->content = work_acquire(work);
    if (work->fragile && !crate->padded) {
#ifdef BUG
        crate_unpack(crate);
        work_drop(work); /* GUILTY */
        return NULL;
#else
        crate_unpack(crate);
        return NULL;
#endif
    }
    return crate;
}

static bool museum_lend(museum_t *museum, unsigned inventory, const char *borrower)
{
    work_t *work = museum_find(museum, inventory);
    loan_t *loan = NULL;

    if (!work)
        return false;
    for (loan_t *other = museum->loans; other; other = other->next) {
        if (other->work == work)
            goto fail;
    }
    loan = calloc(1, sizeof *loan);
    if (!loan)
        goto fail;
    snprintf(loan->borrower, sizeof loan->borrower, "%s", borrower);
    loan->crate = crate_pack(museum, work);
    if (!loan->crate)
        goto fail;
    loan->work = work;
    loan->next = museum->loans;
    museum->loans = loan;
    return true;

fail:
    free(loan);
    work_drop(work); /* ACCEPTED */
    return false;
}

static bool museum_return(museum_t *museum, unsigned inventory)
{
    for (loan_t **link = &museum->loans; *link; link = &(*link)->next) {
        loan_t *loan = *link;
        if (loan->work->inventory != inventory)
            continue;
        *link = loan->next;
        crate_unpack(loan->crate);
        work_drop(loan->work);
        free(loan);
        return true;
    }
    return false;
}

static void museum_fill(museum_t *museum)
{
    static const char *const subjects[] = { "River", "Harbour", "Still life", "Portrait", "Mill", "Storm", "Orchard" };
    static const unsigned sizes[MAX_CRATES] = { 60, 90, 90, 140, 200, 260 };
    char title[32];

    for (unsigned i = 0; i < 30; i++) {
        work_t *work;
        snprintf(title, sizeof title, "%s %u", subjects[i % 7], i / 7 + 1);
        work = work_create(title, 400 + i, 40 + i * 13 % 90, 30 + i * 29 % 100);
        work->fragile = i % 8 == 5;
        work->value = 1000 * (int64_t) (i + 1);
        museum_add(museum, work);
        work_drop(work);
    }
    for (unsigned i = 0; i < MAX_CRATES; i++)
        museum->crates[i] = (crate_t) { .width = sizes[i], .height = sizes[i], .padded = i % 2 };
}

static int64_t museum_value(museum_t *museum)
{
    int64_t value = 0;

    for (unsigned i = 0; i < museum->length; i++)
        value += museum->works[i]->value;
    return value;
}

/* The most valuable works go on the poster. */
static unsigned museum_poster(museum_t *museum, work_t **poster, unsigned length)
{
    unsigned count = 0;

    for (unsigned i = 0; i < museum->length && count < length; i++) {
        if (museum->works[i]->value >= 18000 && museum->works[i]->value % 3000 == 0)
            poster[count++] = work_acquire(museum->works[i]);
    }
    return count;
}

static void museum_close(museum_t *museum)
{
    while (museum->loans)
        museum_return(museum, museum->loans->work->inventory);
    for (unsigned i = 0; i < museum->length; i++)
        work_drop(museum->works[i]);
    museum->length = 0;
}

int main(void)
{
    static const char *const borrowers[] = { "Basel", "Ghent", "Leeds", "Turku" };
    museum_t museum = { .length = 0 };
    work_t *poster[4];
    unsigned on_poster;

    museum_fill(&museum);
    on_poster = museum_poster(&museum, poster, 4);
    for (unsigned i = 0; i < 24; i++) {
        if (!museum_lend(&museum, 400 + i * 7 % 34, borrowers[i % 4]))
            museum.refused++;
        if (i % 3 == 2)
            museum_return(&museum, 400 + (i - 2) * 7 % 34);
        if (i % 6 == 5)
            museum_return(&museum, 400 + (i - 4) * 7 % 34);
    }
    for (loan_t *loan = museum.loans; loan; loan = loan->next)
        printf("%s is in %s, in a crate of %u cm\n", loan->work->title, loan->borrower, loan->crate->width);
    printf("%u works worth %lld, %u loans refused\n", museum.length, (long long) museum_value(&museum), museum.refused);
    museum_close(&museum);
    for (unsigned i = 0; i < on_poster; i++) {
        printf("poster: %u\n", poster[i]->inventory);
        work_drop(poster[i]);
    }
    return 0;
}
