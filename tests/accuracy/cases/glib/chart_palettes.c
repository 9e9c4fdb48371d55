/* summary: chart_set_property() puts a new palette in the place of the chart's old one without dropping the old one's reference
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "set_property with g_value_dup_object() and no unref of what was there"
 */
/*
 * Charts of a report. A chart has a palette: that of the report's theme, or
 * one of its own. Palettes can be changed until the report is drawn.
 */
#include <glib-object.h>
#include <stdio.h>

/* Palettes */
#define CHART_TYPE_PALETTE (palette_get_type())
G_DECLARE_FINAL_TYPE(Palette, palette, CHART, PALETTE, GObject)

struct _Palette {
	GObject parent;
	guint colours[6];
	guint hue;
};

G_DEFINE_TYPE(Palette, palette, G_TYPE_OBJECT)

static void palette_class_init(PaletteClass *klass)
{
	(void)klass;
}

static void palette_init(Palette *self)
{
	(void)self;
}

static Palette *palette_new(guint hue)
{
	Palette *self = g_object_new(CHART_TYPE_PALETTE, NULL);

	self->hue = hue;
	for (guint i = 0; i < G_N_ELEMENTS(self->colours); i++)
		self->colours[i] = (hue * 37 + i * 41) % 360;
	return self;
}

/* Charts */
#define CHART_TYPE_CHART (chart_get_type())
G_DECLARE_FINAL_TYPE(Chart, chart, CHART, CHART, GObject)

struct _Chart {
	GObject parent;
	char *title;
	Palette *palette;
	guint values[4];
};

enum { PROP_0, PROP_TITLE, PROP_PALETTE, N_PROPS };
static GParamSpec *props[N_PROPS];

G_DEFINE_TYPE(Chart, chart, G_TYPE_OBJECT)

static void chart_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
	Chart *self = CHART_CHART(object);

	switch (id) {
	case PROP_TITLE:
		g_value_set_string(value, self->title);
		break;
	case PROP_PALETTE:
		g_value_set_object(value, self->palette);
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

static void chart_set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
	Chart *self = CHART_CHART(object);

	switch (id) {
	case PROP_TITLE:
		g_free(self->title);
		self->title = g_value_dup_string(value);
		break;
	case PROP_PALETTE:
#ifdef BUG
		self->palette = g_value_dup_object(value);	/* GUILTY */
#else
		g_set_object(&self->palette, g_value_get_object(value));
#endif
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

static void chart_dispose(GObject *object)
{
	Chart *self = CHART_CHART(object);

	g_clear_object(&self->palette);
	G_OBJECT_CLASS(chart_parent_class)->dispose(object);
}

static void chart_finalize(GObject *object)
{
	g_free(CHART_CHART(object)->title);
	G_OBJECT_CLASS(chart_parent_class)->finalize(object);
}

static void chart_class_init(ChartClass *klass)
{
	GObjectClass *object_class = G_OBJECT_CLASS(klass);

	object_class->get_property = chart_get_property;
	object_class->set_property = chart_set_property;
	object_class->dispose = chart_dispose;
	object_class->finalize = chart_finalize;
	props[PROP_TITLE] = g_param_spec_string("title", NULL, NULL, NULL,
						G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
	props[PROP_PALETTE] = g_param_spec_object("palette", NULL, NULL, CHART_TYPE_PALETTE,
						  G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
	g_object_class_install_properties(object_class, N_PROPS, props);
}

static void chart_init(Chart *self)
{
	for (guint i = 0; i < G_N_ELEMENTS(self->values); i++)
		self->values[i] = 10 + i;
}

/* The report */
#define CHARTS 30

static GPtrArray *report_new(Palette *theme)
{
	GPtrArray *charts = g_ptr_array_new_with_free_func(g_object_unref);

	for (guint i = 0; i < CHARTS; i++) {
		g_autofree char *title = g_strdup_printf("figure %u", i + 1);
		g_autoptr(Palette) own = i % 3 == 1 ? palette_new(i) : NULL;

		g_ptr_array_add(charts, g_object_new(CHART_TYPE_CHART, "title", title, "palette",
						     own ? own : theme, NULL));
	}
	return charts;
}

/* Someone does not like the colours of some figures. */
static void report_recolour(GPtrArray *charts, guint from, guint to)
{
	for (guint i = from; i < to; i++) {
		Palette *old, *p;

		g_object_get(charts->pdata[i], "palette", &old, NULL);
		if (old->hue >= 16 && i % 3 == 1) {
			p = palette_new(old->hue + 100);
			g_object_set(charts->pdata[i], "palette", p, NULL);
			g_object_unref(p);
		}
		g_object_unref(old);
	}
}

static guint report_draw(GPtrArray *charts)
{
	g_autoptr(GHashTable) used = g_hash_table_new_full(NULL, NULL, g_object_unref, NULL);
	guint sum = 0;

	for (guint i = 0; i < charts->len; i++) {
		Chart *c = charts->pdata[i];

		for (guint v = 0; v < G_N_ELEMENTS(c->values); v++)
			sum += c->values[v] * c->palette->colours[v];
		g_hash_table_add(used, g_object_ref(c->palette));
	}
	printf("%u palettes in use\n", g_hash_table_size(used));
	return sum;
}

int main(void)
{
	g_autoptr(Palette) theme = palette_new(1);
	g_autoptr(GPtrArray) charts = report_new(theme);

	printf("drawn: %u\n", report_draw(charts));
	report_recolour(charts, 10, 26);
	printf("drawn: %u\n", report_draw(charts));
	g_ptr_array_set_size(charts, 12);
	printf("short version: %u\n", report_draw(charts));
	return 0;
}
