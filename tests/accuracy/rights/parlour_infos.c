/* summary: a parlour's catalogue by GLib: static and parsed D-Bus infos, bytes that are slices of bytes, variants that own bytes, boxes, regexes held by matches, arrays stolen in part
 * track: GDBusNodeInfo GDBusInterfaceInfo GDBusMethodInfo GBytes GVariant GVariantDict GRegex GMatchInfo GPtrArray GHashTable GDateTime GTimeZone g_rc_box
 * build: gcc -O1 -g parlour_infos.c -o OUT $(pkg-config --cflags --libs gio-2.0)
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

static int bad;

static void expect(gboolean ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "parlour: %s\n", what);
		bad++;
	}
}

/* What is built in has -1 for its count, and ignores refs and unrefs. */
static GDBusMethodInfo ring_method = { -1, (gchar *)"Ring", NULL, NULL, NULL };
static GDBusMethodInfo *bell_methods[] = { &ring_method, NULL };
static GDBusInterfaceInfo bell = { -1, (gchar *)"org.parlour.Bell", bell_methods, NULL, NULL, NULL };

static const char tea_xml[] =
	"<node><interface name='org.parlour.Tea'><method name='Pour'/><method name='Stir'>"
	"<arg type='i' name='times' direction='in'/></method></interface>"
	"<interface name='org.parlour.Cake'><method name='Cut'/></interface></node>";

static void infos(void)
{
	GPtrArray *known = g_ptr_array_new_with_free_func((GDestroyNotify)g_dbus_interface_info_unref);
	GDBusNodeInfo *node = g_dbus_node_info_new_for_xml(tea_xml, NULL);
	for (guint i = 0; node->interfaces[i]; i++)
		g_ptr_array_add(known, g_dbus_interface_info_ref(node->interfaces[i]));
	for (int i = 0; i < 5; i++)
		g_ptr_array_add(known, g_dbus_interface_info_ref(&bell));
	/* Lookups borrow. */
	GDBusMethodInfo *stir = g_dbus_interface_info_lookup_method(g_dbus_node_info_lookup_interface(node, "org.parlour.Tea"), "Stir");
	g_dbus_method_info_ref(stir);
	g_dbus_interface_info_cache_build(known->pdata[0]);
	expect(g_dbus_interface_info_lookup_method(known->pdata[0], "Pour") != NULL, "cache");
	g_dbus_interface_info_cache_release(known->pdata[0]);
	g_dbus_node_info_unref(node);                /* both interfaces live on in the array */
	GDBusInterfaceInfo *cake = g_ptr_array_steal_index(known, 1);
	g_ptr_array_unref(known);                    /* tea falls; stir is ours */
	expect(strcmp(stir->name, "Stir") == 0 && stir->in_args[0], "method outlives");
	g_dbus_method_info_unref(stir);
	g_dbus_interface_info_unref(cake);
	g_dbus_interface_info_unref(&bell);
	expect(bell.ref_count == -1 && ring_method.ref_count == -1, "static");
}

static void buffer_gone(gpointer data)
{
	g_rc_box_release(data);
}

/* Slices of slices have the first bytes alone; a variant has bytes, and its children have its. */
static void bytes(void)
{
	char *box = g_rc_box_alloc0(256);
	memset(box, 'x', 255);
	GBytes *whole = g_bytes_new_with_free_func(box, 256, buffer_gone, g_rc_box_acquire(box));
	g_rc_box_release(box);                       /* whole has the other */
	GBytes *slice = g_bytes_new_from_bytes(whole, 16, 128);
	GBytes *deep = g_bytes_new_from_bytes(slice, 8, 32);
	GBytes *same = g_bytes_new_from_bytes(slice, 0, g_bytes_get_size(slice));
	expect(same == slice, "the whole of it is itself");
	g_bytes_unref(same);
	g_bytes_unref(whole);
	g_bytes_unref(slice);
	GVariant *variant = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE_BYTESTRING, deep, TRUE));
	GBytes *back = g_variant_get_data_as_bytes(variant);
	g_bytes_unref(deep);
	g_variant_unref(variant);
	expect(*(const char *)g_bytes_get_data(back, NULL) == 'x', "bytes live");
	gsize size;
	char *data = g_bytes_unref_to_data(back, &size);     /* copies, as it is a slice */
	g_free(data);

	GByteArray *array = g_byte_array_new_take((guint8 *)g_strdup("kettle"), 6);
	g_byte_array_ref(array);
	GBytes *kettle = g_byte_array_free_to_bytes(array);  /* its wrapper lives for the other reference */
	expect(array->len == 0, "emptied");
	g_byte_array_unref(array);
	array = g_bytes_unref_to_array(kettle);
	g_byte_array_unref(array);
}

