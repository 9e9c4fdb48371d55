/*
 * summary: the probe that stands in for a silent one is returned without a reference, and the callers give one back
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2 -g
 */
#include <glib-object.h>
#include <stdio.h>

/* Soil probes of a vineyard. Each row of vines has a few probes and one of them is its reference. The irrigation asks for the
   probe nearest to a vine, takes what it says and decides how long the valve stays open. */

#define VINE_TYPE_PROBE (vine_probe_get_type())
G_DECLARE_FINAL_TYPE(VineProbe, vine_probe, VINE, PROBE, GObject)

struct _VineProbe {
    GObject parent;
    char *serial;
    int row;
    int vine;
    gboolean silent;
    guint readings;
    double moisture[24];
};

G_DEFINE_TYPE(VineProbe, vine_probe, G_TYPE_OBJECT)

enum { SIGNAL_DRY, SIGNALS };
static guint signals[SIGNALS];

static void vine_probe_finalize(GObject *object)
{
    g_free(VINE_PROBE(object)->serial);
    G_OBJECT_CLASS(vine_probe_parent_class)->finalize(object);
}

static void vine_probe_class_init(VineProbeClass *class)
{
    G_OBJECT_CLASS(class)->finalize = vine_probe_finalize;
    signals[SIGNAL_DRY] = g_signal_new("dry", VINE_TYPE_PROBE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                                       G_TYPE_DOUBLE);
}

static void vine_probe_init(VineProbe *probe)
{
    (void)probe;
}

static VineProbe *vine_probe_new(const char *serial, int row, int vine)
{
    VineProbe *probe = g_object_new(VINE_TYPE_PROBE, NULL);
    probe->serial = g_strdup(serial);
    probe->row = row;
    probe->vine = vine;
    return probe;
}

static void vine_probe_feed(VineProbe *probe, double moisture)
{
    probe->moisture[probe->readings++ % G_N_ELEMENTS(probe->moisture)] = moisture;
    if (moisture < 12)
        g_signal_emit(probe, signals[SIGNAL_DRY], 0, moisture);
}

static double vine_probe_mean(VineProbe *probe)
{
    guint count = MIN(probe->readings, G_N_ELEMENTS(probe->moisture));
    double sum = 0;
    for (guint i = 0; i < count; i++)
        sum += probe->moisture[i];
    return count ? sum / count : 0;
}

typedef struct {
    VineProbe *reference;
    int valve_seconds;
} Row;

typedef struct {
    GHashTable *probes; /* serial -> VineProbe */
    GPtrArray *rows;
    guint dry_warnings;
} Vineyard;

static void row_free(gpointer data)
{
    Row *row = data;
    g_clear_object(&row->reference);
    g_free(row);
}

static Vineyard *vineyard_new(int rows)
{
    Vineyard *yard = g_new0(Vineyard, 1);
    yard->probes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_object_unref);
    yard->rows = g_ptr_array_new_with_free_func(row_free);
    for (int i = 0; i < rows; i++)
        g_ptr_array_add(yard->rows, g_new0(Row, 1));
    return yard;
}

static void vineyard_free(Vineyard *yard)
{
    g_ptr_array_unref(yard->rows);
    g_hash_table_unref(yard->probes);
    g_free(yard);
}

static void on_dry(VineProbe *probe, double moisture, gpointer data)
{
    Vineyard *yard = data;
    if (yard->dry_warnings++ < 3)
        printf("%s (row %d, vine %d) is dry: %.1f %%\n", probe->serial, probe->row, probe->vine, moisture);
}

static VineProbe *vineyard_plant(Vineyard *yard, const char *serial, int row, int vine)
{
    VineProbe *probe = vine_probe_new(serial, row, vine);
    g_signal_connect(probe, "dry", G_CALLBACK(on_dry), yard);
    g_hash_table_insert(yard->probes, probe->serial, probe);
    return probe;
}

static void vineyard_set_reference(Vineyard *yard, const char *serial)
{
    VineProbe *probe = g_hash_table_lookup(yard->probes, serial);
    if (!probe)
        return;
    Row *row = g_ptr_array_index(yard->rows, probe->row);
    g_set_object(&row->reference, probe);
}

