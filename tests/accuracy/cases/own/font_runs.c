/* summary: on_tag() gives the layout's style a new font for <code> without releasing the font that the style had
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: auto
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "owned member assigned without a release, in one of several branches"
 */
/*
 * Text with tags is laid out in runs of one font. Fonts are loaded once and are
 * in the font list as long as somebody uses them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct font {
	struct font *next;
	char name[16];
	int size;
	int refs;
	int widths[26];
};

static struct font *font_list;	/* does not own */
static unsigned fonts_loaded, fonts_freed;

static struct font *font_retain(struct font *f)
{
	f->refs++;
	return f;
}

static void font_release(struct font *f)
{
	if (!f || --f->refs > 0)
		return;
	for (struct font **p = &font_list; *p; p = &(*p)->next) {
		if (*p == f) {
			*p = f->next;
			break;
		}
	}
	fonts_freed++;
	free(f);
}

static struct font *font_open(const char *name, int size)
{
	struct font *f;

	for (f = font_list; f; f = f->next)
		if (f->size == size && !strcmp(f->name, name))
			return font_retain(f);
	f = calloc(1, sizeof *f);
	if (!f)
		abort();
	snprintf(f->name, sizeof f->name, "%s", name);
	f->size = size;
	f->refs = 1;
	for (int i = 0; i < 26; i++)
		f->widths[i] = (size * (5 + (i + name[0]) % 4)) / 8;
	f->next = font_list;
	font_list = f;
	fonts_loaded++;
	return f;
}

/* Runs */
struct run {
	struct run *next;
	struct font *font;
	const char *text;
	int length, width;
};

#define DEEP 8

struct layout {
	struct font *base;		/* the paragraph's */
	struct font *style;		/* that of the next run */
	struct font *stack[DEEP];	/* the styles outside of this one */
	int depth;
	struct run *first, **end;
	unsigned runs;
};

static void layout_init(struct layout *l, const char *name, int size)
{
	memset(l, 0, sizeof *l);
	l->base = font_open(name, size);
	l->style = font_retain(l->base);
	l->end = &l->first;
}

static void layout_add(struct layout *l, const char *text, int length)
{
	struct run *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	r->font = font_retain(l->style);
	r->text = text;
	r->length = length;
	for (int i = 0; i < length; i++)
		if (text[i] >= 'a' && text[i] <= 'z')
			r->width += r->font->widths[text[i] - 'a'];
	*l->end = r;
	l->end = &r->next;
	l->runs++;
}

static void push_style(struct layout *l)
{
	if (l->depth == DEEP)
		abort();
	l->stack[l->depth++] = font_retain(l->style);
}

static void pop_style(struct layout *l)
{
	if (!l->depth)
		return;
	font_release(l->style);
	l->style = l->stack[--l->depth];
}

static void on_tag(struct layout *l, char tag)
{
	struct font *old = l->style;

	switch (tag) {
	case 'b':	/* big */
		push_style(l);
		l->style = font_open(old->name, old->size + 4);
		font_release(old);
		break;
	case 's':	/* small */
		push_style(l);
		l->style = font_open(old->name, old->size - 2);
		font_release(old);
		break;
	case 'c':	/* code */
		push_style(l);
		l->style = font_open("mono", old->size);	/* GUILTY */
#ifndef BUG
		font_release(old);
#endif
		break;
	case '/':
		pop_style(l);
		break;
	}
}

static void layout_text(struct layout *l, const char *text)
{
	const char *p = text;

	while (*p) {
		if (*p == '<') {
			on_tag(l, p[1]);
			p += 3;
		} else {
			int n = (int)strcspn(p, "<");

			layout_add(l, p, n);
			p += n;
		}
	}
}

static int layout_finish(struct layout *l)
{
	struct run *r;
	int width = 0;

	while ((r = l->first)) {
		l->first = r->next;
		width += r->width;
		font_release(r->font);
		free(r);
	}
	while (l->depth)
		pop_style(l);
	font_release(l->style);
	font_release(l->base);
	return width;
}

int main(void)
{
	static const char *const names[] = { "times", "arial", "lucida" };
	struct layout l;
	struct font *kept = font_open("times", 10);
	int width = 0;
	unsigned runs = 0;

	for (int i = 0; i < 24; i++) {
		layout_init(&l, names[i % 3], 9 + i);
		layout_text(&l, "some <b>larger</> and <s>smaller <s>text</></>");
		if (i == 4 || i == 12 || i == 20)
			layout_text(&l, i == 12 ? "<c>unclosed" : "see <c>printf</> again");
		if (i % 7 == 6)
			layout_text(&l, "<b>never closed");
		runs += l.runs;
		width += layout_finish(&l);
	}
	printf("%u runs, %d wide, %u fonts loaded\n", runs, width, fonts_loaded);
	printf("%s %d is kept, %s\n", kept->name, kept->size, kept->refs ? "in use" : "not in use");
	font_release(kept);
	return 0;
}
