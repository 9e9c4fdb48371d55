/* summary: store_receive() returns without dropping the chunk it made when the chunk's checksum is wrong
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GBytes
 * packages: glib-2.0
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "early return between new and unref"
 */
/*
 * A store of chunks of files. Chunks are kept once by their sum, files are lists
 * of chunks, and what was received when is written down.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

struct store {
	GHashTable *chunks;	/* sum -> GBytes */
	GHashTable *files;	/* name -> GPtrArray of GBytes */
	GDateTime *last;
	guint received, twice, broken, empty;
};

static guint sum_of(const guint8 *data, gsize size)
{
	guint sum = 5381;

	for (gsize i = 0; i < size; i++)
		sum = sum * 33 + data[i];
	return sum;
}

static guint chunk_sum(GBytes *chunk)
{
	gsize size;
	const guint8 *data = g_bytes_get_data(chunk, &size);

	return sum_of(data, size);
}

static void store_init(struct store *s)
{
	memset(s, 0, sizeof *s);
	s->chunks = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_bytes_unref);
	s->files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					 (GDestroyNotify)g_ptr_array_unref);
	s->last = g_date_time_new_utc(2024, 2, 27, 8, 0, 0);
}

static void store_clear(struct store *s)
{
	g_hash_table_unref(s->files);
	g_hash_table_unref(s->chunks);
	g_date_time_unref(s->last);
}

static void store_stamp(struct store *s, int minutes)
{
	GDateTime *now = g_date_time_add_minutes(s->last, minutes);

	g_date_time_unref(s->last);
	s->last = now;
}

static GPtrArray *store_file(struct store *s, const char *name)
{
	GPtrArray *file = g_hash_table_lookup(s->files, name);

	if (!file) {
		file = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
		g_hash_table_insert(s->files, g_strdup(name), file);
	}
	return file;
}

/* A chunk with its sum, as the other side sent it. */
static gboolean store_receive(struct store *s, const char *name, const guint8 *data, gsize size,
			      guint sum)
{
	GBytes *chunk, *known;

	if (!size) {
		s->empty++;
		return TRUE;
	}
	chunk = g_bytes_new(data, size);	/* ACCEPTED */
	s->received++;
	store_stamp(s, 7);
	if (chunk_sum(chunk) != sum) {
		s->broken++;
#ifndef BUG
		g_bytes_unref(chunk);
#endif
		return FALSE;	/* GUILTY */
	}
	known = g_hash_table_lookup(s->chunks, GUINT_TO_POINTER(sum));
	if (known) {
		s->twice++;
		g_bytes_unref(chunk);
		chunk = g_bytes_ref(known);
	} else {
		g_hash_table_insert(s->chunks, GUINT_TO_POINTER(sum), g_bytes_ref(chunk));
	}
	g_ptr_array_add(store_file(s, name), chunk);
	return TRUE;
}

/* The whole file, or NULL. */
static GBytes *store_read(struct store *s, const char *name)
{
	GPtrArray *file = g_hash_table_lookup(s->files, name);
	GByteArray *all;

	if (!file)
		return NULL;
	if (file->len == 1)
		return g_bytes_ref(file->pdata[0]);
	all = g_byte_array_new();
	for (guint i = 0; i < file->len; i++) {
		gsize size;
		const guint8 *data = g_bytes_get_data(file->pdata[i], &size);

		g_byte_array_append(all, data, size);
	}
	return g_byte_array_free_to_bytes(all);
}

static void send_file(struct store *s, guint number)
{
	char name[24];
	guint8 data[64];
	guint chunks = 1 + number % 4;

	snprintf(name, sizeof name, "file-%02u", number);
	for (guint c = 0; c < chunks; c++) {
		gsize size = 16 + (number * 5 + c * 3) % 40;
		guint sum;

		for (gsize i = 0; i < size; i++)
			data[i] = (guint8)((number % 12) * 16 + c + i);
		sum = sum_of(data, size);
		if (number % 11 == 6 && c == 0)
			data[3] ^= 0x40;	/* the line is not perfect */
		if (!store_receive(s, name, data, size, sum)) {
			data[3] ^= 0x40;
			store_receive(s, name, data, size, sum);
		}
	}
	store_receive(s, name, data, 0, 0);
}

static guint report(struct store *s, guint files)
{
	guint total = 0;

	for (guint i = 0; i < files; i++) {
		g_autofree char *name = g_strdup_printf("file-%02u", i);
		GBytes *whole = store_read(s, name);

		if (!whole)
			continue;
		total += g_bytes_get_size(whole);
		g_bytes_unref(whole);
	}
	return total;
}

int main(void)
{
	struct store store;
	g_autofree char *when = NULL;

	store_init(&store);
	for (guint i = 0; i < 30; i++)
		send_file(&store, i);
	printf("%u received, %u known already, %u broken, %u empty\n", store.received, store.twice,
	       store.broken, store.empty);
	printf("%u bytes in %u files, %u chunks\n", report(&store, 40),
	       g_hash_table_size(store.files), g_hash_table_size(store.chunks));
	g_hash_table_remove(store.files, "file-03");
	g_hash_table_remove(store.files, "file-17");
	printf("%u bytes after two went away\n", report(&store, 40));
	when = g_date_time_format(store.last, "%F %R");
	printf("last: %s\n", when);
	store_clear(&store);
	return 0;
}
