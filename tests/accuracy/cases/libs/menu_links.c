/* summary: a link to a dish of its own card gets a reference to the card as its home as links to other cards do, so the card holds itself
 * kind: cycle
 * counts: surplus
 * objects: 8
 * track: json-c
 * packages: json-c
 * build: gcc -O3 -g
 * exit: 0
 */
/*
 * menu_links - cards of a chain of canteens.
 *
 * A card is a JSON document of sections and dishes.  Instead of a dish there
 * may be a link "card/section/position"; "./section/position" is the same
 * card.  Cards are loaded when somebody asks for them, live in a small cache
 * and may be dropped from it while other cards still have links to them.
 * Price and currency of a linked dish are those of the card where it is at
 * home.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_SIZE 3
#define NCANTEENS 6

struct source {
    const char *name;
    const char *text;
};

struct card {
    const char *name;
    struct json_object *doc;    /* owned */
    unsigned used;
};

struct canteen {
    const char *card_name;
    struct json_object *card;   /* owned */
    int guests;
};

struct totals {
    int dishes, linked, unresolved;
    double eur, chf;
};

static const struct source sources[] = {
    { "basics", "{\"currency\":\"EUR\",\"factor\":1.0,\"sections\":{"
        "\"soups\":[{\"name\":\"lentil\",\"price\":3.2},{\"name\":\"tomato\",\"price\":2.9},{\"name\":\"pea\",\"price\":3.0}],"
        "\"sides\":[{\"name\":\"rice\",\"price\":1.5},{\"name\":\"fries\",\"price\":2.2}]}}" },
    { "grill", "{\"currency\":\"EUR\",\"factor\":1.1,\"sections\":{"
        "\"mains\":[{\"name\":\"steak\",\"price\":11.5},{\"name\":\"trout\",\"price\":9.8}],"
        "\"lunch\":[{\"link\":\"./mains/1\"},{\"name\":\"burger\",\"price\":7.4}],"
        "\"kids\":[{\"link\":\"./lunch/1\"},{\"link\":\"basics/sides/1\"}]}}" },
    { "alpine", "{\"currency\":\"CHF\",\"factor\":1.0,\"sections\":{"
        "\"mains\":[{\"name\":\"roesti\",\"price\":16.5},{\"name\":\"fondue\",\"price\":24.0}],"
        "\"soups\":[{\"name\":\"barley\",\"price\":8.5},{\"link\":\"basics/soups/0\"}]}}" },
    { "north", "{\"currency\":\"EUR\",\"factor\":1.0,\"sections\":{"
        "\"mains\":[{\"link\":\"grill/mains/0\"},{\"link\":\"alpine/mains/0\"},{\"name\":\"herring\",\"price\":8.0}],"
        "\"sides\":[{\"link\":\"basics/sides/0\"},{\"link\":\"basics/sides/7\"}]}}" },
    { "harbour", "{\"currency\":\"EUR\",\"factor\":1.2,\"sections\":{"
        "\"mains\":[{\"name\":\"mussels\",\"price\":12.0},{\"name\":\"plaice\",\"price\":13.0}],"
        "\"soups\":[{\"name\":\"bisque\",\"price\":6.0},{\"link\":\"basics/soups/1\"}],"
        "\"today\":[{\"link\":\"./mains/0\"},{\"link\":\"./soups/0\"}]}}" },
    { "office", "{\"currency\":\"CHF\",\"factor\":0.9,\"sections\":{"
        "\"today\":[{\"link\":\"alpine/soups/0\"},{\"link\":\"harbour/mains/1\"},{\"link\":\"nowhere/mains/1\"}],"
        "\"sides\":[{\"name\":\"salad\",\"price\":4.5}]}}" },
};

static struct card cache[CACHE_SIZE];
static unsigned clock_now, loads, hits;

static struct json_object *load_card(const char *name, int depth);

static void home_delete(struct json_object *link, void *home)
{
    (void)link;
    json_object_put(home);
}

/* The dish at "section/position" of a card, borrowed. */
static struct json_object *find_dish(struct json_object *doc, const char *where)
{
    struct json_object *sections, *dishes;
    const char *slash = strchr(where, '/');
    char section[24];

    if (!slash || slash - where >= (long)sizeof(section))
        return NULL;
    memcpy(section, where, slash - where);
    section[slash - where] = 0;
    if (!json_object_object_get_ex(doc, "sections", &sections) ||
        !json_object_object_get_ex(sections, section, &dishes))
        return NULL;
    return json_object_array_get_idx(dishes, atoi(slash + 1));
}

/*
 * Makes a link usable: "dish" is what it leads to, and its user data is the
 * card where that is at home.
 */
