/*
 * summary: the trolley that is turned back forgets its trays' recipes by setting its length to zero
 * kind: held
 * counts: surplus
 * objects: 3
 * track: own
 * build: gcc -O2 -g
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 8
#define TROLLEY_TRAYS 6

enum diet { DIET_FULL, DIET_SOFT, DIET_DIABETIC, DIET_RENAL };

struct recipe {
    int uses;
    struct recipe *next; /* in the book's bucket */
    char title[28];
    unsigned diets; /* bit per enum diet */
    int kcal;
};

struct book {
    struct recipe *buckets[BUCKETS];
    unsigned length;
};

struct tray {
    unsigned bed;
    struct recipe *main, *dessert;
};

struct trolley {
    const char *ward;
    struct tray trays[TROLLEY_TRAYS];
    unsigned loaded;
    unsigned served;
};

struct patient {
    unsigned bed;
    enum diet diet;
    const char *wish; /* a title, or NULL */
};


static struct recipe *recipe_create(const char *title, unsigned diets, int kcal)
{
    struct recipe *recipe = malloc(sizeof *recipe);
    if (!recipe)
        abort();
    recipe->uses = 1;
    recipe->next = NULL;
    recipe->diets = diets;
    recipe->kcal = kcal;
    snprintf(recipe->title, sizeof recipe->title, "%s", title);
    return recipe;
}

static inline struct recipe *recipe_use(struct recipe *recipe)
{
    recipe->uses++;
    return recipe;
}

static inline void recipe_drop(struct recipe *recipe)
{
    if (recipe && --recipe->uses == 0)
        free(recipe);
}

static unsigned hash_title(const char *title)
{
    unsigned hash = 5381;
    while (*title)
        hash = hash * 33 + (unsigned char) *title++;
    return hash % BUCKETS;
}

static struct recipe **book_slot(struct book *book, const char *title)
{
    struct recipe **slot = &book->buckets[hash_title(title)];
    while (*slot && strcmp((*slot)->title, title))
        slot = &(*slot)->next;
    return slot;
}

/* The book takes the reference over; an older recipe of that title goes. */
static void book_enter(struct book *book, struct recipe *recipe)
{
    struct recipe **slot = book_slot(book, recipe->title);
    struct recipe *old = *slot;
    if (old) {
        recipe->next = old->next;
        old->next = NULL;
        *slot = recipe;
        recipe_drop(old);
        return;
    }
    *slot = recipe;
    book->length++;
}

static bool book_strike(struct book *book, const char *title)
{
    struct recipe **slot = book_slot(book, title);
    struct recipe *gone = *slot;
    if (!gone)
        return false;
    *slot = gone->next;
    gone->next = NULL;
    book->length--;
    recipe_drop(gone);
    return true;
}

static void book_close(struct book *book)
{
    for (unsigned i = 0; i < BUCKETS; i++) {
        while (book->buckets[i]) {
            struct recipe *recipe = book->buckets[i];
            book->buckets[i] = recipe->next;
            recipe_drop(recipe);
        }
    }
    book->length = 0;
}

/* Borrowed: what the book has for the diet, nearest to the energy asked for. */
static struct recipe *book_suggest(struct book *book, enum diet diet, int kcal)
{
    struct recipe *best = NULL;
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (struct recipe *r = book->buckets[i]; r; r = r->next) {
            if (!(r->diets & 1u << diet))
                continue;
            if (!best || abs(r->kcal - kcal) < abs(best->kcal - kcal))
                best = r;
        }
    }
    return best;
}

static bool trolley_load(struct trolley *trolley, struct book *book, const struct patient *patient)
{
    if (trolley->loaded == TROLLEY_TRAYS)
        return false;

    struct recipe *main = NULL;
    if (patient->wish) {
        main = *book_slot(book, patient->wish);
        if (main && !(main->diets & 1u << patient->diet))
            main = NULL;
    }
    if (!main)
        main = book_suggest(book, patient->diet, 650);
    struct recipe *dessert = book_suggest(book, patient->diet, 180);
    if (!main || !dessert)
        return false;

    struct tray *tray = &trolley->trays[trolley->loaded++];
    tray->bed = patient->bed;
    tray->main = recipe_use(main);
    tray->dessert = recipe_use(dessert);
    return true;
}

