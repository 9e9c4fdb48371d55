/* summary: pen_tint() destroys the old paint before it asks the tip that belongs to it for its resolution
 * kind: use-after-put
 * counts: none
 * objects: 14
 * track: cairo
 * packages: cairo
 * libs: -lm
 * build: clang-14 -O0 -g
 * exit: 0
 */
/*
 * inkpad - draws a recording of pen strokes on the pages of a note pad.
 *
 * A pen paints with a pattern made of its tip, a small image with a resolution
 * of its own. Tips come from a box of four; a pen that gets another colour has
 * a tip of its own from then on. Pens can be twins and share their paint.
 */
#include <cairo.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NTIPS 4
#define TIP_PIXELS(n) (10 + 4 * (n))
#define NPENS 7
#define NPAGES 3
#define PAGE_W 96
#define PAGE_H 64
#define UNDO 5

struct pen {
    cairo_pattern_t *paint;     /* owned, perhaps together with a twin */
    int pixels;                 /* of the tip, in both directions */
    double width;
    int strokes, tints;
};

struct page {
    cairo_surface_t *ink;       /* owned */
    cairo_surface_t *undo[UNDO];        /* owned, oldest first */
    int nundo;
};

struct event {
    char what;                  /* s stroke, t tint, w other width, c twin of another pen, b back to the box, u undo, n next page */
    int pen, a, b;
};

struct pad {
    cairo_surface_t *tips[NTIPS];       /* owned */
    struct pen pens[NPENS];
    struct page pages[NPAGES];
    int page;
    int undone, ignored;
};

/* ---- pens -------------------------------------------------------------- */

/* Another image with the shape of tip, in a colour. */
static cairo_surface_t *coloured(cairo_surface_t *tip, int pixels, double r, double g, double b)
{
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, pixels, pixels);
    double sx, sy;
    cairo_t *cr;

    cairo_surface_get_device_scale(tip, &sx, &sy);
    cairo_surface_set_device_scale(s, sx, sy);
    cr = cairo_create(s);
    cairo_set_source_rgb(cr, r, g, b);
    cairo_mask_surface(cr, tip, 0, 0);
    cairo_destroy(cr);
    if (cairo_surface_status(s) != CAIRO_STATUS_SUCCESS) {
        cairo_surface_destroy(s);
        return NULL;
    }
    return s;
}

/* Lets a paint made of tip cover a square of the pen's width. */
static void paint_fit(const struct pen *p, cairo_pattern_t *paint, cairo_surface_t *tip)
{
    double sx, sy;
    cairo_matrix_t m;

    cairo_surface_get_device_scale(tip, &sx, &sy);
    cairo_matrix_init_scale(&m, p->pixels / sx / p->width, p->pixels / sy / p->width);
    cairo_pattern_set_matrix(paint, &m);
    cairo_pattern_set_filter(paint, CAIRO_FILTER_BILINEAR);
}

static int pen_tint(struct pen *p, int colour)
{
    cairo_surface_t *tip, *own;
    cairo_pattern_t *paint;

    if (cairo_pattern_get_surface(p->paint, &tip) != CAIRO_STATUS_SUCCESS)
        return -1;
    own = coloured(tip, p->pixels, (colour >> 4 & 3) / 3.0, (colour >> 2 & 3) / 3.0, (colour & 3) / 3.0);
    if (!own)
        return -1;
    paint = cairo_pattern_create_for_surface(own);
    cairo_surface_destroy(own);
#ifdef BUG
    cairo_pattern_destroy(p->paint);    /* GUILTY */
    paint_fit(p, paint, tip);           /* ACCEPTED */
#else
    paint_fit(p, paint, tip);
    cairo_pattern_destroy(p->paint);
#endif
    p->paint = paint;
    p->tints++;
    return 0;
}

