/*
 * summary: a preset keeps a new value with its floating reference, which the export then takes for itself
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: GVariant GVariantBuilder GBytes
 * packages: glib-2.0
 * build: clang -O2 -g
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

/* ---- Preset: named settings of a synthesizer ---- */

typedef struct {
    char *key;
    GVariant *value;
} Setting;

typedef struct {
    char *name;
    GPtrArray *settings;
    gboolean exported;
} Preset;

static void setting_free(gpointer data)
{
    Setting *setting = data;

    g_free(setting->key);
    g_variant_unref(setting->value);
    g_free(setting);
}

static Preset *preset_new(const char *name)
{
    Preset *preset = g_new0(Preset, 1);

    preset->name = g_strdup(name);
    preset->settings = g_ptr_array_new_with_free_func(setting_free);
    return preset;
}

static void preset_free(gpointer data)
{
    Preset *preset = data;

    g_ptr_array_unref(preset->settings);
    g_free(preset->name);
    g_free(preset);
}

static Setting *preset_find(const Preset *preset, const char *key)
{
    for (guint i = 0; i < preset->settings->len; i++) {
        Setting *setting = g_ptr_array_index(preset->settings, i);
        if (g_str_equal(setting->key, key))
            return setting;
    }
    return NULL;
}

/* The preset owns the value from here on. */
static void preset_set(Preset *preset, const char *key, GVariant *value)
{
    Setting *setting = preset_find(preset, key);

    if (setting) {
        g_variant_unref(setting->value);
    } else {
        setting = g_new0(Setting, 1);
        setting->key = g_strdup(key);
        g_ptr_array_add(preset->settings, setting);
    }
#ifdef BUG
    setting->value = value; /* GUILTY */
#else
    setting->value = g_variant_take_ref(value);
#endif
}

static double preset_get_double(const Preset *preset, const char *key, double otherwise)
{
    const Setting *setting = preset_find(preset, key);

    if (!setting || !g_variant_is_of_type(setting->value, G_VARIANT_TYPE_DOUBLE))
        return otherwise;
    return g_variant_get_double(setting->value);
}

/* ---- Bank ---- */

typedef struct {
    GHashTable *presets; /* name -> Preset */
    GVariant *factory;   /* a{sa{sv}} */
} Bank;

static GVariant *factory_data(void)
{
    static const struct {
        const char *name;
        double cutoff, attack;
        gint32 voices;
    } rows[] = {{"strings", 1800.0, 0.4, 8}, {"brass", 2600.0, 0.08, 6}, {"bass", 400.0, 0.01, 1}};
    GVariantBuilder all;

    g_variant_builder_init(&all, G_VARIANT_TYPE("a{sa{sv}}"));
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        GVariantBuilder *one = g_variant_builder_new(G_VARIANT_TYPE_VARDICT);

        g_variant_builder_add(one, "{sv}", "cutoff", g_variant_new_double(rows[i].cutoff));
        g_variant_builder_add(one, "{sv}", "attack", g_variant_new_double(rows[i].attack));
        g_variant_builder_add(one, "{sv}", "voices", g_variant_new_int32(rows[i].voices));
        g_variant_builder_add(&all, "{sa{sv}}", rows[i].name, one);
        g_variant_builder_unref(one);
    }
    return g_variant_ref_sink(g_variant_builder_end(&all));
}

static void bank_open(Bank *bank)
{
    bank->presets = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, preset_free);
    bank->factory = factory_data();
}

static void bank_close(Bank *bank)
{
    g_hash_table_unref(bank->presets);
    g_variant_unref(bank->factory);
}

static Preset *bank_add(Bank *bank, const char *name)
{
    Preset *preset = preset_new(name);

    g_hash_table_replace(bank->presets, preset->name, preset);
    return preset;
}

