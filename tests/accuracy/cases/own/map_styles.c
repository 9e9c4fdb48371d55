/* summary: layer_clone() copies a label's record with its pointer to the style, and takes no reference for the copy
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: auto
 * build: gcc -O0 -g
 * exit: 0
 * source: bug class "structure copied by assignment, the counted pointer in it not referenced"
 */
/*
 * Draws a map: layers with shapes and labels, which share styles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct style {
	char name[24];
	int refs;
	unsigned rgb;
	int width;
};

struct shape {
	struct style *style;	/* counted */
	int n;
	int x[6], y[6];
};

struct label {
	struct style *style;	/* counted, or NULL */
	char text[20];
	int x, y;
};

struct layer {
	char name[16];
	struct shape *shapes;
	int n_shapes;
	struct label *labels;
	int n_labels;
};

static struct style *style_new(const char *name, unsigned rgb, int width)
{
	struct style *st = calloc(1, sizeof *st);

	if (!st)
		abort();
	snprintf(st->name, sizeof st->name, "%s", name);
	st->rgb = rgb;
	st->width = width;
	st->refs = 1;
	return st;
}

static struct style *style_ref(struct style *st)
{
	st->refs++;
	return st;
}

static void style_unref(struct style *st)
{
	if (!st)
		return;
	if (st->refs <= 0) {
		fprintf(stderr, "style_unref: not in use\n");
		return;
	}
	if (--st->refs == 0)
		free(st);
}

/* A style of its own for one thing, made from a shared one. */
static struct style *style_variant(const struct style *base, const char *suffix, unsigned rgb)
{
	char name[24];

	snprintf(name, sizeof name, "%.12s-%.8s", base->name, suffix);
	return style_new(name, rgb, base->width + 1);
}

static struct layer *layer_new(const char *name)
{
	struct layer *l = calloc(1, sizeof *l);

	if (!l)
		abort();
	snprintf(l->name, sizeof l->name, "%s", name);
	return l;
}

static void *grow(void *array, int n, size_t size)
{
	void *p = realloc(array, ((size_t)n + 1) * size);

	if (!p)
		abort();
	return p;
}

static void layer_add_shape(struct layer *l, struct style *st, int n, int seed)
{
	struct shape *s;

	l->shapes = grow(l->shapes, l->n_shapes, sizeof *l->shapes);
	s = &l->shapes[l->n_shapes++];
	memset(s, 0, sizeof *s);
	s->style = style_ref(st);
	s->n = n;
	for (int i = 0; i < n; i++) {
		s->x[i] = (seed * 31 + i * 17) % 200;
		s->y[i] = (seed * 13 + i * 29) % 100;
	}
}

static void layer_add_label(struct layer *l, struct style *st, const char *text, int x, int y)
{
	struct label *b;

	l->labels = grow(l->labels, l->n_labels, sizeof *l->labels);
	b = &l->labels[l->n_labels++];
	b->style = st ? style_ref(st) : NULL;
	snprintf(b->text, sizeof b->text, "%s", text);
	b->x = x;
	b->y = y;
}

static void layer_free(struct layer *l)
{
	for (int i = 0; i < l->n_shapes; i++)
		style_unref(l->shapes[i].style);
	for (int i = 0; i < l->n_labels; i++)
		style_unref(l->labels[i].style);
	free(l->shapes);
	free(l->labels);
	free(l);
}

/* A moved copy, for the inset. */
static struct layer *layer_clone(const struct layer *src, int dx, int dy)
{
	struct layer *l = layer_new(src->name);

	for (int i = 0; i < src->n_shapes; i++) {
		struct shape *s;

		l->shapes = grow(l->shapes, l->n_shapes, sizeof *l->shapes);
		s = &l->shapes[l->n_shapes++];
		*s = src->shapes[i];
		style_ref(s->style);
		for (int k = 0; k < s->n; k++) {
			s->x[k] += dx;
			s->y[k] += dy;
		}
	}
	for (int i = 0; i < src->n_labels; i++) {
		struct label *b;

		l->labels = grow(l->labels, l->n_labels, sizeof *l->labels);
		b = &l->labels[l->n_labels++];
		*b = src->labels[i];	/* GUILTY */
#ifndef BUG
		if (b->style)
			style_ref(b->style);
#endif
		b->x += dx;	/* ACCEPTED */
		b->y += dy;
	}
	return l;
}

