/* summary: reading_make() gives the meter's unit, which json_object_get() only lent, to json_object_set_new(), which takes a reference over
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: auto
 * packages: jansson
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "borrowed reference given to a function that steals it"
 */
/*
 * Readings of meters: each meter has a description, and a reading that goes to
 * the billing has some of the description's members beside the value.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char description[] =
	"{ \"site\": \"mill lane\", \"meters\": ["
	"{ \"id\": \"w1\", \"kind\": \"water\", \"factor\": 10 },"
	"{ \"id\": \"w2\", \"kind\": \"water\", \"factor\": 10 },"
	"{ \"id\": \"e1\", \"kind\": \"power\", \"factor\": 2, \"unit\": \"watt hours\" },"
	"{ \"id\": \"g1\", \"kind\": \"gas\", \"factor\": 5 },"
	"{ \"id\": \"e2\", \"kind\": \"power\", \"factor\": 4, \"unit\": \"kilowatt hours\" },"
	"{ \"id\": \"e3\", \"kind\": \"power\", \"factor\": 1, \"unit\": \"joules\" },"
	"{ \"id\": \"w3\", \"kind\": \"water\", \"factor\": 20 } ] }";

static struct {
	unsigned readings, flagged, printed;
	size_t bytes;
} stats;

static json_t *checked(json_t *j)
{
	if (!j)
		abort();
	return j;
}

/* A reading for the billing. The reference is the caller's. */
static json_t *reading_make(json_t *meter, unsigned value)
{
	json_t *r = checked(json_object());
	json_t *unit = json_object_get(meter, "unit");
	json_int_t factor = json_integer_value(json_object_get(meter, "factor"));

	json_object_set(r, "id", json_object_get(meter, "id"));
	json_object_set_new(r, "value", json_integer(value * factor));
	if (unit)
#ifdef BUG
		json_object_set_new(r, "unit", unit);	/* GUILTY */
#else
		json_object_set(r, "unit", unit);
#endif
	else
		json_object_set_new(r, "unit", json_string("cubic metres"));
	stats.readings++;
	return r;
}

/* Notes are shared by all the readings that they are about. */
static void readings_flag(json_t *readings, json_int_t above)
{
	json_t *note = checked(json_string("look at it again"));
	json_t *r;
	size_t i;

	json_array_foreach(readings, i, r) {
		if (json_integer_value(json_object_get(r, "value")) <= above)
			continue;
		json_object_set(r, "note", note);
		stats.flagged++;
	}
	json_decref(note);
}

static json_t *round_make(json_t *meters, unsigned round, const char *kind)
{
	json_t *list = checked(json_array());
	json_t *m;
	size_t i;

	json_array_foreach(meters, i, m) {
		const char *k = json_string_value(json_object_get(m, "kind"));

		if (strcmp(k, kind))
			continue;
		json_array_append_new(list, reading_make(m, 30 + round * 9 + (unsigned)i));
	}
	return list;
}

/* The largest reading of all; the reference is the caller's. */
static json_t *readings_largest(json_t *rounds)
{
	json_t *best = NULL, *list, *r;
	size_t i, j;

	json_array_foreach(rounds, i, list) {
		json_array_foreach(list, j, r) {
			if (best && json_integer_value(json_object_get(best, "value")) >=
				    json_integer_value(json_object_get(r, "value")))
				continue;
			json_decref(best);
			best = json_incref(r);
		}
	}
	return best;
}

static void show(const char *what, json_t *j)
{
	char *text = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS);

	if (!text)
		abort();
	stats.printed++;
	stats.bytes += strlen(text);
	printf("%s: %.100s\n", what, text);
	free(text);
}

/* By the meters' names, from all rounds. */
static json_t *by_meter(json_t *rounds)
{
	json_t *index = checked(json_object()), *list, *r;
	size_t i, j;

	json_array_foreach(rounds, i, list) {
		json_array_foreach(list, j, r) {
			const char *id = json_string_value(json_object_get(r, "id"));
			json_t *mine = json_object_get(index, id);

			if (!mine) {
				mine = checked(json_array());
				json_object_set_new(index, id, mine);
			}
			json_array_append(mine, r);
		}
	}
	return index;
}

int main(void)
{
	json_error_t error;
	json_t *site = json_loads(description, 0, &error);
	json_t *meters, *rounds, *best, *index;

	if (!site) {
		fprintf(stderr, "line %d: %s\n", error.line, error.text);
		return 1;
	}
	meters = json_object_get(site, "meters");
	rounds = checked(json_array());
	for (unsigned i = 0; i < 9; i++)
		json_array_append_new(rounds, round_make(meters, i, i % 2 ? "water" : "gas"));
	json_array_append_new(rounds, round_make(meters, 9, "power"));
	for (size_t i = 0; i < json_array_size(rounds); i++)
		readings_flag(json_array_get(rounds, i), 500);

	best = readings_largest(rounds);
	show("largest", best);
	json_decref(best);
	index = by_meter(rounds);
	show("w2", json_object_get(index, "w2"));
	show("e1", json_object_get(index, "e1"));
	json_decref(index);
	printf("%u readings, %u flagged, %u printed in %zu bytes\n", stats.readings, stats.flagged,
	       stats.printed, stats.bytes);
	json_decref(rounds);
	json_decref(site);
	return 0;
}
