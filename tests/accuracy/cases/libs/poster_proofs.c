/*
 * summary: the faded layers hand the group's pattern to cairo_set_source(), which takes a reference of its own
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: cairo_pattern_t
 * packages: cairo
 * libs: -lm
 * build: gcc -O2 -g
 */
#include <cairo.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#define PROOF_WIDTH 160
#define PROOF_HEIGHT 220
#define TEXTURES 3

enum shape { SHAPE_DISC, SHAPE_STRIPES, SHAPE_FRAME, SHAPE_SUN };

struct layer {
    enum shape shape;
    double opacity;
    int texture; /* index, or -1: plain ink */
    bool masked; /* fades out towards the foot of the sheet */
    double ink[3];
};

struct poster {
    const char *title;
    const struct layer *layers;
    unsigned count;
};

struct press {
    cairo_pattern_t *textures[TEXTURES];
    cairo_pattern_t *fade;
    cairo_surface_t *contact_sheet;
    unsigned proofs, rejected;
};

static cairo_pattern_t *make_grain(int size, unsigned seed)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_A8, size, size);
    unsigned char *data = cairo_image_surface_get_data(surface);
    int stride = cairo_image_surface_get_stride(surface);

    for (int y = 0; y < size; y++) {
        for (int x = 0; x < size; x++) {
            seed = seed * 1664525u + 1013904223u;
            data[y * stride + x] = (unsigned char) (128 + (seed >> 25));
        }
    }
    cairo_surface_mark_dirty(surface);

    cairo_pattern_t *pattern = cairo_pattern_create_for_surface(surface);
    cairo_surface_destroy(surface);
    cairo_pattern_set_extend(pattern, CAIRO_EXTEND_REPEAT);
    return pattern;
}

static void press_set_up(struct press *press)
{
    for (int i = 0; i < TEXTURES; i++)
        press->textures[i] = make_grain(8 << i, 17u + (unsigned) i);
    press->fade = cairo_pattern_create_linear(0, 0, 0, PROOF_HEIGHT);
    cairo_pattern_add_color_stop_rgba(press->fade, 0.0, 0, 0, 0, 1.0);
    cairo_pattern_add_color_stop_rgba(press->fade, 0.6, 0, 0, 0, 0.9);
    cairo_pattern_add_color_stop_rgba(press->fade, 1.0, 0, 0, 0, 0.1);
    press->contact_sheet = cairo_image_surface_create(CAIRO_FORMAT_RGB24, PROOF_WIDTH * 2, PROOF_HEIGHT * 2);
}

static void press_close_down(struct press *press)
{
    for (int i = 0; i < TEXTURES; i++)
        cairo_pattern_destroy(press->textures[i]);
    cairo_pattern_destroy(press->fade);
    cairo_surface_destroy(press->contact_sheet);
}

static void trace_shape(cairo_t *cr, enum shape shape)
{
    double w = PROOF_WIDTH, h = PROOF_HEIGHT;

    cairo_new_path(cr);
    switch (shape) {
    case SHAPE_DISC:
        cairo_arc(cr, w / 2, h / 3, w / 4, 0, 2 * M_PI);
        break;
    case SHAPE_STRIPES:
        for (int i = 0; i < 6; i++)
            cairo_rectangle(cr, 0, h * (2 * i + 1) / 13, w, h / 13);
        break;
    case SHAPE_FRAME:
        cairo_set_fill_rule(cr, CAIRO_FILL_RULE_EVEN_ODD);
        cairo_rectangle(cr, 4, 4, w - 8, h - 8);
        cairo_rectangle(cr, 14, 14, w - 28, h - 28);
        break;
    case SHAPE_SUN:
        for (int i = 0; i < 12; i++) {
            double angle = i * M_PI / 6;
            cairo_move_to(cr, w / 2, h / 2);
            cairo_line_to(cr, w / 2 + w * cos(angle - 0.1), h / 2 + w * sin(angle - 0.1));
            cairo_line_to(cr, w / 2 + w * cos(angle + 0.1), h / 2 + w * sin(angle + 0.1));
            cairo_close_path(cr);
        }
        break;
    }
}

static void ink_layer(cairo_t *cr, const struct press *press, const struct layer *layer)
{
    cairo_save(cr);
    cairo_set_source_rgb(cr, layer->ink[0], layer->ink[1], layer->ink[2]);
    trace_shape(cr, layer->shape);
    if (layer->texture >= 0) {
        cairo_clip(cr);
        cairo_mask(cr, press->textures[layer->texture]);
    } else {
        cairo_fill(cr);
    }
    cairo_restore(cr);
}