static int pen_from_box(struct pad *pad, struct pen *p, int tip)
{
    cairo_pattern_t *paint = cairo_pattern_create_for_surface(pad->tips[tip % NTIPS]);

    if (cairo_pattern_status(paint) != CAIRO_STATUS_SUCCESS) {
        cairo_pattern_destroy(paint);
        return -1;
    }
    p->pixels = TIP_PIXELS(tip % NTIPS);
    paint_fit(p, paint, pad->tips[tip % NTIPS]);
    cairo_pattern_destroy(p->paint);
    p->paint = paint;
    return 0;
}

static int pen_widen(struct pen *p, double width)
{
    cairo_surface_t *tip;

    if (width < 1 || cairo_pattern_get_surface(p->paint, &tip) != CAIRO_STATUS_SUCCESS)
        return -1;
    p->width = width;
    paint_fit(p, p->paint, tip);
    return 0;
}

static int pen_twin(struct pen *p, const struct pen *other)
{
    cairo_pattern_t *paint = cairo_pattern_reference(other->paint);

    cairo_pattern_destroy(p->paint);
    p->paint = paint;
    p->pixels = other->pixels;
    p->width = other->width;
    return 0;
}

/* ---- pages ------------------------------------------------------------- */

static cairo_surface_t *copy_of(cairo_surface_t *from)
{
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, PAGE_W, PAGE_H);
    cairo_t *cr = cairo_create(s);

    cairo_set_source_surface(cr, from, 0, 0);
    cairo_set_operator(cr, CAIRO_OPERATOR_SOURCE);
    cairo_paint(cr);
    cairo_destroy(cr);
    return s;
}

static void page_remember(struct page *pg)
{
    if (pg->nundo == UNDO) {
        cairo_surface_destroy(pg->undo[0]);
        memmove(pg->undo, pg->undo + 1, sizeof(pg->undo[0]) * (UNDO - 1));
        pg->nundo--;
    }
    pg->undo[pg->nundo++] = copy_of(pg->ink);
}

static int page_undo(struct page *pg)
{
    if (!pg->nundo)
        return -1;
    cairo_surface_destroy(pg->ink);
    pg->ink = pg->undo[--pg->nundo];
    return 0;
}

static void page_stroke(struct page *pg, struct pen *p, int from, int to)
{
    cairo_t *cr = cairo_create(pg->ink);
    double x = from % PAGE_W, y = from * 7 % PAGE_H, dx = (to % PAGE_W - x) / 8, dy = (to * 5 % PAGE_H - y) / 8;

    page_remember(pg);
    for (int i = 0; i <= 8; i++) {
        cairo_save(cr);
        cairo_translate(cr, x + i * dx, y + i * dy);
        cairo_set_source(cr, p->paint);
        cairo_rectangle(cr, 0, 0, p->width, p->width);
        cairo_fill(cr);
        cairo_restore(cr);
    }
    cairo_destroy(cr);
    p->strokes++;
}

static unsigned long page_coverage(struct page *pg)
{
    const unsigned char *data;
    unsigned long sum = 0;

    cairo_surface_flush(pg->ink);
    data = cairo_image_surface_get_data(pg->ink);
    for (int y = 0; y < PAGE_H; y++) {
        const uint32_t *row = (const uint32_t *)(data + (size_t)y * cairo_image_surface_get_stride(pg->ink));

        for (int x = 0; x < PAGE_W; x++)
            sum += row[x] >> 24;
    }
    return sum;
}

/* ---- the pad ----------------------------------------------------------- */

static cairo_surface_t *cut_tip(int n)
{
    double scale = n % 3 + 1, size = TIP_PIXELS(n) / scale;
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, TIP_PIXELS(n), TIP_PIXELS(n));
    cairo_t *cr;

    cairo_surface_set_device_scale(s, scale, scale);
    cr = cairo_create(s);
    cairo_set_source_rgba(cr, 0, 0, 0, 1 - n * 0.2);
    if (n % 2)
        cairo_rectangle(cr, 1, 0, size - 2, size);
    else
        cairo_arc(cr, size / 2.0, size / 2.0, size / 2.0, 0, 2 * M_PI);
    cairo_fill(cr);
    cairo_destroy(cr);
    return s;
}

