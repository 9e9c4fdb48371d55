/* summary: an alias in the asset table stores the bytes of its target without a reference, and the table puts both
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: GBytes
 * packages: glib-2.0
 * build: clang -O2 -g
 */
/* Assets of a digital signage player: the playlist server sends images and layouts, aliases and replacements. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

typedef struct {
	GHashTable *by_name;       /* char * to GBytes * */
	GHashTable *digests;       /* char * to char * */
	GAsyncQueue *to_digest;
	GThread *digester;
	GMutex lock;
	guint replaced;
} AssetTable;

typedef struct {
	char *name;
	GBytes *data;
} DigestRequest;

typedef struct {
	char *asset;
	GBytes *pixels;
	guint seconds;
} Slide;

static DigestRequest end_of_requests;

static DigestRequest *digest_request_new(const char *name, GBytes *data)
{
	DigestRequest *request = g_new(DigestRequest, 1);

	request->name = g_strdup(name);
	request->data = g_bytes_ref(data);
	return request;
}

static void digest_request_free(DigestRequest *request)
{
	g_free(request->name);
	g_bytes_unref(request->data);
	g_free(request);
}

static gpointer digester_main(gpointer user_data)
{
	AssetTable *table = user_data;
	DigestRequest *request;

	while ((request = g_async_queue_pop(table->to_digest)) != &end_of_requests) {
		char *digest = g_compute_checksum_for_bytes(G_CHECKSUM_SHA1, request->data);

		g_mutex_lock(&table->lock);
		g_hash_table_insert(table->digests, g_strdup(request->name), digest);
		g_mutex_unlock(&table->lock);
		digest_request_free(request);
	}
	return NULL;
}

static AssetTable *asset_table_new(void)
{
	AssetTable *table = g_new0(AssetTable, 1);

	table->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
	table->digests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	table->to_digest = g_async_queue_new();
	g_mutex_init(&table->lock);
	table->digester = g_thread_new("digester", digester_main, table);
	return table;
}

static void asset_table_settle(AssetTable *table)
{
	g_async_queue_push(table->to_digest, &end_of_requests);
	g_thread_join(table->digester);
	table->digester = NULL;
}

static void asset_table_free(AssetTable *table)
{
	if (table->digester)
		asset_table_settle(table);
	g_async_queue_unref(table->to_digest);
	g_hash_table_unref(table->digests);
	g_hash_table_unref(table->by_name);
	g_mutex_clear(&table->lock);
	g_free(table);
}

/* Takes the bytes over. */
static void asset_table_store(AssetTable *table, const char *name, GBytes *data)
{
	if (g_hash_table_contains(table->by_name, name))
		table->replaced++;
	if (g_bytes_get_size(data) > 64)
		g_async_queue_push(table->to_digest, digest_request_new(name, data));
	g_hash_table_replace(table->by_name, g_strdup(name), data);
}

static gboolean asset_table_alias(AssetTable *table, const char *name, const char *target)
{
	GBytes *data = g_hash_table_lookup(table->by_name, target);

	if (!data) {
		printf("alias %s: no asset %s\n", name, target);
		return FALSE;
	}
#ifdef BUG
	g_hash_table_replace(table->by_name, g_strdup(name), data); /* GUILTY */
#else
	g_hash_table_replace(table->by_name, g_strdup(name), g_bytes_ref(data));
#endif
	return TRUE;
}

static gboolean asset_table_remove(AssetTable *table, const char *name)
{
	return g_hash_table_remove(table->by_name, name);
}

static GBytes *paint_tile(guint size, guint8 ink)
{
	guint8 *pixels = g_malloc(size);

	for (guint i = 0; i < size; i++)
		pixels[i] = (guint8)(ink + i * 3);
	return g_bytes_new_take(pixels, size);
}

