/* summary: slates drawn with cairo: saved states that share patterns, groups, error objects that do not count, user data that owns surfaces, scaled fonts that a cache revives
 * track: cairo_t cairo_surface_t cairo_pattern_t cairo_font_face_t cairo_scaled_font_t cairo_region_t
 * build: clang -O2 -g slate_cairo.c -o OUT $(pkg-config --cflags --libs cairo)
 */
#include <cairo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int destroyed;
static const cairo_user_data_key_t pixels_key, backing_key, owner_key;

static void free_pixels(void *data)
{
	destroyed++;
	free(data);
}

static void put_surface(void *data)
{
	destroyed++;
	cairo_surface_destroy(data);
}

static cairo_surface_t *make_slate(int size)
{
	int stride = cairo_format_stride_for_width(CAIRO_FORMAT_ARGB32, size);
	unsigned char *pixels = calloc((size_t)size, (size_t)stride);
	cairo_surface_t *slate = cairo_image_surface_create_for_data(pixels, CAIRO_FORMAT_ARGB32, size, size, stride);
	if (cairo_surface_set_user_data(slate, &pixels_key, pixels, free_pixels) != CAIRO_STATUS_SUCCESS)
		free(pixels);
	return slate;
}

/* Every saved state has the source; restore gives back what it had. */
static void write_on(cairo_surface_t *slate)
{
	cairo_t *chalk = cairo_create(slate);
	cairo_pattern_t *white = cairo_pattern_create_rgb(1, 1, 1);
	cairo_set_source(chalk, white);
	for (int i = 0; i < 5; i++)
		cairo_save(chalk);
	cairo_set_source_rgb(chalk, 1, 0, 0);
	cairo_pattern_t *red = cairo_pattern_reference(cairo_get_source(chalk));   /* get is borrowed */
	cairo_pattern_destroy(white);                /* the states have theirs */
	cairo_rectangle(chalk, 2, 2, 9, 9);
	cairo_fill(chalk);
	for (int i = 0; i < 3; i++)
		cairo_restore(chalk);
	cairo_set_source(chalk, red);
	cairo_pattern_destroy(red);
	cairo_paint_with_alpha(chalk, 0.3);
	cairo_t *also = cairo_reference(chalk);
	cairo_destroy(chalk);
	cairo_restore(also);
	cairo_destroy(also);                         /* one save is still open: its state goes as well */
}

/* A group is a surface of the context's own until it is popped as a pattern. */
static cairo_pattern_t *draw_group(cairo_surface_t *slate)
{
	cairo_t *chalk = cairo_create(slate);
	cairo_push_group(chalk);
	cairo_surface_t *group = cairo_surface_reference(cairo_get_group_target(chalk));
	cairo_set_source_rgba(chalk, 0, 1, 0, 0.5);
	cairo_paint(chalk);
	cairo_push_group(chalk);
	cairo_paint(chalk);
	cairo_pop_group_to_source(chalk);
	cairo_paint(chalk);
	cairo_pattern_t *pattern = cairo_pop_group(chalk);
	cairo_surface_t *inside = NULL;
	cairo_pattern_get_surface(pattern, &inside); /* borrowed */
	if (inside != group)
		abort();
	cairo_surface_destroy(group);
	cairo_destroy(chalk);
	return pattern;
}

/* Objects in error: some are static and ignore reference and destroy, whatever their number. */
static int errors(void)
{
	int seen = 0;
	cairo_surface_t *nil = cairo_image_surface_create((cairo_format_t)77, 10, 10);
	for (int i = 0; i < 4; i++)
		cairo_surface_destroy(nil);              /* static: no count that could fall */
	seen += cairo_surface_status(nil) != CAIRO_STATUS_SUCCESS && cairo_surface_get_reference_count(nil) == 0;
	cairo_t *broken = cairo_create(NULL);
	cairo_reference(broken);
	seen += cairo_status(broken) == CAIRO_STATUS_NULL_POINTER;
	cairo_destroy(broken);
	cairo_surface_t *missing = cairo_image_surface_create_from_png("/nowhere/slate.png");
	cairo_pattern_t *of_missing = cairo_pattern_create_for_surface(missing);
	seen += cairo_pattern_status(of_missing) != CAIRO_STATUS_SUCCESS;
	cairo_surface_destroy(missing);
	cairo_pattern_destroy(of_missing);
	cairo_surface_destroy(NULL);
	return seen;
}

