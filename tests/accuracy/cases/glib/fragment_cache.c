/* summary: an alias in the cache's table is given the looked-up bytes without a reference of its own
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: GBytes
 * packages: glib-2.0
 * build: gcc -O2 -g
 */

/* Fragment cache of the page assembler. Fragments are rendered once and kept by path and by entity tag; several paths may
 * stand for one fragment. The least recently used paths go when the cache is full. */

#include <glib.h>
#include <string.h>

typedef struct {
    char *path;
    GBytes *body;
    gboolean alias;
} Entry;

typedef struct {
    GHashTable *by_path;        /* path: link in recent */
    GHashTable *by_tag;         /* tag: GBytes */
    GQueue recent;              /* of Entry, the latest first */
    guint limit;
    guint hits, misses, evicted;
} FragmentCache;

typedef char *(*Renderer)(const char *path, gsize *length);

static void entry_free(Entry *entry)
{
    g_bytes_unref(entry->body);
    g_free(entry->path);
    g_free(entry);
}

static FragmentCache *cache_new(guint limit)
{
    FragmentCache *cache = g_new0(FragmentCache, 1);

    cache->by_path = g_hash_table_new(g_str_hash, g_str_equal);
    cache->by_tag = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    g_queue_init(&cache->recent);
    cache->limit = limit;
    return cache;
}

static void cache_remove_link(FragmentCache *cache, GList *link)
{
    Entry *entry = link->data;

    g_hash_table_remove(cache->by_path, entry->path);
    g_queue_delete_link(&cache->recent, link);
    entry_free(entry);
}

static void cache_free(FragmentCache *cache)
{
    while (cache->recent.head)
        cache_remove_link(cache, cache->recent.head);
    g_hash_table_unref(cache->by_path);
    g_hash_table_unref(cache->by_tag);
    g_free(cache);
}

static void cache_trim(FragmentCache *cache)
{
    while (cache->recent.length > cache->limit) {
        cache_remove_link(cache, cache->recent.tail);
        cache->evicted++;
    }
}

/* The body goes to the entry. */
static void cache_enter(FragmentCache *cache, const char *path, GBytes *body, gboolean alias)
{
    GList *old = g_hash_table_lookup(cache->by_path, path);
    Entry *entry;

    if (old)
        cache_remove_link(cache, old);
    entry = g_new0(Entry, 1);
    entry->path = g_strdup(path);
    entry->body = body;
    entry->alias = alias;
    g_queue_push_head(&cache->recent, entry);
    g_hash_table_insert(cache->by_path, entry->path, cache->recent.head);
    cache_trim(cache);
}

static char *tag_of(GBytes *body)
{
    return g_strdup_printf("\"%08x-%" G_GSIZE_FORMAT "\"", g_bytes_hash(body), g_bytes_get_size(body));
}

/* The cache's own pointer, or NULL. */
static GBytes *cache_peek(FragmentCache *cache, const char *path)
{
    GList *link = g_hash_table_lookup(cache->by_path, path);

    if (!link)
        return NULL;
    g_queue_unlink(&cache->recent, link);
    g_queue_push_head_link(&cache->recent, link);
    return ((Entry *)link->data)->body;
}

/* Returns a reference. */
static GBytes *cache_fetch(FragmentCache *cache, const char *path, Renderer render)
{
    GBytes *body = cache_peek(cache, path);
    char *text, *tag;
    gsize length;

    if (body) {
        cache->hits++;
        return g_bytes_ref(body);
    }
    cache->misses++;
    text = render(path, &length);
    if (!text)
        return NULL;
    body = g_bytes_new_take(text, length);
    tag = tag_of(body);
    g_hash_table_replace(cache->by_tag, tag, g_bytes_ref(body));
    cache_enter(cache, path, g_bytes_ref(body), FALSE);
    return body;
}

static gboolean cache_add_alias(FragmentCache *cache, const char *path, const char *alias)
{
    GBytes *body = cache_peek(cache, path);

    if (!body)
        return FALSE;
    if (g_strcmp0(path, alias) == 0)
        return TRUE;
#ifdef BUG
    cache_enter(cache, alias, body, TRUE);                                      /* GUILTY */
#else
    cache_enter(cache, alias, g_bytes_ref(body), TRUE);
#endif
    return TRUE;
}

/* Returns a reference if the client's tag is still that of a fragment. */
static GBytes *cache_match_tag(FragmentCache *cache, const char *tag)
{
    GBytes *body = g_hash_table_lookup(cache->by_tag, tag);

    return body ? g_bytes_ref(body) : NULL;
}

static gboolean tag_is_unused(gpointer key, gpointer value, gpointer data)
{
    FragmentCache *cache = data;

    (void)key;
    for (GList *l = cache->recent.head; l; l = l->next)
        if (((Entry *)l->data)->body == value)
            return FALSE;
    return TRUE;
}

static guint cache_sweep_tags(FragmentCache *cache)
{
    return g_hash_table_foreach_remove(cache->by_tag, tag_is_unused, cache);
}

static guint cache_count_aliases(FragmentCache *cache)
{
    guint n = 0;

    for (GList *l = cache->recent.head; l; l = l->next)
        n += ((Entry *)l->data)->alias;
    return n;
}

static char *render_fragment(const char *path, gsize *length)
{
    GString *html;

    if (g_str_has_prefix(path, "/private/"))
        return NULL;
    html = g_string_new("<section>");
    for (const char *p = path; *p; p++)
        g_string_append_printf(html, "<b>%c</b>", *p == '/' ? '.' : *p);
    g_string_append(html, "</section>");
    *length = html->len;
    return g_string_free(html, FALSE);
}

static gsize assemble(FragmentCache *cache, const char *const *paths)
{
    GPtrArray *parts = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    gsize total = 0;

    for (; *paths; paths++) {
        GBytes *part = cache_fetch(cache, *paths, render_fragment);

        if (!part)
            continue;
        g_ptr_array_add(parts, part);
        total += g_bytes_get_size(part);
    }
    g_ptr_array_unref(parts);
    return total;
}

int main(void)
{
    static const char *const front[] = { "/head", "/nav/main", "/news/today", "/foot", NULL };
    static const char *const shop[] = { "/head", "/nav/main", "/private/cart", "/shop/list", "/foot", NULL };
    static const char *const help[] = { "/head", "/index", "/help/topics", "/start", "/foot", NULL };
    FragmentCache *cache = cache_new(7);
    GBytes *head, *again;
    gsize sent;
    char *tag;
    guint swept, aliases;

    sent = assemble(cache, front);
    sent += assemble(cache, shop);
    if (!cache_add_alias(cache, "/news/today", "/index") || !cache_add_alias(cache, "/nav/main", "/start"))
        return 1;
    if (cache_add_alias(cache, "/private/cart", "/cart"))
        return 1;
    sent += assemble(cache, help);
    aliases = cache_count_aliases(cache);

    head = cache_fetch(cache, "/head", render_fragment);
    tag = tag_of(head);
    again = cache_match_tag(cache, tag);
    g_print("%s is %s\n", tag, again == head ? "not modified" : "new");
    g_clear_pointer(&again, g_bytes_unref);
    g_bytes_unref(head);
    g_free(tag);

    sent += assemble(cache, shop);
    swept = cache_sweep_tags(cache);
    g_print("%" G_GSIZE_FORMAT " bytes, %u hits, %u misses, %u evicted, %u aliases, %u tags swept\n", sent, cache->hits,
            cache->misses, cache->evicted, aliases, swept);
    cache_free(cache);
    return 0;
}
