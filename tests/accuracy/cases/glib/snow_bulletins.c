/*
 * summary: walking over a season, a day without bulletin replaces the pointer to the current day before that day is given back
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: GDateTime GVariant GBytes
 * packages: glib-2.0
 * build: gcc -O0 -g
 */
/* Avalanche bulletins: the warning centre sends them in a compact binary form; the archive keeps them by
 * region and answers how dangerous a season was. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define BULLETIN_TYPE "(sxxyas)"

typedef struct {
	gchar *region;
	GDateTime *from;
	GDateTime *until;
	guint8 level;
	GVariant *problems;
	GBytes *raw;
} Bulletin;

typedef struct {
	GHashTable *regions; /* name -> GPtrArray of Bulletin */
	guint rejected;
} Archive;

typedef struct {
	guint days[6];
	guint gaps;
	guint worst;
} Profile;

static void bulletin_free(gpointer data)
{
	Bulletin *b = data;

	g_free(b->region);
	g_date_time_unref(b->from);
	g_date_time_unref(b->until);
	g_variant_unref(b->problems);
	g_bytes_unref(b->raw);
	g_free(b);
}

static Bulletin *bulletin_decode(GBytes *bytes)
{
	GVariant *v = g_variant_new_from_bytes(G_VARIANT_TYPE(BULLETIN_TYPE), bytes, FALSE);
	GVariant *problems = NULL;
	const gchar *region;
	gint64 from, until;
	guint8 level;
	Bulletin *b = NULL;

	g_variant_ref_sink(v);
	if (!g_variant_is_normal_form(v))
		goto out;
	g_variant_get(v, "(&sxxy@as)", &region, &from, &until, &level, &problems);
	if (until <= from || level < 1 || level > 5)
		goto out;
	b = g_new0(Bulletin, 1);
	b->region = g_strdup(region);
	b->from = g_date_time_new_from_unix_utc(from);
	b->until = g_date_time_new_from_unix_utc(until);
	b->level = level;
	b->problems = g_variant_ref(problems);
	b->raw = g_bytes_ref(bytes);
out:
	if (problems)
		g_variant_unref(problems);
	g_variant_unref(v);
	return b;
}

static GBytes *bulletin_encode(const char *region, GDateTime *from, int days, guint8 level, const char *const *problems)
{
	GDateTime *until = g_date_time_add_days(from, days);
	GVariant *v = g_variant_new("(sxxy^as)", region, g_date_time_to_unix(from), g_date_time_to_unix(until), level, problems);
	GBytes *bytes;

	g_variant_ref_sink(v);
	bytes = g_variant_get_data_as_bytes(v);
	g_variant_unref(v);
	g_date_time_unref(until);
	return bytes;
}

static Archive *archive_new(void)
{
	Archive *a = g_new0(Archive, 1);

	a->regions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
	return a;
}

static void archive_free(Archive *a)
{
	g_hash_table_unref(a->regions);
	g_free(a);
}

static gboolean archive_import(Archive *a, GBytes *bytes)
{
	Bulletin *b = bulletin_decode(bytes);
	GPtrArray *list;

	if (!b) {
		a->rejected++;
		return FALSE;
	}
	list = g_hash_table_lookup(a->regions, b->region);
	if (!list) {
		list = g_ptr_array_new_with_free_func(bulletin_free);
		g_hash_table_insert(a->regions, g_strdup(b->region), list);
	}
	g_ptr_array_add(list, b);
	return TRUE;
}

static Bulletin *archive_find(Archive *a, const char *region, GDateTime *when)
{
	GPtrArray *list = g_hash_table_lookup(a->regions, region);

	for (guint i = 0; list && i < list->len; i++) {
		Bulletin *b = g_ptr_array_index(list, i);

		if (g_date_time_compare(b->from, when) <= 0 && g_date_time_compare(when, b->until) < 0)
			return b;
	}
	return NULL;
}

/* The end of the latest bulletin of all regions. */
static GDateTime *archive_horizon(Archive *a)
{
	GHashTableIter it;
	gpointer value;
	GDateTime *latest = NULL;

	g_hash_table_iter_init(&it, a->regions);
	while (g_hash_table_iter_next(&it, NULL, &value)) {
		GPtrArray *list = value;

		for (guint i = 0; i < list->len; i++) {
			Bulletin *b = g_ptr_array_index(list, i);

			if (latest && g_date_time_compare(b->until, latest) <= 0)
				continue;
			g_clear_pointer(&latest, g_date_time_unref);
			latest = g_date_time_ref(b->until);
		}
	}
	return latest;
}

