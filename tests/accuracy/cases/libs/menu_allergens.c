/*
 * summary: the card of the day gets the dish's own list of allergens without a reference to it
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: json_object
 * packages: json-c
 * build: gcc -O1 -g
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A canteen's menu. Allergens are described once, in the legend; dishes point at the legend's entries, and the cards that the
   screens show are put together from both. A screen keeps its last cards until the kitchen closes. */

#define MOST_CARDS 16

struct canteen {
    struct json_object *legend; /* letter -> entry */
    struct json_object *dishes; /* name -> dish */
};

struct screen {
    const char *place;
    struct json_object *cards[MOST_CARDS];
    int count;
};

static struct json_object *text(const char *string)
{
    return json_object_new_string(string);
}

static struct canteen canteen_open(void)
{
    static const struct { const char *letter, *name; bool severe; } allergens[] = {
        {"A", "gluten", false}, {"C", "egg", false}, {"D", "fish", true}, {"E", "peanut", true},
        {"G", "milk", false}, {"H", "nuts", true}, {"L", "celery", false}, {"M", "mustard", false},
    };
    struct canteen canteen = {json_object_new_object(), json_object_new_object()};
    for (size_t i = 0; i < sizeof allergens / sizeof *allergens; i++) {
        struct json_object *entry = json_object_new_object();
        json_object_object_add(entry, "name", text(allergens[i].name));
        json_object_object_add(entry, "severe", json_object_new_boolean(allergens[i].severe));
        json_object_object_add(canteen.legend, allergens[i].letter, entry);
    }
    return canteen;
}

static void canteen_close(struct canteen *canteen)
{
    json_object_put(canteen->dishes);
    json_object_put(canteen->legend);
}

static bool canteen_cook(struct canteen *canteen, const char *name, int cents, const char *letters)
{
    struct json_object *dish = json_object_new_object();
    struct json_object *list = json_object_new_array();
    json_object_object_add(dish, "cents", json_object_new_int(cents));
    for (const char *letter = letters; *letter; letter++) {
        char key[2] = {*letter, 0};
        struct json_object *entry;
        if (!json_object_object_get_ex(canteen->legend, key, &entry)) {
            printf("%s: nobody knows allergen %s\n", name, key);
            json_object_put(list);
            json_object_put(dish);
            return false;
        }
        json_object_array_add(list, json_object_get(entry));
    }
    json_object_object_add(dish, "allergens", list);
    json_object_object_add(canteen->dishes, name, dish);
    return true;
}

static bool dish_severe(struct json_object *dish)
{
    struct json_object *list, *severe;
    if (!json_object_object_get_ex(dish, "allergens", &list))
        return false;
    for (size_t i = 0; i < json_object_array_length(list); i++)
        if (json_object_object_get_ex(json_object_array_get_idx(list, i), "severe", &severe) &&
            json_object_get_boolean(severe))
            return true;
    return false;
}

/* The card of a dish: its name, its price, and the names of what it contains. */
static struct json_object *card_for(struct canteen *canteen, const char *name)
{
    struct json_object *dish, *cents, *list;
    if (!json_object_object_get_ex(canteen->dishes, name, &dish))
        return NULL;
    struct json_object *card = json_object_new_object();
    json_object_object_add(card, "title", text(name));
    if (json_object_object_get_ex(dish, "cents", &cents))
        json_object_object_add(card, "cents", json_object_get(cents));
    if (json_object_object_get_ex(dish, "allergens", &list)) {
        struct json_object *names = json_object_new_array();
        for (size_t i = 0; i < json_object_array_length(list); i++) {
            struct json_object *label;
            if (json_object_object_get_ex(json_object_array_get_idx(list, i), "name", &label))
                json_object_array_add(names, json_object_get(label));
        }
        json_object_object_add(card, "contains", names);
    }
    if (dish_severe(dish))
        json_object_object_add(card, "warning", json_object_new_boolean(true));
    return card;
}