static int resolve_link(struct json_object *doc, struct json_object *link, int depth)
{
    const char *path = json_object_get_string(json_object_object_get(link, "link"));
    const char *where = strchr(path, '/') + 1;
    struct json_object *home, *dish;

    if (path[0] == '.') {
        home = json_object_get(doc);    /* ACCEPTED */
    } else {
        char name[24];

        snprintf(name, sizeof(name), "%.*s", (int)(where - path) - 1, path);
        home = load_card(name, depth + 1);
        if (!home)
            return -1;
    }
    dish = find_dish(home, where);
    if (!dish || json_object_object_get_ex(dish, "link", NULL)) {
        json_object_put(home);          /* links to links are not allowed */
        return -1;
    }
    json_object_object_add(link, "dish", json_object_get(dish));
#ifndef BUG
    if (home == doc) {
        json_object_put(home);
        json_object_set_userdata(link, doc, NULL);
        return 0;
    }
#endif
    json_object_set_userdata(link, home, home_delete);  /* GUILTY */
    return 0;
}

static void resolve_card(struct json_object *doc, int depth)
{
    struct json_object *sections = json_object_object_get(doc, "sections");

    json_object_object_foreach(sections, section, dishes) {
        (void)section;
        for (size_t i = 0; i < json_object_array_length(dishes); i++) {
            struct json_object *d = json_object_array_get_idx(dishes, i);

            if (json_object_object_get_ex(d, "link", NULL) && resolve_link(doc, d, depth) < 0)
                json_object_object_add(d, "missing", json_object_new_boolean(1));
        }
    }
}

static struct card *cache_victim(void)
{
    struct card *oldest = &cache[0];

    for (int i = 0; i < CACHE_SIZE; i++) {
        if (!cache[i].doc)
            return &cache[i];
        if (cache[i].used < oldest->used)
            oldest = &cache[i];
    }
    return oldest;
}

/* A card with its links resolved; the caller gets a reference. */
static struct json_object *load_card(const char *name, int depth)
{
    struct json_object *doc = NULL;
    struct card *c;

    for (int i = 0; i < CACHE_SIZE; i++)
        if (cache[i].doc && !strcmp(cache[i].name, name)) {
            hits++;
            cache[i].used = ++clock_now;
            return json_object_get(cache[i].doc);
        }
    if (depth > 4)
        return NULL;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        if (!strcmp(sources[i].name, name)) {
            doc = json_tokener_parse(sources[i].text);
            name = sources[i].name;
        }
    if (!doc)
        return NULL;
    loads++;
    resolve_card(doc, depth);                   /* may load others */
    c = cache_victim();
    json_object_put(c->doc);
    c->doc = json_object_get(doc);
    c->name = name;
    c->used = ++clock_now;
    return doc;
}

static void add_price(struct totals *t, struct json_object *dish, struct json_object *home)
{
    double price = json_object_get_double(json_object_object_get(dish, "price")) *
                   json_object_get_double(json_object_object_get(home, "factor"));

    if (!strcmp(json_object_get_string(json_object_object_get(home, "currency")), "CHF"))
        t->chf += price;
    else
        t->eur += price;
    t->dishes++;
}

static void add_card(struct totals *t, struct json_object *card)
{
    struct json_object *sections = json_object_object_get(card, "sections");

    json_object_object_foreach(sections, section, dishes) {
        (void)section;
        for (size_t i = 0; i < json_object_array_length(dishes); i++) {
            struct json_object *d = json_object_array_get_idx(dishes, i), *dish;

            if (json_object_object_get_ex(d, "missing", NULL)) {
                t->unresolved++;
            } else if (json_object_object_get_ex(d, "dish", &dish)) {
                add_price(t, dish, json_object_get_userdata(d));
                t->linked++;
            } else {
                add_price(t, d, card);
            }
        }
    }
}

/* Another card for a canteen. */
static int serve(struct canteen *c, const char *name)
{
    struct json_object *card = load_card(name, 0);

    if (!card)
        return -1;
    json_object_put(c->card);
    c->card = card;
    c->card_name = name;
    return 0;
}

int main(void)
{
    static const char *const plan[][NCANTEENS] = {
        { "basics", "grill", "alpine", "north", "harbour", "office" },
        { "grill", "grill", "basics", "office", "north", "alpine" },
        { "office", "north", "harbour", "harbour", "grill", "bistro" },
        { "north", "alpine", "basics", "office", "alpine", "grill" },
    };
    struct canteen canteens[NCANTEENS];
    int unknown = 0;

    memset(canteens, 0, sizeof(canteens));
    for (size_t day = 0; day < sizeof(plan) / sizeof(plan[0]); day++) {
        struct totals t = { 0, 0, 0, 0, 0 };

        for (int i = 0; i < NCANTEENS; i++) {
            if (serve(&canteens[i], plan[day][i]) < 0)
                unknown++;
            canteens[i].guests += 20 + 7 * i;
            add_card(&t, canteens[i].card);
        }
        printf("day %zu: %d dishes, %d of them linked, %d missing, EUR %.2f, CHF %.2f\n",
               day + 1, t.dishes, t.linked, t.unresolved, t.eur, t.chf);
    }
    printf("cards loaded %u, from the cache %u, unknown %d\n", loads, hits, unknown);
    for (int i = 0; i < NCANTEENS; i++)
        json_object_put(canteens[i].card);
    for (int i = 0; i < CACHE_SIZE; i++)
        json_object_put(cache[i].doc);
    return 0;
}
