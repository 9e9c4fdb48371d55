/* summary: the search for a siding's limit leaves g_variant_iter_loop by break and keeps the value it stood at
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: GVariant
 * packages: glib-2.0
 * build: gcc -O0 -g
 * exit: 0
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define SIDINGS 30

typedef struct {
    GVariant *plan; /* a(sa{sv}) */
    GHashTable *notes; /* name to GVariant */
    guint metres;
    guint closed;
} Yard;

typedef enum { LIMIT_NONE, LIMIT_WEIGHT, LIMIT_LENGTH, LIMIT_HEIGHT } LimitKind;

typedef struct {
    LimitKind kind;
    guint32 value;
} Limit;

/* A floating value. */
static GVariant *siding_properties(guint number)
{
    GVariantBuilder builder;

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a{sv}"));
    g_variant_builder_add(&builder, "{sv}", "metres", g_variant_new_uint32(120 + number * 15));
    g_variant_builder_add(&builder, "{sv}", "electrified", g_variant_new_boolean(number % 4 != 0));
    if (number % 5 == 2)
        g_variant_builder_add(&builder, "{sv}", "owner", g_variant_new_string("harbour"));
    if (number == 11 || number == 24)
        g_variant_builder_add(&builder, "{sv}", "limit-height", g_variant_new_uint32(3900 + number));
    if (number % 9 == 3)
        g_variant_builder_add(&builder, "{sv}", "limit-weight", g_variant_new_uint32(16000 + number));
    if (number % 10 == 6)
        g_variant_builder_add(&builder, "{sv}", "closed", g_variant_new_boolean(TRUE));
    g_variant_builder_add(&builder, "{sv}", "surface", g_variant_new_string(number % 2 ? "gravel" : "slab"));
    return g_variant_builder_end(&builder);
}

static GVariant *plan_new(void)
{
    GVariantBuilder builder;
    char name[16];

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a(sa{sv})"));
    for (guint i = 1; i <= SIDINGS; i++) {
        g_snprintf(name, sizeof name, "S%02u", i);
        g_variant_builder_open(&builder, G_VARIANT_TYPE("(sa{sv})"));
        g_variant_builder_add(&builder, "s", name);
        g_variant_builder_add_value(&builder, siding_properties(i));
        g_variant_builder_close(&builder);
    }
    return g_variant_ref_sink(g_variant_builder_end(&builder));
}

static gboolean properties_flag(GVariant *properties, const char *name)
{
    GVariant *value = g_variant_lookup_value(properties, name, G_VARIANT_TYPE_BOOLEAN);
    gboolean flag;

    if (!value)
        return FALSE;
    flag = g_variant_get_boolean(value);
    g_variant_unref(value);
    return flag;
}

static guint32 properties_number(GVariant *properties, const char *name, guint32 otherwise)
{
    GVariant *value = g_variant_lookup_value(properties, name, NULL);
    guint32 number = otherwise;

    if (value && g_variant_is_of_type(value, G_VARIANT_TYPE_UINT32))
        number = g_variant_get_uint32(value);
    g_clear_pointer(&value, g_variant_unref);
    return number;
}

static gboolean properties_owned_by(GVariant *properties, const char *owner)
{
    GVariantIter iter;
    const char *key;
    GVariant *value;
    gboolean found = FALSE;

    g_variant_iter_init(&iter, properties);
    while (!found && g_variant_iter_next(&iter, "{&sv}", &key, &value)) {
        found = strcmp(key, "owner") == 0 && strcmp(g_variant_get_string(value, NULL), owner) == 0;
        g_variant_unref(value);
    }
    return found;
}

static Limit properties_limit(GVariant *properties)
{
    GVariantIter iter;
    Limit limit = { LIMIT_NONE, 0 };
    const char *key;
    GVariant *value;

    g_variant_iter_init(&iter, properties);
    while (g_variant_iter_loop(&iter, "{&sv}", &key, &value)) { /* ACCEPTED */
        if (!g_str_has_prefix(key, "limit-"))
            continue;
        if (g_str_equal(key, "limit-weight")) {
            limit.kind = LIMIT_WEIGHT;
            limit.value = g_variant_get_uint32(value);
        } else if (g_str_equal(key, "limit-height")) {
            /* a bridge: whatever else there is does not matter */
            limit.kind = LIMIT_HEIGHT;
            limit.value = g_variant_get_uint32(value);
#ifdef BUG
            break; /* GUILTY */
#else
            g_variant_unref(value);
            break;
#endif
        }
    }
    return limit;
}

static void yard_note(Yard *yard, const char *name, GVariant *value)
{
    g_hash_table_insert(yard->notes, g_strdup(name), g_variant_ref_sink(value));
}

static void yard_survey(Yard *yard)
{
    static const char *const kinds[] = { "none", "weight", "length", "height" };
    GVariantIter iter;
    GVariant *siding;

    g_variant_iter_init(&iter, yard->plan);
    while ((siding = g_variant_iter_next_value(&iter))) {
        const char *name;
        GVariant *properties = g_variant_get_child_value(siding, 1);
        Limit limit;

        g_variant_get_child(siding, 0, "&s", &name);
        if (properties_flag(properties, "closed")) {
            yard->closed++;
            g_variant_unref(properties);
            g_variant_unref(siding);
            continue;
        }
        yard->metres += properties_number(properties, "metres", 0);
        limit = properties_limit(properties);
        if (limit.kind != LIMIT_NONE)
            yard_note(yard, name, g_variant_new("(su)", kinds[limit.kind], limit.value));
        else if (properties_owned_by(properties, "harbour"))
            yard_note(yard, name, g_variant_new("(su)", "foreign", 0));
        g_variant_unref(properties);
        g_variant_unref(siding);
    }
}

static void yard_print(Yard *yard)
{
    GList *names = g_list_sort(g_hash_table_get_keys(yard->notes), (GCompareFunc) strcmp);

    for (GList *link = names; link; link = link->next) {
        GVariant *note = g_hash_table_lookup(yard->notes, link->data);
        const char *what;
        guint32 value;

        g_variant_get(note, "(&su)", &what, &value);
        printf("%s: %s %u\n", (const char *) link->data, what, value);
    }
    g_list_free(names);
    printf("%u m in use, %u closed\n", yard->metres, yard->closed);
}

static void yard_export(Yard *yard)
{
    GVariantDict dict;
    GHashTableIter iter;
    gpointer key, value;
    GVariant *all;
    char *text;

    g_variant_dict_init(&dict, NULL);
    g_hash_table_iter_init(&iter, yard->notes);
    while (g_hash_table_iter_next(&iter, &key, &value))
        g_variant_dict_insert_value(&dict, key, value);
    all = g_variant_ref_sink(g_variant_dict_end(&dict));
    text = g_variant_print(all, TRUE);
    printf("%zu notes, %zu bytes, %zu as text\n", g_variant_n_children(all), g_variant_get_size(all), strlen(text));
    g_free(text);
    g_variant_unref(all);
}

int main(void)
{
    Yard yard = { 0 };

    yard.plan = plan_new();
    yard.notes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_variant_unref);
    yard_survey(&yard);
    yard_print(&yard);
    yard_export(&yard);
    g_hash_table_unref(yard.notes);
    g_variant_unref(yard.plan);
    return 0;
}
