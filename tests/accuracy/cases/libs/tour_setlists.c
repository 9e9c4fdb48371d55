/*
 * summary: a song that is cut from the set because it does not fit into the encore either keeps the reference taken for the move
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: json_object
 * packages: json-c
 * build: clang -O1 -g
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The setlists of a tour. Each venue has its own curfew; the band's standard set is cut to it: songs move from the end of the
   set to the encore, or go. What was cut is put down per venue for the merchandise desk. */

struct tour {
    struct json_object *songs;    /* name to song */
    struct json_object *standard; /* names in order */
    struct json_object *nights;   /* one object a venue */
    int cut;
    int moved;
};

static const char band_data[] =
    "{\"songs\": ["
    "  {\"name\": \"Harbour\", \"seconds\": 245, \"key\": \"D\"},"
    "  {\"name\": \"Tin Roof\", \"seconds\": 198, \"key\": \"G\"},"
    "  {\"name\": \"Low Tide\", \"seconds\": 412, \"key\": \"Am\"},"
    "  {\"name\": \"Paper Boats\", \"seconds\": 221, \"key\": \"C\", \"capo\": 3},"
    "  {\"name\": \"Eleven Miles\", \"seconds\": 530, \"key\": \"Em\"},"
    "  {\"name\": \"Late Train\", \"seconds\": 187, \"key\": \"F\"}],"
    " \"standard\": [\"Tin Roof\", \"Harbour\", \"Low Tide\", \"Late Train\", \"Eleven Miles\", \"Paper Boats\"]}";

static const char *const venues[] = {
    "{\"venue\": \"Old Mill\", \"set\": 2000, \"encore\": 300}",
    "{\"venue\": \"Pier 4\", \"set\": 900, \"encore\": 450}",
    "{\"venue\": \"Town Hall\", \"set\": ",
    "{\"venue\": \"Corn Exchange\", \"set\": 1300, \"encore\": 200}",
    "{\"venue\": \"Barn\", \"encore\": 200}",
};

static int number_of(struct json_object *object, const char *key, int otherwise)
{
    struct json_object *value;

    if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_int))
        return otherwise;
    return json_object_get_int(value);
}

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(object, key, &value) ? json_object_get_string(value) : "?";
}

/* Sorts the songs into a table by their names; the table shares them with nobody once the data is gone. */
static bool tour_load(struct tour *tour, const char *text)
{
    struct json_object *data = json_tokener_parse(text);
    struct json_object *songs, *standard;

    memset(tour, 0, sizeof *tour);
    if (data == NULL)
        return false;
    if (!json_object_object_get_ex(data, "songs", &songs) || !json_object_object_get_ex(data, "standard", &standard)) {
        json_object_put(data);
        return false;
    }
    tour->songs = json_object_new_object();
    for (size_t i = 0; i < json_object_array_length(songs); i++) {
        struct json_object *song = json_object_array_get_idx(songs, i);

        json_object_object_add(tour->songs, text_of(song, "name"), json_object_get(song));
    }
    tour->standard = json_object_get(standard);
    tour->nights = json_object_new_array();
    json_object_put(data);
    return true;
}

static void tour_free(struct tour *tour)
{
    json_object_put(tour->nights);
    json_object_put(tour->standard);
    json_object_put(tour->songs);
}

/* The standard set with copies of the songs: a night may change the key of one. */
static struct json_object *copy_standard(struct tour *tour)
{
    struct json_object *set = json_object_new_array();

    for (size_t i = 0; i < json_object_array_length(tour->standard); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(tour->standard, i));
        struct json_object *song, *copy = NULL;

        if (!json_object_object_get_ex(tour->songs, name, &song))
            continue;
        if (json_object_deep_copy(song, &copy, NULL) != 0)
            continue;
        json_object_array_add(set, copy);
    }
    return set;
}

static int total_seconds(struct json_object *songs)
{
    int sum = 0;

    for (size_t i = 0; i < json_object_array_length(songs); i++)
        sum += number_of(json_object_array_get_idx(songs, i), "seconds", 0);
    return sum;
}