static GVariant *setting(const char *name, int value)
{
	return g_variant_new("{sv}", name, g_variant_new_int32(value));  /* floating, with a child that was sunk */
}

static void variants(void)
{
	GVariantBuilder builder;
	g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
	g_variant_builder_add_value(&builder, setting("cups", 6));       /* sinks it */
	GVariant *spoons = g_variant_take_ref(setting("spoons", 12));    /* not floating: the builder takes one more */
	g_variant_builder_add_value(&builder, spoons);
	g_variant_unref(spoons);
	g_variant_builder_add(&builder, "{sv}", "tray", g_variant_new_maybe(G_VARIANT_TYPE_STRING, NULL));
	GVariant *all = g_variant_ref_sink(g_variant_builder_end(&builder));
	GVariantDict *dict = g_variant_dict_new(all);
	GVariantDict *shared = g_variant_dict_ref(dict);
	g_variant_dict_unref(dict);
	g_variant_dict_insert_value(shared, "cups", g_variant_new_int32(7));
	GVariant *cups = g_variant_dict_lookup_value(shared, "cups", G_VARIANT_TYPE_INT32);
	GVariant *end = g_variant_dict_end(shared);  /* floating; dropped by a sink and an unref */
	g_variant_unref(g_variant_ref_sink(end));
	g_variant_dict_unref(shared);
	expect(g_variant_get_int32(cups) == 7, "cups");
	g_variant_unref(cups);
	GVariant *child = g_variant_get_child_value(all, 0), *value = NULL;
	g_variant_get(all, "@a{sv}", &value);        /* itself, one more */
	expect(value == all, "itself");
	g_variant_unref(all);
	g_variant_unref(value);
	g_variant_unref(child);
	GVariant *unwanted = g_variant_new_string("floating still");
	expect(g_variant_is_floating(unwanted), "floating");
	g_variant_unref(unwanted);                   /* the floating one is one */
}

/* A match has the regex, an equal pattern may be the same regex, the table owns what is stolen from it no more. */
static void words(void)
{
	GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_rc_box_release, NULL);
	GRegex *regex = g_regex_new("[a-z]+", 0, 0, NULL);
	GMatchInfo *match = NULL;
	g_regex_match(regex, "tea for two and two for tea", 0, &match);
	g_regex_unref(regex);
	GMatchInfo *kept = g_match_info_ref(match);
	while (g_match_info_matches(match)) {
		char *word = g_match_info_fetch(match, 0);
		char *key = g_rc_box_dup(strlen(word) + 1, word);
		/* insert keeps the old key and puts the new one; replace does it the other way round. */
		if (strlen(word) > 2)
			g_hash_table_insert(table, key, NULL);
		else
			g_hash_table_replace(table, key, NULL);
		g_free(word);
		g_match_info_next(match, NULL);
	}
	g_match_info_unref(match);
	expect(g_regex_get_capture_count(g_match_info_get_regex(kept)) == 0, "regex lives");
	g_match_info_unref(kept);
	gpointer stolen = NULL;
	expect(g_hash_table_steal_extended(table, "two", &stolen, NULL), "steal");
	GHashTable *other = g_hash_table_ref(table);
	g_hash_table_destroy(table);                 /* empties it for both, and puts one */
	expect(g_hash_table_size(other) == 0, "emptied");
	g_hash_table_unref(other);
	expect(stolen && strcmp(stolen, "two") == 0, "ours");
	g_rc_box_release(stolen);
}

static void clocks(void)
{
	GTimeZone *zone = g_time_zone_new_offset(3600);
	GTimeZone *again = g_time_zone_new_offset(3600);     /* may be cached */
	GDateTime *tea = g_date_time_new(zone, 2024, 5, 1, 16, 0, 0);
	GDateTime *late = g_date_time_add_minutes(tea, 20);
	g_time_zone_unref(zone);
	g_date_time_unref(tea);
	expect(strcmp(g_time_zone_get_identifier(g_date_time_get_timezone(late)), g_time_zone_get_identifier(again)) == 0, "zone");
	g_time_zone_unref(again);
	GDateTime *utc = g_date_time_to_utc(late), *held = g_date_time_ref(utc);
	g_date_time_unref(late);
	g_clear_pointer(&utc, g_date_time_unref);
	g_clear_pointer(&utc, g_date_time_unref);    /* cleared: none */
	expect(g_date_time_get_hour(held) == 15, "hour");
	g_date_time_unref(held);
}

int main(void)
{
	infos();
	bytes();
	variants();
	words();
	clocks();
	printf("%d bad\n", bad);
	return bad != 0;
}
