/* summary: GBytes that own each other: slices, slices of slices, headers whose free function puts the block; variants that have the
 *          last reference; data stolen by unref_to_data; a catalogue that is kept, reachable, to the end of the process
 * track: GBytes GVariant GHashTable GPtrArray
 * build: gcc -O1 -g tape_strips.c -o OUT $(pkg-config --cflags --libs glib-2.0)
 */
#include <glib.h>
#include <string.h>

#define BLOCK 4096
#define HEADER 16
#define STRIPS 6

typedef struct {
    GBytes *header;             /* its free function has a reference to the block */
    GPtrArray *strips;          /* GBytes, slices of the block */
} Tape;

/* Catalogue of the strips that were ever labelled: label -> GBytes. It is never taken down. */
static GHashTable *catalogue;

static GBytes *block_read(guint number)
{
    guint8 *data = g_malloc(BLOCK);
    for (guint i = 0; i < BLOCK; i++)
        data[i] = (guint8)(i * 7 + number);
    return g_bytes_new_take(data, BLOCK);
}

static void block_let_go(gpointer block)
{
    g_bytes_unref(block);
}

static Tape *tape_load(guint number)
{
    Tape *tape = g_new0(Tape, 1);
    GBytes *block = block_read(number);
    gsize size = (BLOCK - HEADER) / STRIPS;

    tape->header = g_bytes_new_with_free_func(g_bytes_get_data(block, NULL), HEADER, block_let_go, g_bytes_ref(block));
    tape->strips = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    for (guint i = 0; i < STRIPS; i++)
        g_ptr_array_add(tape->strips, g_bytes_new_from_bytes(block, HEADER + i * size, size));
    g_bytes_unref(block);
    return tape;
}

static void tape_unload(Tape *tape)
{
    g_bytes_unref(tape->header);
    g_ptr_array_unref(tape->strips);
    g_free(tape);
}

/* The middle third of a strip. GLib hangs it on the block, not on the strip. */
static GBytes *strip_cut(GBytes *strip)
{
    gsize third = g_bytes_get_size(strip) / 3;
    return g_bytes_new_from_bytes(strip, third, third);
}

/* The whole strip as a "slice": another reference to the same bytes. */
static GBytes *strip_whole(GBytes *strip)
{
    return g_bytes_new_from_bytes(strip, 0, g_bytes_get_size(strip));
}

static void strip_label(const char *label, GBytes *strip)
{
    g_hash_table_insert(catalogue, g_strdup(label), strip);         /* takes the caller's reference */
}

/* A variant over the bytes; the caller's reference to these ends here, the variant has its own. */
static GVariant *strip_samples(GBytes *strip)
{
    GVariant *samples = g_variant_new_from_bytes(G_VARIANT_TYPE("ay"), strip, TRUE);
    g_bytes_unref(strip);
    return samples;                                                 /* floating */
}

static guint samples_sum(GVariant *samples)
{
    gsize n;
    const guint8 *bytes = g_variant_get_fixed_array(samples, &n, 1);
    guint sum = 0;
    for (gsize i = 0; i < n; i++)
        sum += bytes[i];
    return sum;
}

/* Packs samples into a report: the tuple sinks them. */
static GVariant *report_make(guint number, GVariant *samples)
{
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE("(uay)"));
    g_variant_builder_add(&builder, "u", number);
    g_variant_builder_add_value(&builder, samples);
    return g_variant_ref_sink(g_variant_builder_end(&builder));
}

/* Serialises a report. The bytes outlive it, and are then the only owner of its memory. */
static GBytes *report_freeze(GVariant *report)
{
    GBytes *frozen = g_variant_get_data_as_bytes(report);
    g_variant_unref(report);
    return frozen;
}

static guint report_thaw(GBytes *frozen)
{
    GVariant *report = g_variant_take_ref(g_variant_new_from_bytes(G_VARIANT_TYPE("(uay)"), frozen, FALSE));
    g_bytes_unref(frozen);
    GVariant *samples = g_variant_get_child_value(report, 1);
    g_variant_unref(report);                                        /* the child keeps the contents */
    guint sum = samples_sum(samples);
    g_variant_unref(samples);
    return sum;
}

/* The only owner of plain bytes may have their memory. */
static guint steal_and_flip(GBytes *bytes)
{
    gsize size;
    guint8 *data = g_bytes_unref_to_data(bytes, &size);             /* a put; a copy only if it was shared */
    guint sum = 0;
    for (gsize i = 0; i < size; i++)
        sum += (data[i] ^= 0xff);
    g_free(data);
    return sum;
}

static GByteArray *splice(GBytes *a, GBytes *b)
{
    GByteArray *joined = g_bytes_unref_to_array(a);
    gsize size;
    gconstpointer data = g_bytes_get_data(b, &size);
    g_byte_array_append(joined, data, (guint)size);
    g_bytes_unref(b);
    return joined;
}

static gboolean digitise(guint number, guint *sum)
{
    Tape *tape = tape_load(number);
    g_autofree char *label = g_strdup_printf("tape %u", number);
    g_autofree char *cut_label = g_strdup_printf("tape %u, cut", number);
    GBytes *header = g_bytes_ref(tape->header);
    GBytes *last = g_ptr_array_steal_index(tape->strips, STRIPS - 1);

    strip_label(cut_label, strip_cut(g_ptr_array_index(tape->strips, 1)));
    strip_label(label, strip_whole(g_ptr_array_index(tape->strips, 2)));
    GVariant *report = report_make(number, strip_samples(strip_cut(g_ptr_array_index(tape->strips, 3))));
    GBytes *whole = strip_whole(g_ptr_array_index(tape->strips, 0));
    tape_unload(tape);

    GBytes *frozen = report_freeze(report);
    guint expected = 0;
    {
        GVariant *again = g_variant_ref_sink(strip_samples(g_bytes_ref(last)));
        expected = samples_sum(again);
        g_variant_unref(again);
    }
    GByteArray *joined = splice(last, header);
    guint found = 0;
    for (guint i = 0; i + HEADER < joined->len; i++)
        found += joined->data[i];
    GBytes *sleeve = g_byte_array_free_to_bytes(joined);
    *sum += report_thaw(frozen) + steal_and_flip(sleeve) + steal_and_flip(whole);
    return found == expected;
}

int main(void)
{
    guint sum = 0, labelled = 0;
    GHashTableIter at;
    gpointer strip;

    catalogue = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    for (guint number = 1; number <= 5; number++)
        if (!digitise(number, &sum))
            return 1;
    for (guint number = 2; number <= 3; number++)                   /* labelled again: the older strips are put */
        if (!digitise(number, &sum))
            return 1;

    g_hash_table_iter_init(&at, catalogue);
    while (g_hash_table_iter_next(&at, NULL, &strip))
        labelled += g_bytes_get_size(strip) > 200;
    g_print("%u labelled, sum %u\n", labelled, sum);
    return labelled == 10 ? 0 : 1;
}