/* The probe that speaks for a vine; transfer full. */
static VineProbe *vineyard_probe_at(Vineyard *yard, int row, int vine)
{
    VineProbe *best = NULL;
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, yard->probes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        VineProbe *probe = value;
        if (probe->row != row)
            continue;
        int distance = ABS(probe->vine - vine);
        if (!best || distance < ABS(best->vine - vine) ||
            (distance == ABS(best->vine - vine) && probe->vine < best->vine))
            best = probe;
    }
    if (!best)
        return NULL;
    if (best->silent) {
        Row *entry = g_ptr_array_index(yard->rows, row);
        if (!entry->reference || entry->reference->silent)
            return NULL;
#ifdef BUG
        return entry->reference; /* GUILTY */
#else
        return g_object_ref(entry->reference);
#endif
    }
    return g_object_ref(best);
}

static gboolean vineyard_read(Vineyard *yard, int row, int vine, double moisture)
{
    g_autoptr(VineProbe) probe = vineyard_probe_at(yard, row, vine);
    if (!probe)
        return FALSE;
    vine_probe_feed(probe, moisture);
    return TRUE;
}

static int vineyard_decide(Vineyard *yard, int row, int vine)
{
    g_autoptr(VineProbe) probe = vineyard_probe_at(yard, row, vine);
    Row *entry = g_ptr_array_index(yard->rows, row);
    if (!probe)
        return 0;
    double mean = vine_probe_mean(probe);
    int seconds = mean < 15 ? 240 : mean < 20 ? 120 : mean < 25 ? 30 : 0;
    entry->valve_seconds = MAX(entry->valve_seconds, seconds);
    return seconds;
}

static void vineyard_swap(Vineyard *yard, const char *old, const char *fresh)
{
    VineProbe *probe = g_hash_table_lookup(yard->probes, old);
    if (!probe)
        return;
    g_object_ref(probe);
    g_hash_table_remove(yard->probes, old);
    VineProbe *next = vineyard_plant(yard, fresh, probe->row, probe->vine);
    Row *row = g_ptr_array_index(yard->rows, probe->row);
    if (row->reference == probe)
        g_set_object(&row->reference, next);
    printf("%s replaces %s after %u readings\n", next->serial, probe->serial, probe->readings);
    g_object_unref(probe);
}

int main(void)
{
    Vineyard *yard = vineyard_new(4);
    static const struct { const char *serial; int row, vine; } planted[] = {
        {"P-101", 0, 4}, {"P-102", 0, 30}, {"P-201", 1, 8}, {"P-202", 1, 24},
        {"P-203", 1, 40}, {"P-301", 2, 12}, {"P-401", 3, 16},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(planted); i++)
        vineyard_plant(yard, planted[i].serial, planted[i].row, planted[i].vine);
    vineyard_set_reference(yard, "P-101");
    vineyard_set_reference(yard, "P-202");
    vineyard_set_reference(yard, "P-301");

    for (int hour = 0; hour < 10; hour++)
        for (gsize i = 0; i < G_N_ELEMENTS(planted); i++)
            vineyard_read(yard, planted[i].row, planted[i].vine + hour % 3,
                          11 + 3 * planted[i].row + (hour * 7 + (int)i * 3) % 9);
    vineyard_swap(yard, "P-102", "P-103");
    vineyard_read(yard, 0, 31, 18.5);

    VineProbe *flooded = g_hash_table_lookup(yard->probes, "P-203");
    flooded->silent = TRUE;
    int seconds = 0;
    for (int row = 0; row < 4; row++)
        seconds += vineyard_decide(yard, row, 10);
    seconds += vineyard_decide(yard, 1, 44);

    for (guint i = 0; i < yard->rows->len; i++) {
        Row *row = g_ptr_array_index(yard->rows, i);
        printf("row %u: %d s\n", i, row->valve_seconds);
    }
    printf("%d s of water, %u warnings\n", seconds, yard->dry_warnings);
    vineyard_free(yard);
    return 0;
}