/* Days at each level of danger between two dates; a bulletin counts for all of its days. */
static Profile archive_profile(Archive *a, const char *region, GDateTime *from, GDateTime *to)
{
	Profile p = { 0 };
	GDateTime *day = g_date_time_ref(from);

	while (g_date_time_compare(day, to) < 0) {
		Bulletin *b = archive_find(a, region, day);
		GDateTime *next;

		if (!b) {
			p.gaps++;
			next = g_date_time_add_days(day, 1); /* ACCEPTED */
#ifndef BUG
			g_date_time_unref(day);
#endif
			day = next; /* GUILTY */
			continue;
		}
		p.days[b->level] += g_date_time_difference(b->until, day) / G_TIME_SPAN_DAY;
		p.worst = MAX(p.worst, b->level);
		next = g_date_time_ref(b->until);
		g_date_time_unref(day);
		day = next;
	}
	g_date_time_unref(day);
	return p;
}

static guint archive_expire(Archive *a, GDateTime *limit)
{
	GHashTableIter it;
	gpointer value;
	guint removed = 0;

	g_hash_table_iter_init(&it, a->regions);
	while (g_hash_table_iter_next(&it, NULL, &value)) {
		GPtrArray *list = value;

		for (guint i = list->len; i-- > 0;) {
			Bulletin *b = g_ptr_array_index(list, i);

			if (g_date_time_compare(b->until, limit) <= 0) {
				g_ptr_array_remove_index(list, i);
				removed++;
			}
		}
		if (!list->len)
			g_hash_table_iter_remove(&it);
	}
	return removed;
}

static gsize problems_text(const Bulletin *b, char *out, gsize size)
{
	gsize n = g_variant_n_children(b->problems);

	*out = 0;
	for (gsize i = 0; i < n; i++) {
		GVariant *child = g_variant_get_child_value(b->problems, i);

		g_strlcat(out, i ? ", " : "", size);
		g_strlcat(out, g_variant_get_string(child, NULL), size);
		g_variant_unref(child);
	}
	return n;
}

int main(void)
{
	static const char *const slab[] = { "wind slab", "persistent weak layer", NULL };
	static const char *const wet[] = { "wet snow", NULL };
	static const struct { const char *region; int start, days, level; const char *const *problems; } season[] = {
		{ "Silvretta", 0, 3, 3, slab }, { "Silvretta", 3, 2, 4, slab }, { "Silvretta", 8, 2, 2, wet },
		{ "Silvretta", 11, 1, 1, wet }, { "Rofan", 0, 6, 2, wet }, { "Rofan", 6, 6, 3, slab }, { "Rofan", 12, 0, 3, slab },
	};
	GDateTime *start = g_date_time_new_utc(2026, 1, 9, 8, 0, 0), *end = g_date_time_add_days(start, 12);
	Archive *archive = archive_new();
	GDateTime *horizon, *limit;
	Profile s, r;
	Bulletin *b;
	char text[80];

	for (gsize i = 0; i < G_N_ELEMENTS(season); i++) {
		GDateTime *from = g_date_time_add_days(start, season[i].start);
		GBytes *bytes = bulletin_encode(season[i].region, from, season[i].days, season[i].level, season[i].problems);

		archive_import(archive, bytes);
		g_bytes_unref(bytes);
		g_date_time_unref(from);
	}
	s = archive_profile(archive, "Silvretta", start, end);
	r = archive_profile(archive, "Rofan", start, end);
	b = archive_find(archive, "Silvretta", start);
	problems_text(b, text, sizeof(text));
	horizon = archive_horizon(archive);
	limit = g_date_time_add_days(horizon, -6);
	printf("Silvretta: %u gaps, worst %u (%s); Rofan: %u days at 3; %u rejected\n", s.gaps, s.worst, text, r.days[3], archive->rejected);
	printf("%u expired\n", archive_expire(archive, limit));
	g_date_time_unref(limit);
	g_date_time_unref(horizon);
	g_date_time_unref(end);
	g_date_time_unref(start);
	archive_free(archive);
	return s.gaps == 4 && r.gaps == 0 ? 0 : 1;
}
