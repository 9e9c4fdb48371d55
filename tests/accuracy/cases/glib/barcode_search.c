/* summary: catalog_find answers with the catalogue's own array of all articles when the pattern is empty, without the reference that its callers give back
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: auto
 * packages: glib-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * The search box of a till: every key that is pressed narrows the articles
 * down, the display keeps the result that it shows.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

typedef struct _Article Article;
typedef struct _Catalog Catalog;
typedef struct _Display Display;

struct _Article
{
	gchar    barcode[14];
	gchar   *title;
	guint    cents;
};

struct _Catalog
{
	GPtrArray  *articles;      /* owned, it owns the articles */
	GPtrArray  *last;          /* owned, the last result; may be NULL */
	gchar      *last_pattern;
	guint       reused;
};

struct _Display
{
	GPtrArray  *shown;         /* owned; may be NULL */
	guint       redraws;
	guint64     sum;
};

static void
article_free (gpointer data)
{
	Article *article = data;

	g_free (article->title);
	g_free (article);
}

static Catalog *
catalog_new (void)
{
	static const gchar *const kind[] = { "tea", "coffee", "milk", "bread", "butter", "salt" };
	Catalog *self = g_new0 (Catalog, 1);
	guint i;

	self->articles = g_ptr_array_new_with_free_func (article_free);
	for (i = 0; i < 60; i++)
	{
		Article *a = g_new0 (Article, 1);

		g_snprintf (a->barcode, sizeof a->barcode, "40%05u%03u", i * 7919 % 100000, i);
		a->title = g_strdup_printf ("%s %ug", kind[i % G_N_ELEMENTS (kind)], 50 * (1 + i / 6));
		a->cents = 99 + 10 * i;
		g_ptr_array_add (self->articles, a);
	}
	return self;
}

static void
catalog_free (Catalog *self)
{
	g_clear_pointer (&self->last, g_ptr_array_unref);
	g_ptr_array_unref (self->articles);
	g_free (self->last_pattern);
	g_free (self);
}

static gboolean
article_matches (const Article *article, const gchar *pattern)
{
	if (g_ascii_isdigit (pattern[0]))
		return g_str_has_prefix (article->barcode, pattern);
	return strstr (article->title, pattern) != NULL;
}

/**
 * catalog_find:
 *
 * Returns: (transfer full) (element-type Article): what matches @pattern
 */
static GPtrArray *
catalog_find (Catalog *self, const gchar *pattern)
{
	GPtrArray *found;
	guint i;

	if (pattern[0] == '\0')
	{
#ifdef BUG
		return self->articles;                  /* GUILTY */
#else
		return g_ptr_array_ref (self->articles);
#endif
	}

	if (self->last && g_strcmp0 (self->last_pattern, pattern) == 0)
	{
		self->reused++;
		return g_ptr_array_ref (self->last);
	}

	found = g_ptr_array_new ();
	for (i = 0; i < self->articles->len; i++)
	{
		Article *article = g_ptr_array_index (self->articles, i);

		if (article_matches (article, pattern))
			g_ptr_array_add (found, article);
	}

	g_clear_pointer (&self->last, g_ptr_array_unref);
	self->last = g_ptr_array_ref (found);
	g_free (self->last_pattern);
	self->last_pattern = g_strdup (pattern);

	return found;
}

static void
display_show (Display *self, GPtrArray *result)
{
	if (self->shown == result)
		return;
	g_ptr_array_ref (result);
	if (self->shown)
		g_ptr_array_unref (self->shown);
	self->shown = result;
	self->redraws++;
	self->sum = self->sum * 31 + result->len;
}

static void
display_clear (Display *self)
{
	g_clear_pointer (&self->shown, g_ptr_array_unref);
}

static void
key_pressed (Catalog *catalog, Display *display, GString *typed, gchar key)
{
	GPtrArray *result;

	if (key == '<')
		g_string_truncate (typed, typed->len ? typed->len - 1 : 0);
	else if (key == '\n')
		display_clear (display);
	else
		g_string_append_c (typed, key);
	if (key == '\n')
	{
		g_string_truncate (typed, 0);
		return;
	}

	result = catalog_find (catalog, typed->str);
	display_show (display, result);
	g_ptr_array_unref (result);                     /* ACCEPTED */
}

int
main (void)
{
	static const gchar keys[] = "tea 1\ncoff\n40\nbut<<read\nmilk<lk 2\n0\n4007\nsalt\n";
	Catalog *catalog = catalog_new ();
	Display display = { NULL, 0, 0 };
	GString *typed = g_string_new (NULL);
	const gchar *k;

	for (k = keys; *k; k++)
		key_pressed (catalog, &display, typed, *k);

	/* the customer takes it all back: the whole catalogue is shown */
	g_string_assign (typed, "x");
	key_pressed (catalog, &display, typed, '<');

	printf ("%u redraws, %u reused, sum %" G_GUINT64_FORMAT "\n", display.redraws, catalog->reused, display.sum);
	display_clear (&display);
	catalog_free (catalog);
	g_string_free (typed, TRUE);
	return 0;
}
