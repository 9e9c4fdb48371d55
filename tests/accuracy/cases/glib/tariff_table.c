/* summary: the audit unreferences a GVariant that it got from the table's iterator, which only lends it
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: GVariant
 * packages: glib-2.0
 * build: clang -O2 -g
 * exit: 0
 * source: bug class "don't unref a borrowed reference"
 */
/*
 * Electricity tariffs. A table maps the zone to a variant of the type
 * (sba(ud)): name, night rate, bands of (from hour, price). Meters keep a
 * reference to the tariff of their zone.
 */
#include <glib.h>
#include <stdio.h>

typedef struct {
	GHashTable *zones;	/* char* -> GVariant, both owned */
	GVariant *fallback;
} TariffTable;

typedef struct {
	int id;
	double kwh[24];
	GVariant *tariff;	/* owned */
} Meter;

static GVariant *build_bands(int n, double base)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE("a(ud)"));
	for (int i = 0; i < n; i++)
		g_variant_builder_add(&b, "(ud)", (guint32)(24 / n * i), base + 0.02 * i);
	return g_variant_builder_end(&b);
}

static GVariant *build_tariff(const char *name, gboolean night, int bands, double base)
{
	GVariant *v = g_variant_new("(sb@a(ud))", name, night, build_bands(bands, base));

	return g_variant_ref_sink(v);
}

static void table_put(TariffTable *t, const char *zone, GVariant *tariff)
{
	g_hash_table_replace(t->zones, g_strdup(zone), g_variant_ref(tariff));
}

static void table_init(TariffTable *t)
{
	t->zones = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					 (GDestroyNotify)g_variant_unref);
	t->fallback = build_tariff("fallback", FALSE, 1, 0.40);
}

static void table_clear(TariffTable *t)
{
	g_hash_table_unref(t->zones);
	g_variant_unref(t->fallback);
}

/* Lent, never NULL. */
static GVariant *table_peek(const TariffTable *t, const char *zone)
{
	GVariant *v = g_hash_table_lookup(t->zones, zone);

	return v ? v : t->fallback;
}

/* A new reference, or NULL. */
static GVariant *table_get(const TariffTable *t, const char *zone)
{
	GVariant *v = g_hash_table_lookup(t->zones, zone);

	return v ? g_variant_ref(v) : NULL;
}

static gboolean tariff_has_night(GVariant *tariff)
{
	gboolean night;

	g_variant_get_child(tariff, 1, "b", &night);
	return night;
}

static double tariff_price(GVariant *tariff, guint hour)
{
	GVariant *bands = g_variant_get_child_value(tariff, 2);
	GVariantIter iter;
	guint32 from;
	double price, found = 0;

	g_variant_iter_init(&iter, bands);
	while (g_variant_iter_next(&iter, "(ud)", &from, &price))
		if (from <= hour)
			found = price;
	g_variant_unref(bands);
	if (hour < 6 && tariff_has_night(tariff))
		found *= 0.6;
	return found;
}

static Meter *meter_new(const TariffTable *t, int id, const char *zone)
{
	Meter *m = g_new0(Meter, 1);

	m->id = id;
	m->tariff = g_variant_ref(table_peek(t, zone));
	for (int h = 0; h < 24; h++)
		m->kwh[h] = ((id * 31 + h * 17) % 23) / 10.0;
	return m;
}

static void meter_free(gpointer data)
{
	Meter *m = data;

	g_variant_unref(m->tariff);
	g_free(m);
}

static void meter_move(Meter *m, const TariffTable *t, const char *zone)
{
	GVariant *v = table_get(t, zone);

	if (v == NULL)
		return;
	g_variant_unref(m->tariff);
	m->tariff = v;
}

static double meter_cost(const Meter *m)
{
	double sum = 0;

	for (guint h = 0; h < 24; h++)
		sum += m->kwh[h] * tariff_price(m->tariff, h);
	return sum;
}

/* Raises all prices: every zone gets a new variant. */
static void table_raise(TariffTable *t, double factor)
{
	GHashTableIter it;
	gpointer value;

	g_hash_table_iter_init(&it, t->zones);
	while (g_hash_table_iter_next(&it, NULL, &value)) {
		GVariantBuilder b;
		GVariantIter *bands;
		const char *name;
		gboolean night;
		guint32 from;
		double price;

		g_variant_get(value, "(&sba(ud))", &name, &night, &bands);
		g_variant_builder_init(&b, G_VARIANT_TYPE("a(ud)"));
		while (g_variant_iter_next(bands, "(ud)", &from, &price))
			g_variant_builder_add(&b, "(ud)", from, price * factor);
		g_variant_iter_free(bands);
		g_hash_table_iter_replace(&it, g_variant_ref_sink(
			g_variant_new("(sba(ud))", name, night, &b)));
	}
}

/* How many zones have a night rate that is worth it. */
static int table_audit(const TariffTable *t, double limit)
{
	GHashTableIter it;
	gpointer key, value;
	int good = 0;

	g_hash_table_iter_init(&it, t->zones);
	while (g_hash_table_iter_next(&it, &key, &value)) {	/* ACCEPTED */
		GVariant *tariff = value;
		GVariant *bands = g_variant_get_child_value(tariff, 2);
		gsize n = g_variant_n_children(bands);

		g_variant_unref(bands);
		if (!tariff_has_night(tariff) || n < 3)
			continue;
		if (tariff_price(tariff, 2) < limit)
			good++;
#ifdef BUG
		g_variant_unref(tariff);	/* GUILTY */
#endif
	}
	return good;
}

static void fill(TariffTable *t)
{
	static const char *const names[] = {
		"north", "east", "south", "west", "harbour", "old town", "heights", "mill",
		"airport", "campus", "forest", "lake",
	};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		GVariant *v = build_tariff(names[i], i % 2 == 1, 1 + i % 4, 0.20 + 0.01 * i);

		table_put(t, names[i], v);
		g_variant_unref(v);
	}
}

int main(void)
{
	static const char *const homes[] = {
		"west", "north", "mill", "lake", "south", "east", "moor", "campus",
	};
	TariffTable t;
	GPtrArray *meters = g_ptr_array_new_with_free_func(meter_free);
	double before = 0, after = 0;
	int good;

	table_init(&t);
	fill(&t);
	for (int i = 0; i < 40; i++)
		g_ptr_array_add(meters, meter_new(&t, i, homes[i % G_N_ELEMENTS(homes)]));
	for (guint i = 0; i < meters->len; i++)
		before += meter_cost(g_ptr_array_index(meters, i));

	table_raise(&t, 1.08);
	for (guint i = 0; i < meters->len; i++)
		meter_move(g_ptr_array_index(meters, i), &t, homes[i % G_N_ELEMENTS(homes)]);
	good = table_audit(&t, 0.25);
	for (guint i = 0; i < meters->len; i++)
		after += meter_cost(g_ptr_array_index(meters, i));

	printf("%u meters: %.2f before, %.2f after the raise\n", meters->len, before, after);
	printf("%u zones, %d with a good night rate\n", g_hash_table_size(t.zones), good);
	g_ptr_array_unref(meters);
	table_clear(&t);
	return 0;
}
