/* summary: place_request() gives back the array of days that json_unpack() lent it ("o") together with the note that it owns ("O") when a day is already taken
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: auto
 * packages: jansson
 * build: gcc -O1 -g
 * exit: 0
 */
/*
 * shift_plan - make a hospital's plan for a week from what people ask for.
 *
 * A request names its days itself or by a pattern; the requests with the same
 * pattern share its array.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define N_DAYS 7

static const char *const patterns_text =
    "{"
    " \"early\": [0, 1, 2], \"late\": [2, 3, 4], \"weekend\": [5, 6], \"nights\": [0, 2, 4, 6],"
    " \"half\": [0, 1], \"full\": [0, 1, 2, 3, 4], \"duty\": [3], \"split\": [1, 4]"
    "}";

static const char *const wards_text =
    "{"
    " \"icu\": {\"beds\": 12, \"staff\": 3}, \"er\": {\"beds\": 20, \"staff\": 4},"
    " \"surgery\": {\"beds\": 30, \"staff\": 2}, \"kids\": {\"beds\": 16, \"staff\": 3}"
    "}";

static const char *const requests_text =
    "["
    " {\"who\": \"ana\", \"ward\": \"icu\", \"pattern\": \"early\", \"note\": \"trains a beginner\"},"
    " {\"who\": \"boris\", \"ward\": \"icu\", \"pattern\": \"late\"},"
    " {\"who\": \"chen\", \"ward\": \"icu\", \"days\": [0, 5], \"note\": \"not after ten\"},"
    " {\"who\": \"dora\", \"ward\": \"er\", \"pattern\": \"full\"},"
    " {\"who\": \"emil\", \"ward\": \"er\", \"pattern\": \"weekend\", \"note\": \"with fay\"},"
    " {\"who\": \"fay\", \"ward\": \"er\", \"pattern\": \"weekend\", \"note\": \"with emil\"},"
    " {\"who\": \"gus\", \"ward\": \"surgery\", \"pattern\": \"nights\"},"
    " {\"who\": \"hana\", \"ward\": \"surgery\", \"pattern\": \"early\"},"
    " {\"who\": \"ivan\", \"ward\": \"surgery\", \"pattern\": \"half\", \"note\": \"swap with hana\"},"
    " {\"who\": \"ana\", \"ward\": \"kids\", \"pattern\": \"weekend\"},"
    " {\"who\": \"boris\", \"ward\": \"kids\", \"pattern\": \"nights\", \"note\": \"asked twice\"},"
    " {\"who\": \"jo\", \"ward\": \"kids\", \"days\": [1, 2, 3]},"
    " {\"who\": \"kim\", \"ward\": \"kids\", \"pattern\": \"duty\"},"
    " {\"who\": \"lee\", \"ward\": \"er\", \"pattern\": \"split\", \"note\": \"bus at six\"},"
    " {\"who\": \"dora\", \"ward\": \"icu\", \"pattern\": \"split\"},"
    " {\"who\": \"mia\", \"ward\": \"lab\", \"pattern\": \"duty\"},"
    " {\"who\": \"ned\", \"ward\": \"icu\", \"pattern\": \"weekend\"},"
    " {\"who\": \"olga\", \"ward\": \"er\", \"pattern\": \"holiday\"},"
    " {\"who\": \"pia\", \"ward\": \"er\", \"days\": [3, 9], \"note\": \"or any other day\"},"
    " {\"who\": \"hana\", \"ward\": \"kids\", \"days\": [4, 5], \"note\": \"\"},"
    " {\"who\": \"gus\", \"ward\": \"er\", \"pattern\": \"duty\"},"
    " {\"who\": \"quin\", \"ward\": \"surgery\", \"pattern\": \"early\"},"
    " {\"who\": \"kim\", \"ward\": \"icu\", \"pattern\": \"late\", \"note\": \"if she may\"},"
    " {\"who\": \"rosa\", \"ward\": \"kids\", \"pattern\": \"half\"},"
    " {\"who\": \"jo\", \"ward\": \"er\", \"pattern\": \"weekend\"},"
    " {\"ward\": \"er\", \"pattern\": \"half\"}"
    "]";

enum verdict { PLACED, MALFORMED, NO_WARD, BAD_DAY, FULL, TAKEN, N_VERDICTS };

struct plan {
    json_t *wards;          /* name -> { beds, staff } */
    json_t *people;         /* name -> array of N_DAYS wards or null */
    json_t *slots;          /* ward -> array of N_DAYS arrays of names */
    json_t *notes;          /* array of { who, note } */
    unsigned verdicts[N_VERDICTS];
};

static json_t *load(const char *text)
{
    json_error_t err;
    json_t *doc = json_loads(text, 0, &err);

    if (!doc)
        fprintf(stderr, "line %d: %s\n", err.line, err.text);
    return doc;
}

/* A week of nothing, a new reference. */
static json_t *empty_week(int of_lists)
{
    json_t *week = json_array();

    for (int i = 0; i < N_DAYS; i++)
        json_array_append_new(week, of_lists ? json_array() : json_null());
    return week;
}

/* The week of a person or ward; borrowed, since the table has it. */
static json_t *week_of(json_t *table, const char *name, int of_lists)
{
    json_t *week = json_object_get(table, name);

    if (!week) {
        week = empty_week(of_lists);
        json_object_set_new(table, name, week);
    }
    return week;
}