/* Cuts the set down to its length. */
static void shorten_set(struct tour *tour, struct json_object *set, int seconds, struct json_object *encore, int encore_seconds,
                        struct json_object *cut)
{
    while (total_seconds(set) > seconds && json_object_array_length(set) > 0) {
        const size_t last = json_object_array_length(set) - 1;
        struct json_object *song = json_object_get(json_object_array_get_idx(set, last));
        const int length = number_of(song, "seconds", 0);

        json_object_array_del_idx(set, last, 1);
        if (total_seconds(encore) + length > encore_seconds) {
            json_object_array_add(cut, json_object_new_string(text_of(song, "name")));
            tour->cut++; /* ACCEPTED */
#ifndef BUG
            json_object_put(song);
#endif
            continue; /* GUILTY */
        }
        json_object_object_add(song, "encore", json_object_new_boolean(1));
        json_object_array_add(encore, song);
        tour->moved++;
    }
}

static void transpose_capo_songs(struct json_object *set)
{
    for (size_t i = 0; i < json_object_array_length(set); i++) {
        struct json_object *song = json_object_array_get_idx(set, i);
        const int capo = number_of(song, "capo", 0);

        if (capo > 0) {
            json_object_object_add(song, "key", json_object_new_string("Eb"));
            json_object_object_del(song, "capo");
        }
    }
}

static bool tour_add_night(struct tour *tour, const char *text)
{
    struct json_object *night = json_tokener_parse(text);
    struct json_object *set, *encore, *cut;
    int seconds;

    if (night == NULL) {
        printf("a venue cannot be read\n");
        return false;
    }
    seconds = number_of(night, "set", -1);
    if (seconds < 0) {
        printf("%s has no length\n", text_of(night, "venue"));
        json_object_put(night);
        return false;
    }
    set = copy_standard(tour);
    encore = json_object_new_array();
    cut = json_object_new_array();
    shorten_set(tour, set, seconds, encore, number_of(night, "encore", 0), cut);
    transpose_capo_songs(set);
    json_object_object_add(night, "songs", set);
    json_object_object_add(night, "extra", encore);
    if (json_object_array_length(cut) > 0)
        json_object_object_add(night, "cut", cut);
    else
        json_object_put(cut);
    json_object_array_add(tour->nights, night);
    return true;
}

static void print_songs(const char *what, struct json_object *songs)
{
    printf("  %s:", what);
    for (size_t i = 0; i < json_object_array_length(songs); i++) {
        struct json_object *song = json_object_array_get_idx(songs, i);

        if (json_object_is_type(song, json_type_string))
            printf(" %s;", json_object_get_string(song));
        else
            printf(" %s in %s;", text_of(song, "name"), text_of(song, "key"));
    }
    printf(" %d s\n", total_seconds(songs));
}

/* What every night has in common, in the order of the first. The caller puts it. */
static struct json_object *always_played(struct tour *tour)
{
    struct json_object *names = json_object_new_array();

    for (size_t i = 0; i < json_object_array_length(tour->standard); i++) {
        struct json_object *name = json_object_array_get_idx(tour->standard, i);
        size_t nights = 0;

        for (size_t n = 0; n < json_object_array_length(tour->nights); n++) {
            struct json_object *songs;

            json_object_object_get_ex(json_object_array_get_idx(tour->nights, n), "songs", &songs);
            for (size_t s = 0; s < json_object_array_length(songs); s++)
                nights += strcmp(text_of(json_object_array_get_idx(songs, s), "name"), json_object_get_string(name)) == 0;
        }
        if (nights == json_object_array_length(tour->nights))
            json_object_array_add(names, json_object_get(name));
    }
    return names;
}

int main(void)
{
    struct tour tour;
    struct json_object *always;

    if (!tour_load(&tour, band_data)) {
        printf("no band\n");
        return 1;
    }
    for (size_t i = 0; i < sizeof venues / sizeof venues[0]; i++)
        tour_add_night(&tour, venues[i]);

    for (size_t i = 0; i < json_object_array_length(tour.nights); i++) {
        struct json_object *night = json_object_array_get_idx(tour.nights, i);
        struct json_object *songs;

        printf("%s\n", text_of(night, "venue"));
        if (json_object_object_get_ex(night, "songs", &songs))
            print_songs("set", songs);
        if (json_object_object_get_ex(night, "extra", &songs))
            print_songs("encore", songs);
        if (json_object_object_get_ex(night, "cut", &songs))
            print_songs("cut", songs);
    }
    always = always_played(&tour);
    print_songs("always", always);
    json_object_put(always);
    printf("%d moved, %d cut\n", tour.moved, tour.cut);
    tour_free(&tour);
    return 0;
}