static int pad_open(struct pad *pad)
{
    for (int i = 0; i < NTIPS; i++)
        pad->tips[i] = cut_tip(i);
    for (int i = 0; i < NPENS; i++) {
        pad->pens[i].width = 2 + i;
        if (pen_from_box(pad, &pad->pens[i], i) < 0)
            return -1;
    }
    for (int i = 0; i < NPAGES; i++)
        pad->pages[i].ink = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, PAGE_W, PAGE_H);
    return 0;
}

static void pad_close(struct pad *pad)
{
    for (int i = 0; i < NPAGES; i++) {
        cairo_surface_destroy(pad->pages[i].ink);
        while (pad->pages[i].nundo)
            cairo_surface_destroy(pad->pages[i].undo[--pad->pages[i].nundo]);
    }
    for (int i = 0; i < NPENS; i++)
        cairo_pattern_destroy(pad->pens[i].paint);
    for (int i = 0; i < NTIPS; i++)
        cairo_surface_destroy(pad->tips[i]);
    cairo_debug_reset_static_data();
}

static void pad_play(struct pad *pad, const struct event *e)
{
    struct pen *p = &pad->pens[e->pen];
    struct page *pg = &pad->pages[pad->page];
    int r = 0;

    switch (e->what) {
    case 's': page_stroke(pg, p, e->a, e->b); break;
    case 't': r = pen_tint(p, e->a); break;
    case 'w': r = pen_widen(p, e->a); break;
    case 'c': r = pen_twin(p, &pad->pens[e->a]); break;
    case 'b': r = pen_from_box(pad, p, e->a); break;
    case 'u': r = page_undo(pg); pad->undone += r == 0; break;
    case 'n': pad->page = (pad->page + 1) % NPAGES; break;
    default: r = -1; break;
    }
    pad->ignored += r < 0;
}

int main(void)
{
    static const struct event recording[] = {
        { 's', 0, 5, 70 }, { 't', 1, 0x13, 0 }, { 's', 1, 40, 11 }, { 'w', 2, 9, 0 }, { 's', 2, 61, 22 }, { 't', 2, 0x31, 0 },
        { 'c', 3, 2, 0 }, { 's', 3, 18, 90 }, { 't', 3, 0x0c, 0 }, { 'u', 0, 0, 0 }, { 's', 3, 33, 47 }, { 't', 1, 0x22, 0 },
        { 'n', 0, 0, 0 }, { 's', 1, 7, 83 }, { 'b', 4, 1, 0 }, { 't', 4, 0x3f, 0 }, { 's', 4, 55, 29 }, { 'w', 4, 0, 0 },
        { 'c', 5, 0, 0 }, { 't', 5, 0x05, 0 }, { 's', 5, 80, 3 }, { 'u', 0, 0, 0 }, { 'u', 0, 0, 0 }, { 't', 3, 0x2a, 0 },
        { 's', 3, 14, 66 }, { 'b', 6, 2, 0 }, { 's', 6, 72, 35 }, { 'x', 0, 0, 0 }, { 'n', 0, 0, 0 }, { 's', 0, 26, 58 },
    };
    static struct pad pad;

    if (pad_open(&pad) < 0)
        return 1;
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < sizeof(recording) / sizeof(recording[0]); i++)
            pad_play(&pad, &recording[i]);
    for (int i = 0; i < NPENS; i++)
        printf("pen %d: width %.0f strokes %d tints %d\n", i, pad.pens[i].width, pad.pens[i].strokes, pad.pens[i].tints);
    for (int i = 0; i < NPAGES; i++)
        printf("page %d: coverage %lu\n", i, page_coverage(&pad.pages[i]));
    printf("undone %d ignored %d\n", pad.undone, pad.ignored);
    pad_close(&pad);
    return 0;
}
