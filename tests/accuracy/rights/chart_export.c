/* summary: json-c objects that own cairo surfaces through user data and delete functions surfaces that own their JSON source through cairo's user data, mime data that keeps an encoder's buffer, sub-surfaces and patterns as the last owners, groups, cairo's nil objects, and a cached shape table that is left at exit
 * track: json-c cairo
 * build: gcc -O0 -g -Wall chart_export.c -o OUT $(pkg-config --cflags --libs json-c cairo) -lm
 */
/*
 * chart_export - draws bar charts that are described in JSON.
 */
#include <cairo.h>
#include <json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char description[] =
	"{ \"style\": { \"color\": [0.2, 0.4, 0.9], \"gap\": 2 },"
	"  \"charts\": ["
	"    { \"name\": \"rain\", \"values\": [3, 8, 5, 1] },"
	"    { \"name\": \"sun\", \"values\": [9, 2, 7, 7, 4], \"style\": { \"color\": [0.9, 0.8, 0.1] } },"
	"    { \"name\": \"wind\", \"values\": [], \"style\": null },"
	"    { \"name\": \"snow\", \"values\": [1, 1, 2, 3, 5, 8] } ] }";

static cairo_user_data_key_t source_key;
static int surfaces_dropped, sources_dropped, encoders_dropped;

/* ---- references that lie in the other library ----------------------------- */

static void drop_surface(struct json_object *object, void *surface)
{
	surfaces_dropped++;
	cairo_surface_destroy(surface);
}

static void drop_source(void *object)
{
	sources_dropped++;
	json_object_put(object);
}

static void drop_encoder(void *text)
{
	encoders_dropped++;
	free(text);
}

/* The value owns the surface from now on. */
static void cache_surface(struct json_object *value, cairo_surface_t *surface)
{
	json_object_set_userdata(value, surface, drop_surface);
}

static cairo_surface_t *cached_surface(struct json_object *value)
{
	return json_object_get_userdata(value);
}

/* ---- shapes: left at exit ---------------------------------------------------- */

static struct { int width, height; cairo_surface_t *surface; } shapes[12];

/* Borrowed from the table. */
static cairo_surface_t *shape(int width, int height)
{
	int i = (width * 7 + height) % 12;

	if (!shapes[i].surface || shapes[i].width != width || shapes[i].height != height) {
		cairo_surface_destroy(shapes[i].surface);       /* NULL is nothing */
		shapes[i].width = width;
		shapes[i].height = height;
		shapes[i].surface = cairo_image_surface_create(CAIRO_FORMAT_A8, width, height);
		cairo_t *cr = cairo_create(shapes[i].surface);
		cairo_rectangle(cr, 0, 0, width, height - 0.5);
		cairo_fill(cr);
		cairo_destroy(cr);
	}
	return shapes[i].surface;
}

/* ---- drawing ------------------------------------------------------------------ */

/* A reference to the style: the chart's own one, completed by the common one. */
static struct json_object *style_of(struct json_object *chart, struct json_object *common)
{
	struct json_object *own;

	if (!json_object_object_get_ex(chart, "style", &own) || !own)
		return json_object_get(common);
	json_object_object_foreach(common, key, value)
		if (!json_object_object_get_ex(own, key, NULL))
			json_object_object_add(own, key, json_object_get(value));       /* shared by both */
	return json_object_get(own);
}

static cairo_pattern_t *paint_of(struct json_object *style, int height)
{
	struct json_object *color = json_object_object_get(style, "color");
	double c[3];

	for (int i = 0; i < 3; i++)
		c[i] = json_object_get_double(json_object_array_get_idx(color, i));
	cairo_pattern_t *paint = cairo_pattern_create_linear(0, 0, 0, height);
	cairo_pattern_add_color_stop_rgb(paint, 0, c[0], c[1], c[2]);
	cairo_pattern_add_color_stop_rgb(paint, 1, c[0] / 2, c[1] / 2, c[2] / 2);
	return paint;
}