/* Selected shapes get a colour of their own. */
static void layer_highlight(struct layer *l, int every, unsigned rgb)
{
	for (int i = 0; i < l->n_shapes; i += every) {
		struct style *old = l->shapes[i].style;

		l->shapes[i].style = style_variant(old, "hi", rgb);
		style_unref(old);
	}
}

static unsigned long layer_draw(const struct layer *l)
{
	unsigned long sum = 0;

	for (int i = 0; i < l->n_shapes; i++) {
		const struct shape *s = &l->shapes[i];

		for (int k = 0; k < s->n; k++)
			sum += (unsigned long)(s->x[k] * s->y[k]) % 97 * (unsigned)s->style->width;
		sum += s->style->rgb & 0xff;
	}
	for (int i = 0; i < l->n_labels; i++) {
		const struct label *b = &l->labels[i];

		sum += strlen(b->text) * (b->style ? (b->style->rgb >> 16) + 1 : 1);
	}
	return sum;
}

static struct layer *make_towns(int n)
{
	struct layer *l = layer_new("towns");
	struct style *area = style_new("built-up", 0x806040, 1);
	struct style *city = style_new("city name", 0xff0000, 3);
	struct style *town = style_new("town name", 0x400000, 2);

	for (int i = 0; i < n; i++) {
		char text[20];

		layer_add_shape(l, area, 4 + i % 3, i);
		snprintf(text, sizeof text, "Place %d", i);
		layer_add_label(l, i % 5 == 0 ? city : i % 3 == 0 ? NULL : town, text, i * 7, i * 3);
	}
	layer_add_label(l, city, "Capital", 100, 50);
	style_unref(area);
	style_unref(city);
	style_unref(town);
	return l;
}

static struct layer *make_roads(int n)
{
	struct layer *l = layer_new("roads");
	char name[24];

	for (int i = 0; i < n; i++) {
		struct style *st;

		snprintf(name, sizeof name, "road %d", i);
		st = style_new(name, 0x202020u * (unsigned)(i % 7), 1 + i % 4);
		layer_add_shape(l, st, 6, i);
		layer_add_shape(l, st, 3, i + 50);
		style_unref(st);
	}
	return l;
}

int main(void)
{
	struct layer *towns = make_towns(8), *roads = make_roads(30);
	struct layer *rivers = layer_new("rivers"), *inset[3];
	struct style *water = style_new("water", 0x0000ff, 4), *blue = style_new("river name", 0x2020f0, 1);
	struct style *sea = style_variant(blue, "sea", 0x300080);

	for (int i = 0; i < 12; i++)
		layer_add_shape(rivers, water, 5, i * 3);
	layer_add_label(rivers, blue, "Long River", 10, 10);
	layer_add_label(rivers, sea, "Sea", 150, 90);
	style_unref(water);
	style_unref(blue);
	style_unref(sea);
	layer_highlight(roads, 8, 0xffff00);

	inset[0] = layer_clone(towns, 300, 0);
	inset[1] = layer_clone(roads, 300, 0);
	inset[2] = layer_clone(rivers, 300, 0);
	layer_highlight(inset[1], 5, 0x00ffff);
	printf("map: %lu %lu %lu\n", layer_draw(towns), layer_draw(roads), layer_draw(rivers));
	printf("inset: %lu %lu %lu\n", layer_draw(inset[0]), layer_draw(inset[1]), layer_draw(inset[2]));

	for (int i = 0; i < 3; i++)
		layer_free(inset[i]);
	layer_free(roads);
	layer_free(rivers);
	layer_free(towns);
	return 0;
}