static void draw_layer(cairo_t *cr, const struct press *press, const struct layer *layer)
{
    if (layer->opacity >= 1.0 && !layer->masked) {
        ink_layer(cr, press, layer);
        return;
    }

    cairo_push_group(cr);
    ink_layer(cr, press, layer);
    if (layer->masked) {
        cairo_pattern_t *group = cairo_pop_group(cr); /* ACCEPTED */
        cairo_set_source(cr, group); /* GUILTY */
#ifndef BUG
        cairo_pattern_destroy(group);
#endif
        cairo_mask(cr, press->fade);
    } else {
        cairo_pop_group_to_source(cr);
        cairo_paint_with_alpha(cr, layer->opacity);
    }
}

static cairo_status_t draw_proof(const struct press *press, const struct poster *poster, cairo_surface_t *sheet)
{
    cairo_t *cr = cairo_create(sheet);
    cairo_status_t status;

    cairo_set_source_rgb(cr, 0.97, 0.95, 0.9);
    cairo_paint(cr);
    for (unsigned i = 0; i < poster->count; i++) {
        draw_layer(cr, press, &poster->layers[i]);
        if (cairo_status(cr) != CAIRO_STATUS_SUCCESS)
            break;
    }
    status = cairo_status(cr);
    cairo_destroy(cr);
    return status;
}

static unsigned coverage(cairo_surface_t *sheet)
{
    cairo_surface_flush(sheet);
    const unsigned char *data = cairo_image_surface_get_data(sheet);
    int stride = cairo_image_surface_get_stride(sheet);
    unsigned dark = 0;
    for (int y = 0; y < PROOF_HEIGHT; y++)
        for (int x = 0; x < PROOF_WIDTH; x++)
            dark += data[y * stride + 4 * x + 1] < 200;
    return dark * 100 / (PROOF_WIDTH * PROOF_HEIGHT);
}

static void paste(struct press *press, cairo_surface_t *sheet, unsigned place)
{
    cairo_t *cr = cairo_create(press->contact_sheet);
    cairo_set_source_surface(cr, sheet, place % 2 * PROOF_WIDTH, place / 2 * PROOF_HEIGHT);
    cairo_pattern_t *source = cairo_get_source(cr);
    cairo_pattern_set_filter(source, CAIRO_FILTER_NEAREST);
    cairo_paint(cr);
    cairo_destroy(cr);
}

static bool pull_proof(struct press *press, const struct poster *poster)
{
    cairo_surface_t *sheet = cairo_image_surface_create(CAIRO_FORMAT_RGB24, PROOF_WIDTH, PROOF_HEIGHT);
    if (cairo_surface_status(sheet) != CAIRO_STATUS_SUCCESS) {
        cairo_surface_destroy(sheet);
        return false;
    }

    cairo_status_t status = draw_proof(press, poster, sheet);
    if (status != CAIRO_STATUS_SUCCESS) {
        fprintf(stderr, "%s: %s\n", poster->title, cairo_status_to_string(status));
        cairo_surface_destroy(sheet);
        return false;
    }
    unsigned percent = coverage(sheet);
    if (percent < 5) {
        printf("%s: %u %% covered, not worth a plate\n", poster->title, percent);
        press->rejected++;
    } else {
        printf("%s: %u %% covered\n", poster->title, percent);
        paste(press, sheet, press->proofs++);
    }
    cairo_surface_destroy(sheet);
    return true;
}

int main(void)
{
    static const struct layer regatta[] = {
        { SHAPE_STRIPES, 1.0, -1, false, { 0.1, 0.2, 0.6 } },
        { SHAPE_DISC, 0.7, 0, false, { 0.8, 0.1, 0.1 } },
        { SHAPE_FRAME, 1.0, -1, false, { 0.1, 0.1, 0.1 } },
    };
    static const struct layer harvest[] = {
        { SHAPE_SUN, 1.0, 1, true, { 0.8, 0.5, 0.0 } },
        { SHAPE_DISC, 1.0, -1, false, { 0.7, 0.3, 0.0 } },
        { SHAPE_STRIPES, 1.0, 2, true, { 0.3, 0.4, 0.1 } },
    };
    static const struct layer lecture[] = {
        { SHAPE_FRAME, 0.3, -1, false, { 0.6, 0.6, 0.6 } },
    };
    static const struct layer jazz[] = {
        { SHAPE_SUN, 0.5, -1, false, { 0.2, 0.0, 0.3 } },
        { SHAPE_FRAME, 1.0, 0, true, { 0.0, 0.0, 0.0 } },
    };
    static const struct poster posters[] = {
        { "Regatta", regatta, 3 }, { "Harvest fair", harvest, 3 }, { "Lecture on moss", lecture, 1 }, { "Jazz", jazz, 2 },
    };
    struct press press = { .proofs = 0 };
    int failed = 0;

    press_set_up(&press);
    for (unsigned i = 0; i < sizeof posters / sizeof *posters; i++)
        failed += !pull_proof(&press, &posters[i]);
    printf("%u on the contact sheet, %u rejected\n", press.proofs, press.rejected);
    press_close_down(&press);
    return failed ? 1 : 0;
}