/* A finished surface stays an object; what was drawn from it had its own reference, by a subsurface. */
static void layers(cairo_surface_t *slate)
{
	cairo_surface_t *part = cairo_surface_create_for_rectangle(slate, 4, 4, 8, 8);
	cairo_surface_t *similar = cairo_surface_create_similar_image(part, CAIRO_FORMAT_A8, 8, 8);
	/* similar owns part, part owns slate; the variables let go of both. */
	cairo_surface_set_user_data(similar, &backing_key, part, put_surface);
	cairo_t *chalk = cairo_create(similar);
	cairo_set_source_surface(chalk, part, 0, 0);
	cairo_surface_destroy(similar);
	cairo_paint(chalk);
	similar = cairo_surface_reference(cairo_get_target(chalk));
	cairo_destroy(chalk);
	cairo_surface_set_user_data(similar, &owner_key, cairo_surface_reference(slate), put_surface);
	cairo_surface_set_user_data(similar, &owner_key, NULL, NULL);      /* replaced: the old one is put */
	cairo_surface_finish(similar);
	cairo_surface_destroy(similar);
}

static cairo_status_t draw_glyph(cairo_scaled_font_t *font, unsigned long glyph, cairo_t *chalk, cairo_text_extents_t *extents)
{
	(void)font;
	cairo_rectangle(chalk, 0, -0.5, 0.1 + (double)(glyph % 5) / 10, 0.5);
	cairo_fill(chalk);
	extents->x_advance = 0.7;
	return CAIRO_STATUS_SUCCESS;
}

/* A scaled font without references waits in a list of cairo's: the next create may take up the same one from zero. */
static int fonts(cairo_surface_t *slate)
{
	int same = 0;
	cairo_matrix_t size, unit;
	cairo_matrix_init_scale(&size, 12, 12);
	cairo_matrix_init_identity(&unit);
	cairo_font_options_t *options = cairo_font_options_create();
	cairo_font_face_t *face = cairo_toy_font_face_create("Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
	cairo_font_face_t *again = cairo_toy_font_face_create("Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
	same += face == again;                       /* by a table: one more reference */
	cairo_font_face_destroy(again);
	cairo_font_face_destroy(face);
	face = cairo_user_font_face_create();
	cairo_user_font_face_set_render_glyph_func(face, draw_glyph);
	cairo_scaled_font_t *last = NULL;
	for (int i = 0; i < 4; i++) {
		cairo_scaled_font_t *font = cairo_scaled_font_create(face, &size, &unit, options);
		same += font == last;
		last = font;                             /* compared alone */
		cairo_font_extents_t extents;
		cairo_scaled_font_extents(font, &extents);
		cairo_scaled_font_destroy(font);
	}
	cairo_t *chalk = cairo_create(slate);
	cairo_set_font_face(chalk, face);
	cairo_font_face_destroy(face);
	cairo_set_font_size(chalk, 12);
	cairo_move_to(chalk, 1, 14);
	cairo_show_text(chalk, "slate");
	cairo_scaled_font_t *font = cairo_scaled_font_reference(cairo_get_scaled_font(chalk));
	cairo_destroy(chalk);
	cairo_scaled_font_destroy(font);
	cairo_font_options_destroy(options);
	return same;
}

/* An array of surfaces that grows by realloc and is turned by memmove; the references move with the bytes. */
static int turn_stack(int many)
{
	cairo_surface_t **stack = NULL;
	int seen = 0;
	for (int i = 0; i < many; i++) {
		stack = realloc(stack, (size_t)(i + 1) * sizeof *stack);
		memmove(stack + 1, stack, (size_t)i * sizeof *stack);
		stack[0] = i % 4 == 3 ? cairo_surface_reference(stack[2]) : make_slate(8 + i);
	}
	for (int i = 0; i < many; i++) {
		seen += cairo_image_surface_get_width(stack[i]) >= 8;
		cairo_surface_destroy(stack[i]);
	}
	free(stack);
	return seen;
}

static int regions(void)
{
	cairo_rectangle_int_t square = { 0, 0, 4, 4 };
	cairo_region_t *region = cairo_region_create_rectangle(&square);
	cairo_region_t *shared = cairo_region_reference(region), *copy = cairo_region_copy(region);
	cairo_region_translate(copy, 2, 0);
	cairo_region_union(region, copy);
	cairo_region_destroy(copy);
	cairo_region_destroy(region);
	int many = cairo_region_num_rectangles(shared);
	cairo_region_destroy(shared);
	return many;
}

int main(void)
{
	cairo_surface_t *slate = make_slate(32);
	write_on(slate);
	cairo_pattern_t *pattern = draw_group(slate);
	layers(slate);
	int same = fonts(slate), seen = errors(), many = regions(), turned = turn_stack(12);
	int count = (int)cairo_surface_get_reference_count(slate);
	cairo_t *chalk = cairo_create(slate);
	cairo_surface_destroy(slate);                /* the context's is the last */
	cairo_mask(chalk, pattern);
	cairo_pattern_destroy(pattern);
	cairo_destroy(chalk);
	printf("count %d, %d destroyed, %d same fonts, %d errors, %d rectangles, %d turned\n", count, destroyed, same, seen, many, turned);
	cairo_debug_reset_static_data();
	return count != 1 || seen != 3 || turned != 12;
}
