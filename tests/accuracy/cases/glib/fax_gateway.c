/*
 * summary: a page that the line refuses is released in send_page() although the retry list, which got it, releases it too
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: GBytes GSource GMainContext
 * packages: glib-2.0
 * build: gcc -O1 -g
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define LINES 2
#define PAGE 96

/* A fax: pages of raster data which are slices of one scan. */

typedef struct {
    char *number;
    GQueue pages;      /* GBytes * */
    guint sent;
} Fax;

typedef struct {
    GSource source;
    guint index;
    guint busy_until;
    guint tick;
} Line;

typedef struct {
    GMainContext *context;
    GMainLoop *loop;
    Line *lines[LINES];
    GQueue outbox;      /* Fax * */
    GQueue retry;       /* GBytes * */
    GBytes *cover;
    GChecksum *checksum;
    guint pages_out;
    gsize bytes_out;
} Gateway;

static Gateway gateway;

static gboolean line_prepare(GSource *source, gint *timeout)
{
    (void)source;
    *timeout = 0;
    return TRUE;
}

static gboolean line_check(GSource *source)
{
    (void)source;
    return TRUE;
}

static gboolean line_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    Line *line = (Line *)source;

    line->tick++;
    return callback != NULL ? callback(data) : G_SOURCE_REMOVE;
}

static GSourceFuncs line_funcs = { line_prepare, line_check, line_dispatch, NULL, NULL, NULL };

static GBytes *scan_sheet(guint sheet, guint pages)
{
    gsize size = (gsize)pages * PAGE;
    guint8 *raster = g_malloc(size);

    for (gsize i = 0; i < size; i++)
        raster[i] = (guint8)((i * 7 + sheet * 31) & 0xff);
    return g_bytes_new_take(raster, size);
}

static Fax *fax_new(const char *number, guint sheet, guint pages)
{
    Fax *fax = g_new0(Fax, 1);
    GBytes *scan = scan_sheet(sheet, pages);

    fax->number = g_strdup(number);
    g_queue_init(&fax->pages);
    for (guint i = 0; i < pages; i++)
        g_queue_push_tail(&fax->pages, g_bytes_new_from_bytes(scan, (gsize)i * PAGE, PAGE));
    g_bytes_unref(scan);
    return fax;
}

static void fax_free(Fax *fax)
{
    GBytes *page;

    while ((page = g_queue_pop_head(&fax->pages)) != NULL)
        g_bytes_unref(page);
    g_free(fax->number);
    g_free(fax);
}

static void gateway_transmit(Gateway *gw, GBytes *page)
{
    gsize size;
    const guint8 *raster = g_bytes_get_data(page, &size);

    g_checksum_update(gw->checksum, raster, (gssize)size);
    gw->pages_out++;
    gw->bytes_out += size;
}

static gboolean line_is_free(Line *line)
{
    return line->tick >= line->busy_until;
}

static void line_occupy(Line *line, guint ticks)
{
    line->busy_until = line->tick + ticks;
}

/* Takes the page. */
static void retry_later(Gateway *gw, GBytes *page)
{
    g_queue_push_tail(&gw->retry, page);
}

/* Takes the page. Every fifth page of a run finds the other end not ready. */
static gboolean send_page(Gateway *gw, Line *line, GBytes *page, guint seq)
{
    if (seq % 5 == 4) {
        line_occupy(line, 3);
        retry_later(gw, page);
#ifdef BUG
        g_bytes_unref(page); /* GUILTY */
#endif
        return FALSE;
    }
    gateway_transmit(gw, page);
    g_bytes_unref(page);
    return TRUE;
}

static gboolean line_ready(gpointer data)
{
    Line *line = data;
    Gateway *gw = &gateway;
    Fax *fax = g_queue_peek_head(&gw->outbox);
    static guint seq;
    GBytes *page;

    if (fax == NULL)
        return G_SOURCE_REMOVE;
    if (!line_is_free(line))
        return G_SOURCE_CONTINUE;
    if (fax->sent == 0)
        gateway_transmit(gw, gw->cover);
    page = g_queue_pop_head(&fax->pages);
    if (page == NULL) {
        g_queue_pop_head(&gw->outbox);
        printf("%s: %u pages\n", fax->number, fax->sent);
        fax_free(fax);
        return G_SOURCE_CONTINUE;
    }
    fax->sent++;
    if (!send_page(gw, line, page, seq++))
        printf("%s: page %u waits on line %u\n", fax->number, fax->sent, line->index);
    return G_SOURCE_CONTINUE;
}

static void line_gone(gpointer data)
{
    (void)data;
    for (guint i = 0; i < LINES; i++)
        if (gateway.lines[i] != NULL && !g_source_is_destroyed((GSource *)gateway.lines[i]))
            return;
    g_main_loop_quit(gateway.loop);
}

static void gateway_open(Gateway *gw)
{
    static const char heading[] = "FAX GATEWAY 4  -  cover sheet";

    gw->context = g_main_context_new();
    gw->loop = g_main_loop_new(gw->context, FALSE);
    gw->checksum = g_checksum_new(G_CHECKSUM_SHA1);
    gw->cover = g_bytes_new_static(heading, sizeof heading - 1);
    g_queue_init(&gw->outbox);
    g_queue_init(&gw->retry);
    for (guint i = 0; i < LINES; i++) {
        Line *line = (Line *)g_source_new(&line_funcs, sizeof(Line));

        line->index = i;
        g_source_set_callback((GSource *)line, line_ready, line, line_gone);
        g_source_attach((GSource *)line, gw->context);
        gw->lines[i] = line;
    }
}

static void gateway_close(Gateway *gw)
{
    GBytes *page;
    Fax *fax;
    guint waiting = 0;

    for (guint i = 0; i < LINES; i++) {
        g_source_destroy((GSource *)gw->lines[i]);
        g_source_unref((GSource *)gw->lines[i]);
        gw->lines[i] = NULL;
    }
    while ((fax = g_queue_pop_head(&gw->outbox)) != NULL)
        fax_free(fax);
    printf("sha1 %.12s\n", g_checksum_get_string(gw->checksum));
    while ((page = g_queue_pop_head(&gw->retry)) != NULL) {
        waiting++;
        g_bytes_unref(page);
    }
    printf("%u pages wait for the night\n", waiting);
    g_bytes_unref(gw->cover);
    g_checksum_free(gw->checksum);
    g_main_loop_unref(gw->loop);
    g_main_context_unref(gw->context);
}

int main(void)
{
    Gateway *gw = &gateway;

    gateway_open(gw);
    g_queue_push_tail(&gw->outbox, fax_new("+44 20 5550 101", 1, 3));
    g_queue_push_tail(&gw->outbox, fax_new("+44 20 5550 172", 2, 4));
    g_queue_push_tail(&gw->outbox, fax_new("+44 20 5550 139", 3, 4));
    g_main_loop_run(gw->loop);
    printf("%u pages, %zu bytes\n", gw->pages_out, gw->bytes_out);
    gateway_close(gw);
    return 0;
}