/* A preset that begins with the settings of one from the factory. */
static Preset *bank_derive(Bank *bank, const char *name, const char *from)
{
    GVariant *settings = g_variant_lookup_value(bank->factory, from, G_VARIANT_TYPE_VARDICT);
    GVariantIter iter;
    const char *key;
    GVariant *value;
    Preset *preset;

    if (!settings)
        return NULL;
    preset = bank_add(bank, name);
    g_variant_iter_init(&iter, settings);
    while (g_variant_iter_next(&iter, "{&sv}", &key, &value))
        preset_set(preset, key, value);
    g_variant_unref(settings);
    return preset;
}

/* One line of the panel, as in "cutoff=900.5" or "label='soft'". */
static gboolean preset_set_text(Preset *preset, const char *line, GError **error)
{
    const char *equals = strchr(line, '=');
    GVariant *value;
    char *key;

    if (!equals) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: no value", line);
        return FALSE;
    }
    value = g_variant_parse(NULL, equals + 1, NULL, NULL, error);
    if (!value)
        return FALSE;
    key = g_strndup(line, equals - line);
    preset_set(preset, key, value);
    g_free(key);
    return TRUE;
}

static void preset_scale(Preset *preset, const char *key, double factor)
{
    double value = preset_get_double(preset, key, 0.0);

    preset_set(preset, key, g_variant_new_double(value * factor));
}

static GVariant *preset_to_variant(const Preset *preset)
{
    GVariantBuilder builder;

    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
    for (guint i = 0; i < preset->settings->len; i++) {
        const Setting *setting = g_ptr_array_index(preset->settings, i);
        g_variant_builder_add(&builder, "{sv}", setting->key, setting->value);
    }
    return g_variant_builder_end(&builder);
}

/* What goes to the instrument, as bytes. */
static GBytes *bank_export(Bank *bank, const char *const *names)
{
    GVariantBuilder builder;
    GVariant *all;
    GBytes *bytes;

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a{sa{sv}}"));
    for (; *names; names++) {
        Preset *preset = g_hash_table_lookup(bank->presets, *names);
        if (!preset || preset->exported)
            continue;
        g_variant_builder_add(&builder, "{s@a{sv}}", *names, preset_to_variant(preset));
        preset->exported = TRUE;
    }
    all = g_variant_ref_sink(g_variant_builder_end(&builder));
    bytes = g_variant_get_data_as_bytes(all);
    g_variant_unref(all);
    return bytes;
}

static guint checksum(GBytes *bytes)
{
    gsize size;
    const guint8 *data = g_bytes_get_data(bytes, &size);
    guint sum = 0;

    for (gsize i = 0; i < size; i++)
        sum = sum * 31 + data[i];
    return sum & 0xffff;
}

int main(void)
{
    static const char *const panel[] = {"cutoff=900.5", "label='soft'", "attack", "mode=<", "glide=true"};
    static const char *const favourites[] = {"warm", "stab", "warm", "missing", NULL};
    GError *error = NULL;
    GBytes *bytes;
    Preset *warm, *stab;
    Bank bank;
    guint refused = 0;

    bank_open(&bank);
    warm = bank_derive(&bank, "warm", "strings");
    stab = bank_derive(&bank, "stab", "brass");
    bank_derive(&bank, "sub", "bass");
    if (!warm || !stab || bank_derive(&bank, "pad", "choir"))
        return 1;
    for (gsize i = 0; i < G_N_ELEMENTS(panel); i++) {
        if (!preset_set_text(warm, panel[i], &error)) {
            refused++;
            g_clear_error(&error);
        }
    }
    preset_set(stab, "detune", g_variant_new_double(0.07));
    preset_set(stab, "label", g_variant_new_string("stab one"));
    preset_scale(warm, "attack", 1.5);
    preset_scale(stab, "cutoff", 0.5);
    preset_set(bank_add(&bank, "init"), "voices", g_variant_new_int32(4));
    printf("warm %.1f, stab %.1f, refused %u\n", preset_get_double(warm, "cutoff", 0),
           preset_get_double(stab, "cutoff", 0), refused);
    bytes = bank_export(&bank, favourites);
    printf("%" G_GSIZE_FORMAT " bytes, checksum %04x\n", g_bytes_get_size(bytes), checksum(bytes));
    g_bytes_unref(bytes);
    bank_close(&bank);
    return 0;
}
