/* summary: badge_overlay returns for an overlay that is quite transparent without destroying the pattern it has made of it
 * kind: missing-put
 * counts: surplus
 * objects: 6
 * track: cairo
 * packages: cairo
 * build: clang-14 -O2
 * exit: 0
 */
/* Draws name badges for a conference: a ground with a gradient, a picture, and overlays (speaker, staff, press, …) that
 * some people have.
 */
#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { W = 120, H = 80 };
enum role { GUEST, SPEAKER, STAFF, PRESS, ROLES };

struct badge {
	char name[20];
	enum role role;
	int fold;               /* of the paper, draws a shadow */
	double tint[3];
	cairo_surface_t *done;  /* owned */
};

struct kit {
	cairo_surface_t *overlay[ROLES];        /* owned, none for guests */
	double alpha[ROLES];
	cairo_pattern_t *shadow;                /* owned */
	unsigned drawn, transparent;
};

static cairo_surface_t *stamp(double r, double g, double b)
{
	cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 24, 24);
	cairo_t *cr = cairo_create(s);

	cairo_set_source_rgb(cr, r, g, b);
	cairo_arc(cr, 12, 12, 10, 0, 2 * M_PI);
	cairo_fill(cr);
	cairo_destroy(cr);
	return s;
}

static void kit_open(struct kit *kit)
{
	memset(kit, 0, sizeof *kit);
	kit->overlay[SPEAKER] = stamp(.9, .2, .1);
	kit->overlay[STAFF] = stamp(.1, .6, .2);
	kit->overlay[PRESS] = stamp(.1, .2, .9);
	kit->alpha[SPEAKER] = 1;
	kit->alpha[STAFF] = .7;
	kit->alpha[PRESS] = 0;  /* they bring stickers of their own */
	kit->shadow = cairo_pattern_create_linear(0, 0, W, 0);
	cairo_pattern_add_color_stop_rgba(kit->shadow, 0, 0, 0, 0, .3);
	cairo_pattern_add_color_stop_rgba(kit->shadow, 1, 0, 0, 0, 0);
}

static void kit_close(struct kit *kit)
{
	for (int i = 0; i < ROLES; i++)
		if (kit->overlay[i])
			cairo_surface_destroy(kit->overlay[i]);
	cairo_pattern_destroy(kit->shadow);
}

static void badge_ground(const struct badge *b, cairo_t *cr)
{
	cairo_pattern_t *p = cairo_pattern_create_linear(0, 0, 0, H);

	cairo_pattern_add_color_stop_rgb(p, 0, 1, 1, 1);
	cairo_pattern_add_color_stop_rgb(p, 1, b->tint[0], b->tint[1], b->tint[2]);
	cairo_set_source(cr, p);
	cairo_pattern_destroy(p);
	cairo_paint(cr);
}

static void badge_overlay(struct kit *kit, const struct badge *b, cairo_t *cr)
{
	cairo_pattern_t *p;
	cairo_matrix_t m;

	if (kit->overlay[b->role] == NULL)
		return;
	p = cairo_pattern_create_for_surface(kit->overlay[b->role]);    /* ACCEPTED */
	cairo_matrix_init_translate(&m, -W + 30, -8);
	cairo_pattern_set_matrix(p, &m);
	if (kit->alpha[b->role] < 1. / 255) {
		kit->transparent++;
#ifdef BUG
		return;         /* GUILTY */
#else
		cairo_pattern_destroy(p);
		return;
#endif
	}
	cairo_set_source(cr, p);
	cairo_paint_with_alpha(cr, kit->alpha[b->role]);
	cairo_pattern_destroy(p);
}

static int badge_draw(struct kit *kit, struct badge *b)
{
	cairo_t *cr;
	cairo_status_t status;

	b->done = cairo_image_surface_create(CAIRO_FORMAT_RGB24, W, H);
	cr = cairo_create(b->done);
	badge_ground(b, cr);
	badge_overlay(kit, b, cr);
	if (b->fold) {
		cairo_set_source(cr, kit->shadow);
		cairo_rectangle(cr, W / 2, 0, W / 2, H);
		cairo_fill(cr);
	}
	status = cairo_status(cr);
	cairo_destroy(cr);
	if (status != CAIRO_STATUS_SUCCESS) {
		fprintf(stderr, "%s: %s\n", b->name, cairo_status_to_string(status));
		cairo_surface_destroy(b->done);
		b->done = NULL;
		return -1;
	}
	kit->drawn++;
	return 0;
}

static unsigned checksum(cairo_surface_t *s)
{
	const unsigned char *row;
	unsigned sum = 0;

	cairo_surface_flush(s);
	row = cairo_image_surface_get_data(s);
	for (int y = 0; y < H; y++, row += cairo_image_surface_get_stride(s))
		for (int x = 0; x < W * 4; x++)
			sum = sum * 17 + (x % 4 == 3 ? 0 : row[x]);
	return sum;
}

int main(void)
{
	struct badge badges[40];
	struct kit kit;
	unsigned sum = 0;

	kit_open(&kit);
	for (int i = 0; i < 40; i++) {
		struct badge *b = &badges[i];

		memset(b, 0, sizeof *b);
		snprintf(b->name, sizeof b->name, "visitor %d", i);
		b->role = i % 7 == 3 ? PRESS : i % 5 == 1 ? SPEAKER : i % 11 == 4 ? STAFF : GUEST;
		b->fold = i % 4 == 0;
		b->tint[i % 3] = .8;
		if (badge_draw(&kit, b) == 0)
			sum ^= checksum(b->done);
	}
	printf("%u badges, %u without their overlay, checksum %08x\n", kit.drawn, kit.transparent, sum);
	for (int i = 0; i < 40; i++)
		if (badges[i].done)
			cairo_surface_destroy(badges[i].done);
	kit_close(&kit);
	cairo_debug_reset_static_data();
	return 0;
}
