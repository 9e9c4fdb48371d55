/* summary: the look for a ripe bin returns out of the iteration, which holds a reference on the bin it stands at
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: own
 * build: clang -O3 -g
 * exit: 0
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 4

/* Halls hold rows, rows hold bins: all are nodes of one tree. */
struct bin_node {
    struct bin_node *parent;
    struct bin_node *child, *sibling;
    char name[20];
    const char *fruit;
    int sugar;
    unsigned kilos;
    bool spoiled;
    long refcnt;
};

struct harvest {
    struct bin_node *root;
    unsigned nodes;
    unsigned shipped, thrown;
};

static unsigned freed;

static struct bin_node *bin_new(struct harvest *harvest, const char *name, const char *fruit)
{
    struct bin_node *bin = calloc(1, sizeof *bin);

    if (!bin)
        abort();
    snprintf(bin->name, sizeof bin->name, "%s", name);
    bin->fruit = fruit;
    bin->refcnt = 1;
    harvest->nodes++;
    return bin;
}

static struct bin_node *bin_get(struct bin_node *bin)
{
    if (bin)
        bin->refcnt++;
    return bin;
}

static void bin_put(struct bin_node *bin)
{
    if (!bin || --bin->refcnt)
        return;
    freed++;
    free(bin);
}

/* The tree takes the reference. */
static void bin_attach(struct bin_node *parent, struct bin_node *bin)
{
    struct bin_node **link = &parent->child;

    while (*link)
        link = &(*link)->sibling;
    *link = bin;
    bin->parent = parent;
}

static void bin_detach(struct bin_node *bin)
{
    struct bin_node **link = &bin->parent->child;

    while (*link && *link != bin)
        link = &(*link)->sibling;
    if (*link)
        *link = bin->sibling;
    bin->parent = NULL;
    bin->sibling = NULL;
    bin_put(bin);
}

/* The next child with a reference; drops the one before. */
static struct bin_node *bin_next_child(struct bin_node *parent, struct bin_node *before)
{
    struct bin_node *next = bin_get(before ? before->sibling : parent->child);

    bin_put(before);
    return next;
}

#define for_each_child(parent, bin) for (bin = bin_next_child(parent, NULL); bin; bin = bin_next_child(parent, bin))

/* A new reference, or NULL. */
static struct bin_node *bin_by_name(struct bin_node *parent, const char *name)
{
    struct bin_node *bin;

    for_each_child(parent, bin)
    {
        if (strcmp(bin->name, name) == 0)
            return bin;
    }
    return NULL;
}

static struct bin_node *bin_by_path(struct harvest *harvest, const char *path)
{
    struct bin_node *bin = bin_get(harvest->root);
    char copy[64], *save = NULL;

    snprintf(copy, sizeof copy, "%s", path);
    for (char *part = strtok_r(copy, "/", &save); part && bin; part = strtok_r(NULL, "/", &save)) {
        struct bin_node *next = bin_by_name(bin, part);
        bin_put(bin);
        bin = next;
    }
    return bin;
}

static unsigned bin_weight(struct bin_node *parent)
{
    struct bin_node *bin;
    unsigned kilos = parent->kilos;

    for_each_child(parent, bin) kilos += bin_weight(bin);
    return kilos;
}

static int row_check(struct bin_node *row)
{
    struct bin_node *bin;
    int error = 0;

    for_each_child(row, bin)
    {
        if (bin->kilos == 0 || bin->kilos > 400) {
            error = -ERANGE;
            bin_put(bin);
            break;
        }
    }
    return error;
}

/* How sweet the first ripe bin of the row is. */
static int row_ripeness(struct bin_node *row, const char *fruit)
{
    struct bin_node *bin;

    for_each_child(row, bin)
    {
        if (bin->spoiled)
            continue;
        if (strcmp(bin->fruit, fruit) == 0 && bin->sugar >= 14) {
#ifdef BUG
            return bin->sugar; /* GUILTY */
#else
            int sugar = bin->sugar;
            bin_put(bin);
            return sugar;
#endif
        }
    }
    return -ENOENT;
}

static int hall_ripeness(struct bin_node *hall, const char *fruit)
{
    struct bin_node *row;
    int best = -ENOENT;

    for_each_child(hall, row)
    {
        int sugar;
        if (row_check(row) < 0)
            continue;
        sugar = row_ripeness(row, fruit);
        if (sugar > best)
            best = sugar;
    }
    return best;
}

static void harvest_fill(struct harvest *harvest)
{
    static const char *const fruits[] = { "apple", "pear", "quince", "plum" };
    char name[20];

    harvest->root = bin_new(harvest, "farm", "");
    for (unsigned h = 0; h < 3; h++) {
        snprintf(name, sizeof name, "hall%u", h);
        struct bin_node *hall = bin_new(harvest, name, "");
        bin_attach(harvest->root, hall);
        for (unsigned r = 0; r < 4; r++) {
            snprintf(name, sizeof name, "row%u", r);
            struct bin_node *row = bin_new(harvest, name, "");
            bin_attach(hall, row);
            for (unsigned b = 0; b < 5; b++) {
                unsigned seed = h * 37 + r * 11 + b * 5;
                snprintf(name, sizeof name, "bin%u", b);
                struct bin_node *bin = bin_new(harvest, name, fruits[seed % 4]);
                bin->sugar = 8 + (int) (seed % 6);
                bin->kilos = seed % 17 == 0 ? 0 : 150 + seed;
                bin->spoiled = seed % 13 == 4;
                if (seed == 74 || seed == 101)
                    bin->sugar = 15;
                bin_attach(row, bin);
            }
        }
    }
}

static void row_ship(struct harvest *harvest, const char *path)
{
    struct bin_node *row = bin_by_path(harvest, path);
    struct bin_node *bin;

    if (!row)
        return;
    while ((bin = bin_next_child(row, NULL))) {
        if (bin->spoiled)
            harvest->thrown++;
        else
            harvest->shipped++;
        bin_detach(bin);
        bin_put(bin);
    }
    bin_put(row);
}

static void bin_clear(struct bin_node *parent)
{
    while (parent->child) {
        bin_clear(parent->child);
        bin_detach(parent->child);
    }
}

int main(void)
{
    static const char *const fruits[] = { "apple", "pear", "quince", "plum" };
    struct harvest harvest = { .nodes = 0 };
    struct bin_node *hall;

    harvest_fill(&harvest);
    printf("%u kg in %u nodes\n", bin_weight(harvest.root), harvest.nodes);
    for_each_child(harvest.root, hall)
    {
        for (unsigned i = 0; i < 4; i++) {
            int sugar = hall_ripeness(hall, fruits[i]);
            if (sugar >= 0)
                printf("%s: %s at %d\n", hall->name, fruits[i], sugar);
        }
    }
    row_ship(&harvest, "hall0/row2");
    row_ship(&harvest, "hall2/row0");
    row_ship(&harvest, "hall2/row9");
    printf("%u shipped, %u thrown away, %u kg left\n", harvest.shipped, harvest.thrown, bin_weight(harvest.root));
    bin_clear(harvest.root);
    bin_put(harvest.root);
    fprintf(stderr, "%u of %u freed\n", freed, harvest.nodes);
    return 0;
}
