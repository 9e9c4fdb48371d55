/*
 * summary: a trail that has no warden of its own gets the region's warden, without a reference of its own to that object
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: json_object
 * packages: json-c
 * build: gcc -O3 -g
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The guide of the hiking trails: regions with defaults, trails that fall back on them. */

static const char regions_text[] =
    "{ \"fells\": { \"warden\": { \"name\": \"Ana Roe\", \"phone\": 4410 },"
    "               \"season\": [ 4, 10 ], \"grade\": \"hard\" },"
    "  \"coast\": { \"warden\": { \"name\": \"Jon Hay\", \"phone\": 4417 },"
    "               \"season\": [ 1, 12 ], \"grade\": \"easy\" },"
    "  \"moor\":  { \"warden\": { \"name\": \"Lea Fox\", \"phone\": 4402 },"
    "               \"season\": [ 5, 9 ],  \"grade\": \"fair\" } }";

static const char *const survey_texts[] = {
    "{ \"trail\": \"Pike Ridge\", \"region\": \"fells\", \"km\": 14.5, \"warden\": { \"name\": \"Tom Ash\", \"phone\": 4420 } }",
    "{ \"trail\": \"Tarn Loop\", \"region\": \"fells\", \"km\": 6.0 }",
    "{ \"trail\": \"Cliff Walk\", \"region\": \"coast\", \"km\": 9.2, \"grade\": \"fair\", \"season\": [ 3, 11 ],"
    "  \"warden\": { \"name\": \"Mia Orr\", \"phone\": 4431 } }",
    "{ \"trail\": \"Heath Way\", \"region\": \"moor\", \"km\": 11.0 }",
    "{ \"trail\": \"Bog Boards\", \"region\": \"swamp\", \"km\": 2.0 }",
    "{ \"trail\": \"Stile Path\", \"region\": \"moor\", \"km\": ",
    "{ \"trail\": \"Peat Road\", \"region\": \"moor\", \"km\": 17.8, \"warden\": null, \"season\": [ 6, 8 ],"
    "  \"grade\": \"hard\" }",
};

#define SURVEYS (sizeof survey_texts / sizeof survey_texts[0])

typedef struct {
    struct json_object *regions;
    struct json_object *trails;        /* array, as the guide prints it */
    struct json_object *by_grade;      /* object of arrays, of the same trails */
    unsigned rejected;
} Guide;

static int guide_open(Guide *guide, const char *text)
{
    guide->regions = json_tokener_parse(text);
    if (guide->regions == NULL)
        return -1;
    guide->trails = json_object_new_array();
    guide->by_grade = json_object_new_object();
    guide->rejected = 0;
    return 0;
}

static void guide_close(Guide *guide)
{
    json_object_put(guide->by_grade);
    json_object_put(guide->trails);
    json_object_put(guide->regions);
}

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *member;

    return json_object_object_get_ex(object, key, &member) ? json_object_get_string(member) : "";
}

static int has_own(struct json_object *trail, const char *key)
{
    struct json_object *member;

    return json_object_object_get_ex(trail, key, &member) && member != NULL;
}

static void inherit_season(struct json_object *trail, struct json_object *region)
{
    struct json_object *season;

    if (has_own(trail, "season"))
        return;
    if (json_object_object_get_ex(region, "season", &season))
        json_object_object_add(trail, "season", json_object_get(season));
}

static void inherit_grade(struct json_object *trail, struct json_object *region)
{
    struct json_object *grade;

    if (!has_own(trail, "grade") && json_object_object_get_ex(region, "grade", &grade))
        json_object_object_add(trail, "grade", json_object_get(grade));
}

/* A trail is looked after by its own warden or by the one of its region. */
static int settle_warden(struct json_object *trail, struct json_object *region)
{
    struct json_object *warden;

    if (has_own(trail, "warden"))
        return 0;
    if (!json_object_object_get_ex(region, "warden", &warden))
        return -1;
#ifdef BUG
    json_object_object_add(trail, "warden", warden); /* GUILTY */
#else
    json_object_object_add(trail, "warden", json_object_get(warden));
#endif
    return 1;
}

static void list_by_grade(Guide *guide, struct json_object *trail)
{
    const char *grade = text_of(trail, "grade");
    struct json_object *list;

    if (!json_object_object_get_ex(guide->by_grade, grade, &list)) {
        list = json_object_new_array();
        json_object_object_add(guide->by_grade, grade, list);
    }
    json_object_array_add(list, json_object_get(trail));
}

static int guide_add(Guide *guide, const char *text)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *trail, *region;

    trail = json_tokener_parse_ex(tokener, text, (int)strlen(text));
    if (trail == NULL) {
        printf("cannot read: %s\n", json_tokener_error_desc(json_tokener_get_error(tokener)));
        json_tokener_free(tokener);
        guide->rejected++;
        return -1;
    }
    json_tokener_free(tokener);
    if (!json_object_object_get_ex(guide->regions, text_of(trail, "region"), &region)) {
        printf("%s: no such region\n", text_of(trail, "trail"));
        json_object_put(trail);
        guide->rejected++;
        return -1;
    }
    inherit_season(trail, region);
    inherit_grade(trail, region);
    if (settle_warden(trail, region) < 0) {
        json_object_put(trail);
        guide->rejected++;
        return -1;
    }
    list_by_grade(guide, trail);
    json_object_array_add(guide->trails, trail);
    return 0;
}

static int open_in(struct json_object *trail, int month)
{
    struct json_object *season;

    if (!json_object_object_get_ex(trail, "season", &season) || json_object_array_length(season) != 2)
        return 0;
    return month >= json_object_get_int(json_object_array_get_idx(season, 0)) &&
           month <= json_object_get_int(json_object_array_get_idx(season, 1));
}

static struct json_object *trails_open_in(Guide *guide, int month)
{
    struct json_object *found = json_object_new_array();

    for (size_t i = 0; i < json_object_array_length(guide->trails); i++) {
        struct json_object *trail = json_object_array_get_idx(guide->trails, i);

        if (open_in(trail, month))
            json_object_array_add(found, json_object_get(trail));
    }
    return found;
}

static void print_trails(const char *heading, struct json_object *trails)
{
    printf("%s:\n", heading);
    for (size_t i = 0; i < json_object_array_length(trails); i++) {
        struct json_object *trail = json_object_array_get_idx(trails, i);
        struct json_object *warden = json_object_object_get(trail, "warden");
        struct json_object *km = json_object_object_get(trail, "km");

        printf("  %-12s %5.1f km, %s, call %s\n", text_of(trail, "trail"), json_object_get_double(km), text_of(trail, "grade"),
               text_of(warden, "phone"));
    }
}

int main(void)
{
    Guide guide;
    struct json_object *april, *list;

    if (guide_open(&guide, regions_text) < 0)
        return 1;
    for (size_t i = 0; i < SURVEYS; i++)
        guide_add(&guide, survey_texts[i]);

    print_trails("all trails", guide.trails);
    april = trails_open_in(&guide, 4);
    print_trails("open in April", april);
    json_object_put(april);
    if (json_object_object_get_ex(guide.by_grade, "hard", &list))
        print_trails("hard ones", list);
    printf("%u rejected\n", guide.rejected);
    guide_close(&guide);
    return 0;
}