/* The card of the day is read by the ordering service as well, which wants whole entries. */
static struct json_object *card_of_the_day(struct canteen *canteen, const char *name, int percent)
{
    struct json_object *dish, *cents, *list;
    if (!json_object_object_get_ex(canteen->dishes, name, &dish))
        return NULL;
    struct json_object *card = json_object_new_object();
    json_object_object_add(card, "title", text("dish of the day"));
    json_object_object_add(card, "dish", text(name));
    if (json_object_object_get_ex(dish, "cents", &cents))
        json_object_object_add(card, "cents", json_object_new_int(json_object_get_int(cents) * (100 - percent) / 100));
    if (json_object_object_get_ex(dish, "allergens", &list))
#ifdef BUG
        json_object_object_add(card, "entries", list); /* GUILTY */
#else
        json_object_object_add(card, "entries", json_object_get(list));
#endif
    return card;
}

static void screen_show(struct screen *screen, struct json_object *card)
{
    if (!card)
        return;
    if (screen->count == MOST_CARDS) {
        json_object_put(screen->cards[0]);
        memmove(screen->cards, screen->cards + 1, (MOST_CARDS - 1) * sizeof *screen->cards);
        screen->count--;
    }
    screen->cards[screen->count++] = json_object_get(card);
}

static void screen_show_all(struct screen *screen, struct canteen *canteen)
{
    json_object_object_foreach(canteen->dishes, name, dish) {
        (void)dish;
        struct json_object *card = card_for(canteen, name);
        screen_show(screen, card);
        json_object_put(card);
    }
}

static size_t screen_bytes(const struct screen *screen)
{
    size_t bytes = 0;
    for (int i = 0; i < screen->count; i++)
        bytes += strlen(json_object_to_json_string_ext(screen->cards[i], JSON_C_TO_STRING_PLAIN));
    return bytes;
}

static int screen_warnings(const struct screen *screen)
{
    int warnings = 0;
    for (int i = 0; i < screen->count; i++)
        warnings += json_object_object_get_ex(screen->cards[i], "warning", NULL);
    return warnings;
}

static void screen_off(struct screen *screen)
{
    while (screen->count > 0)
        json_object_put(screen->cards[--screen->count]);
}

static int sales(struct canteen *canteen, const char *const names[], int count)
{
    int cents = 0;
    for (int i = 0; i < count; i++) {
        struct json_object *dish, *price;
        if (!json_object_object_get_ex(canteen->dishes, names[i], &dish))
            continue;
        json_object_get(dish);
        if (json_object_object_get_ex(dish, "cents", &price))
            cents += json_object_get_int(price);
        json_object_put(dish);
    }
    return cents;
}

int main(void)
{
    static const char *const eaten[] = {"lasagne", "goulash", "lasagne", "trout", "waffle", "lasagne", "salad", "soup"};
    struct canteen canteen = canteen_open();
    struct screen hall = {.place = "hall"}, door = {.place = "door"};

    canteen_cook(&canteen, "lasagne", 640, "ACGL");
    canteen_cook(&canteen, "goulash", 720, "AL");
    canteen_cook(&canteen, "trout", 890, "DGM");
    canteen_cook(&canteen, "sushi", 950, "DX");
    canteen_cook(&canteen, "waffle", 380, "ACGH");
    canteen_cook(&canteen, "salad", 450, "LM");

    screen_show_all(&hall, &canteen);
    struct json_object *special = card_of_the_day(&canteen, "trout", 15);
    screen_show(&hall, special);
    screen_show(&door, special);
    json_object_put(special);
    screen_show(&door, card_of_the_day(&canteen, "soup", 10));

    struct json_object *again = card_for(&canteen, "waffle");
    screen_show(&door, again);
    json_object_put(again);

    printf("%s: %d cards, %zu bytes, %d warnings\n", hall.place, hall.count, screen_bytes(&hall), screen_warnings(&hall));
    printf("%s: %d cards, %zu bytes, %d warnings\n", door.place, door.count, screen_bytes(&door), screen_warnings(&door));
    printf("sold for %d cents\n", sales(&canteen, eaten, sizeof eaten / sizeof *eaten));

    screen_off(&door);
    screen_off(&hall);
    canteen_close(&canteen);
    return 0;
}