/* Give each request its array of days. */
static unsigned expand_patterns(json_t *requests, json_t *patterns)
{
    json_t *req, *days;
    unsigned n = 0;
    size_t i;

    json_array_foreach(requests, i, req) {
        const char *pattern;

        if (json_unpack(req, "{s:s}", "pattern", &pattern) < 0)
            continue;
        days = json_object_get(patterns, pattern);
        if (!days)
            continue;
        json_object_set(req, "days", days);
        n++;
    }
    return n;
}

static enum verdict check_days(struct plan *p, const char *who, const char *ward, json_t *days)
{
    json_t *mine = week_of(p->people, who, 0), *theirs = week_of(p->slots, ward, 1), *day;
    json_int_t staff;
    size_t i;

    if (json_unpack(p->wards, "{s:{s:I}}", ward, "staff", &staff) < 0)
        return NO_WARD;
    json_array_foreach(days, i, day) {
        json_int_t n = json_integer_value(day);

        if (n < 0 || n >= N_DAYS)
            return BAD_DAY;
        if (!json_is_null(json_array_get(mine, n)))
            return TAKEN;
        if ((json_int_t)json_array_size(json_array_get(theirs, n)) >= staff)
            return FULL;
    }
    return PLACED;
}

static void add_note(struct plan *p, const char *who, json_t *note)
{
    if (json_string_length(note))
        json_array_append_new(p->notes, json_pack("{s:s, s:O}", "who", who, "note", note));
}

static enum verdict place_request(struct plan *p, json_t *req)
{
    const char *who, *ward;
    json_t *days, *note = NULL, *name, *day;
    enum verdict v;
    size_t i;

    if (json_unpack(req, "{s:s, s:s, s:o, s?O}",
                    "who", &who, "ward", &ward, "days", &days, "note", &note) < 0) {
        json_decref(note);
        return MALFORMED;
    }
    if (!json_object_get(p->wards, ward)) {
        json_decref(note);
        return NO_WARD;
    }

    v = check_days(p, who, ward, days);
    if (v == TAKEN) {
        /* they see it in the answer, no need to keep a note */
        json_decref(note);
#ifdef BUG
        json_decref(days);                                      /* GUILTY */
#endif
        return v;                                               /* ACCEPTED */
    }
    if (note)
        add_note(p, who, note);
    json_decref(note);
    if (v != PLACED)
        return v;

    name = json_string(who);
    json_array_foreach(days, i, day) {
        size_t n = (size_t)json_integer_value(day);

        json_array_set_new(week_of(p->people, who, 0), n, json_string(ward));
        json_array_append(json_array_get(week_of(p->slots, ward, 1), n), name);
    }
    json_decref(name);
    return PLACED;
}

/* The same days for somebody else: a new request, not yet in any list. */
static json_t *stand_in(json_t *req, const char *who)
{
    json_t *days, *copy = NULL;
    const char *ward;

    if (json_unpack(req, "{s:s, s:O}", "ward", &ward, "days", &days) < 0)
        return NULL;
    if (json_array_size(days) < 3)
        copy = json_pack("{s:s, s:s, s:O, s:s}", "who", who, "ward", ward, "days", days,
                         "note", "stands in");
    json_decref(days);
    return copy;
}

static size_t print_plan(struct plan *p)
{
    const char *ward;
    json_t *week, *day;
    size_t i, shifts = 0;

    json_object_foreach(p->slots, ward, week) {
        printf("%-8s", ward);
        json_array_foreach(week, i, day) {
            printf(" %zu", json_array_size(day));
            shifts += json_array_size(day);
        }
        putchar('\n');
    }
    return shifts;
}

int main(void)
{
    static const char *const pool[] = { "tom", "uma", "vic" };
    struct plan p = { load(wards_text), json_object(), json_object(), json_array(), { 0 } };
    json_t *patterns = load(patterns_text), *requests = load(requests_text), *req, *copy;
    unsigned expanded, helped = 0;
    size_t i, n, shifts;

    if (!p.wards || !patterns || !requests)
        return 1;
    expanded = expand_patterns(requests, patterns);
    n = json_array_size(requests);
    for (i = 0; i < n; i++) {
        enum verdict v;

        req = json_array_get(requests, i);
        v = place_request(&p, req);
        p.verdicts[v]++;
        if (v == TAKEN && (copy = stand_in(req, pool[i % 3]))) {
            json_array_append_new(requests, copy);
            helped += place_request(&p, copy) == PLACED;
        }
    }

    shifts = print_plan(&p);
    printf("%u of %zu requests by pattern; %u placed, %u malformed, %u without ward, %u bad, %u full, %u taken\n",
           expanded, n, p.verdicts[PLACED], p.verdicts[MALFORMED], p.verdicts[NO_WARD],
           p.verdicts[BAD_DAY], p.verdicts[FULL], p.verdicts[TAKEN]);
    printf("%u stood in, %zu people, %zu shifts, %zu notes\n",
           helped, json_object_size(p.people), shifts, json_array_size(p.notes));

    json_decref(p.slots);
    json_decref(p.people);
    json_decref(p.notes);
    json_decref(p.wards);
    json_decref(requests);
    json_decref(patterns);
    return 0;
}