static void tray_empty(struct tray *tray)
{
    recipe_drop(tray->main);
    recipe_drop(tray->dessert);
    tray->main = tray->dessert = NULL;
}

static void trolley_serve(struct trolley *trolley)
{
    while (trolley->loaded > 0) {
        struct tray *tray = &trolley->trays[--trolley->loaded];
        printf("%s bed %u: %s, %s, %d kcal\n", trolley->ward, tray->bed, tray->main->title,
               tray->dessert->title, tray->main->kcal + tray->dessert->kcal);
        tray_empty(tray);
        trolley->served++;
    }
}

/* The ward has moved or is isolated: the food goes back to the kitchen. */
static unsigned trolley_turn_back(struct trolley *trolley)
{
    unsigned wasted = trolley->loaded; /* ACCEPTED */
#ifndef BUG
    for (unsigned i = 0; i < wasted; i++)
        tray_empty(&trolley->trays[i]);
#endif
    trolley->loaded = 0; /* GUILTY */
    return wasted;
}

static void fill_book(struct book *book)
{
    enum { full = 1 << DIET_FULL, soft = 1 << DIET_SOFT, diab = 1 << DIET_DIABETIC, renal = 1 << DIET_RENAL };
    book_enter(book, recipe_create("beef stew", full, 720));
    book_enter(book, recipe_create("baked cod", full | diab, 610));
    book_enter(book, recipe_create("potato mash, egg", soft, 560));
    book_enter(book, recipe_create("rice pilaf", full | renal, 640));
    book_enter(book, recipe_create("lentil curry", full | diab, 680));
    book_enter(book, recipe_create("apple compote", full | soft | renal, 170));
    book_enter(book, recipe_create("plain yoghurt", full | diab, 120));
    book_enter(book, recipe_create("semolina", soft, 210));
}

int main(void)
{
    static const struct patient ward3[] = {
        { 11, DIET_FULL, "beef stew" }, { 12, DIET_SOFT, NULL }, { 14, DIET_DIABETIC, NULL }, { 17, DIET_FULL, NULL },
    };
    static const struct patient ward5[] = {
        { 2, DIET_RENAL, NULL }, { 3, DIET_SOFT, NULL }, { 7, DIET_RENAL, "beef stew" },
    };
    static const struct patient ward8[] = {
        { 1, DIET_FULL, "lentil curry" }, { 4, DIET_DIABETIC, "baked cod" },
    };
    struct book book = { 0 };
    struct trolley a = { .ward = "3" }, b = { .ward = "5" }, c = { .ward = "8" };
    unsigned wasted = 0;

    fill_book(&book);
    for (size_t i = 0; i < sizeof ward3 / sizeof *ward3; i++)
        trolley_load(&a, &book, &ward3[i]);
    for (size_t i = 0; i < sizeof ward5 / sizeof *ward5; i++)
        trolley_load(&b, &book, &ward5[i]);
    for (size_t i = 0; i < sizeof ward8 / sizeof *ward8; i++)
        trolley_load(&c, &book, &ward8[i]);

    book_strike(&book, "beef stew");
    book_enter(&book, recipe_create("baked cod", 1 << DIET_FULL, 590));
    trolley_serve(&a);
    wasted += trolley_turn_back(&b);
    trolley_serve(&c);

    for (size_t i = 0; i < sizeof ward8 / sizeof *ward8; i++)
        trolley_load(&b, &book, &ward8[i]);
    trolley_serve(&b);

    printf("%u served, %u wasted, %u recipes in the book\n", a.served + b.served + c.served, wasted, book.length);
    book_close(&book);
    return 0;
}