static cairo_surface_t *draw(struct json_object *chart, struct json_object *common)
{
	struct json_object *values = json_object_object_get(chart, "values");
	struct json_object *style = style_of(chart, common);
	size_t n = json_object_array_length(values);
	int gap = json_object_get_int(json_object_object_get(style, "gap"));
	int width = 10 + gap;

	/* Without values: cairo's nil surface, on which all may be called. */
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, n ? (int)n * width : -1, 100);
	cairo_t *cr = cairo_create(surface);
	cairo_pattern_t *paint = paint_of(style, 100);

	cairo_set_source(cr, paint);
	cairo_pattern_destroy(paint);           /* the context has it */
	for (size_t i = 0; i < n; i++) {
		int height = json_object_get_int(json_object_array_get_idx(values, i)) * 10;
		cairo_mask_surface(cr, shape(10, height + 1), (double)i * width, 100 - height);
	}
	cairo_push_group(cr);
	cairo_set_source_rgb(cr, 0, 0, 0);
	cairo_rectangle(cr, 0, 99, (double)n * width, 1);
	cairo_fill(cr);
	if (n % 2) {
		cairo_pop_group_to_source(cr);
	} else {
		cairo_pattern_t *axis = cairo_pop_group(cr);
		cairo_set_source(cr, axis);
		cairo_pattern_destroy(axis);
	}
	cairo_paint_with_alpha(cr, 0.5);
	cairo_destroy(cr);

	char *text = strdup(json_object_to_json_string(values));
	if (cairo_surface_set_mime_data(surface, "application/json", (unsigned char *)text, strlen(text), drop_encoder, text))
		drop_encoder(text);             /* it was not taken */
	json_object_get(style);
	if (cairo_surface_set_user_data(surface, &source_key, style, drop_source))
		drop_source(style);
	json_object_put(style);
	return surface;
}

/* Left and right half of a surface, as patterns; the surface itself goes. */
static void halve(cairo_surface_t *surface, cairo_pattern_t *halves[2])
{
	int width = cairo_image_surface_get_width(surface) / 2;

	for (int i = 0; i < 2; i++) {
		cairo_surface_t *half = cairo_surface_create_for_rectangle(surface, i * width, 0, width, 100);
		halves[i] = cairo_pattern_create_for_surface(half);
		cairo_surface_destroy(half);
	}
	cairo_surface_destroy(surface);
}

static unsigned long add_up(cairo_pattern_t *half)
{
	cairo_surface_t *from, *to = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 40, 100);
	cairo_t *cr = cairo_create(to);
	unsigned long sum = 0;

	cairo_set_source(cr, half);
	cairo_paint(cr);
	cairo_destroy(cr);
	if (cairo_pattern_get_surface(half, &from) == CAIRO_STATUS_SUCCESS && cairo_surface_status(from))
		sum++;                          /* borrowed */
	cairo_surface_flush(to);
	const unsigned char *data = cairo_image_surface_get_data(to);
	for (int i = 0; i < 40 * 4 * 100; i++)
		sum += data[i];
	cairo_surface_destroy(to);
	return sum;
}

int main(void)
{
	struct json_object *all = json_tokener_parse(description), *recent = json_object_new_array();
	struct json_object *common, *charts;
	unsigned long sum = 0;
	int hits = 0, made = 0;

	if (!all)
		return 2;
	json_object_object_get_ex(all, "style", &common);
	json_object_object_get_ex(all, "charts", &charts);
	for (int round = 0; round < 6; round++) {
		for (size_t i = 0; i < json_object_array_length(charts); i++) {
			struct json_object *chart = json_object_array_get_idx(charts, i);
			cairo_surface_t *surface = cached_surface(chart);
			cairo_pattern_t *halves[2];

			if (surface) {
				hits++;
			} else {
				surface = draw(chart, common);
				cache_surface(chart, surface);          /* moved */
				made++;
			}
			halve(cairo_surface_reference(surface), halves);
			if ((round + i) % 3 == 0)       /* the halves stay good without the cache */
				json_object_set_userdata(chart, NULL, NULL);
			sum += add_up(halves[0]) + 3 * add_up(halves[1]);
			cairo_pattern_destroy(halves[1]);
			cairo_pattern_destroy(halves[0]);
			json_object_array_put_idx(recent, (round + i) % 3, json_object_get(chart));
		}
		if (round == 3) {               /* out of the array: what is in `recent' stays */
			struct json_object *copy = NULL, *first = json_object_array_get_idx(charts, 0);
			json_object_set_userdata(first, NULL, NULL);    /* cannot be copied */
			json_object_deep_copy(first, &copy, NULL);
			json_object_array_del_idx(charts, 1, 1);
			json_object_array_add(charts, copy);
		}
	}
	json_object_put(all);
	printf("%d made, %d hits, sum %lu, %zu recent\n", made, hits, sum, json_object_array_length(recent));
	json_object_put(recent);
	printf("dropped: %d surfaces, %d sources, %d encoders\n", surfaces_dropped, sources_dropped, encoders_dropped);
	return surfaces_dropped != made || sources_dropped != made || encoders_dropped != made;
}