static gboolean run_command(AssetTable *table, const char *line)
{
	char **words = g_strsplit(line, " ", 4);
	guint count = g_strv_length(words);
	gboolean ok = FALSE;

	if (count == 4 && g_str_equal(words[0], "put")) {
		guint size = (guint)g_ascii_strtoull(words[2], NULL, 10);
		guint8 ink = (guint8)g_ascii_strtoull(words[3], NULL, 10);

		asset_table_store(table, words[1], paint_tile(size, ink));
		ok = TRUE;
	} else if (count == 3 && g_str_equal(words[0], "text")) {
		asset_table_store(table, words[1], g_bytes_new(words[2], strlen(words[2])));
		ok = TRUE;
	} else if (count == 3 && g_str_equal(words[0], "alias")) {
		ok = asset_table_alias(table, words[1], words[2]);
	} else if (count == 2 && g_str_equal(words[0], "drop")) {
		ok = asset_table_remove(table, words[1]);
	}
	g_strfreev(words);
	return ok;
}

static void slide_free(gpointer data)
{
	Slide *slide = data;

	g_free(slide->asset);
	g_bytes_unref(slide->pixels);
	g_free(slide);
}

static gboolean playlist_append(GPtrArray *playlist, AssetTable *table, const char *asset, guint seconds)
{
	GBytes *data = g_hash_table_lookup(table->by_name, asset);
	Slide *slide;

	if (!data)
		return FALSE;
	slide = g_new0(Slide, 1);
	slide->asset = g_strdup(asset);
	slide->pixels = g_bytes_ref(data);
	slide->seconds = seconds;
	g_ptr_array_add(playlist, slide);
	return TRUE;
}

static guint slide_brightness(const Slide *slide)
{
	gsize size = 0;
	const guint8 *pixels = g_bytes_get_data(slide->pixels, &size);
	guint64 sum = 0;

	for (gsize i = 0; i < size; i++)
		sum += pixels[i];
	return size ? (guint)(sum / size) : 0;
}

static void show_table(AssetTable *table)
{
	GList *names = g_list_sort(g_hash_table_get_keys(table->by_name), (GCompareFunc)strcmp);

	for (GList *at = names; at; at = at->next) {
		GBytes *data = g_hash_table_lookup(table->by_name, at->data);
		const char *digest = g_hash_table_lookup(table->digests, at->data);

		printf("%-12s %5" G_GSIZE_FORMAT " bytes %.8s\n", (char *)at->data, g_bytes_get_size(data), digest ? digest : "-");
	}
	g_list_free(names);
}

int main(void)
{
	static const char *const morning[] = {
		"put lobby-bg 640 17", "put menu-bg 512 90", "put logo 200 4", "text ticker doors-open-at-nine",
		"alias default-bg lobby-bg", "put clock-face 96 33", "alias noon-bg evening-bg", "text footer room-4",
	};
	static const char *const update[] = {
		"put menu-bg 768 120", "drop lobby-bg", "text ticker doors-close-at-five", "drop weather",
	};
	AssetTable *table = asset_table_new();
	GPtrArray *playlist = g_ptr_array_new_with_free_func(slide_free);
	guint failed = 0, total = 0;

	for (guint i = 0; i < G_N_ELEMENTS(morning); i++)
		failed += !run_command(table, morning[i]);
	playlist_append(playlist, table, "menu-bg", 20);
	playlist_append(playlist, table, "logo", 5);
	playlist_append(playlist, table, "clock-face", 10);
	for (guint i = 0; i < G_N_ELEMENTS(update); i++)
		failed += !run_command(table, update[i]);
	asset_table_settle(table);

	for (guint i = 0; i < playlist->len; i++) {
		const Slide *slide = g_ptr_array_index(playlist, i);

		printf("%3u s %-10s brightness %u\n", total, slide->asset, slide_brightness(slide));
		total += slide->seconds;
	}
	show_table(table);
	printf("%u commands failed, %u assets replaced\n", failed, table->replaced);
	g_ptr_array_unref(playlist);
	asset_table_free(table);
	return failed == 2 ? 0 : 1;
}
