/* summary: widget_set_brush() stores the new brush over the old one without giving the old one back; the other setters do
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: own
 * build: gcc -O3 -g
 * exit: 0
 * source: bug class "setter forgets to release the previous value"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum res_kind { R_FONT, R_ICON, R_BRUSH, R_NKINDS };

#define NWIDGETS 12
#define NTHEME 18

/* Something that is drawn with and shared by widgets. */
struct resource {
  unsigned refcount;
  enum res_kind kind;
  unsigned value;
  char name[20];
};

struct widget {
  struct resource *font;
  struct resource *icon;
  struct resource *brush;
  unsigned dirty;
};

static struct resource *theme[NTHEME]; /* stays filled to the end */
static unsigned live;

static inline struct resource *resource_new(enum res_kind kind, const char *name, unsigned value) {
  struct resource *r = malloc(sizeof *r);
  if (!r)
    abort();
  r->refcount = 1;
  r->kind = kind;
  r->value = value;
  snprintf(r->name, sizeof r->name, "%s", name);
  live++;
  return r;
}

static inline struct resource *resource_ref(struct resource *r) {
  r->refcount++;
  return r;
}

static inline void resource_unref(struct resource *r) {
  if (--r->refcount)
    return;
  live--;
  free(r);
}

static struct resource *theme_find(enum res_kind kind, unsigned n) {
  for (unsigned i = 0; i < NTHEME; i++)
    if (theme[i]->kind == kind && n-- == 0)
      return theme[i]; /* borrowed */
  return NULL;
}

static void widget_set_font(struct widget *w, struct resource *font) {
  if (w->font == font)
    return;
  if (w->font)
    resource_unref(w->font);
  w->font = font ? resource_ref(font) : NULL;
  w->dirty++;
}

static void widget_set_icon(struct widget *w, struct resource *icon) {
  struct resource *old = w->icon;
  w->icon = icon ? resource_ref(icon) : NULL;
  w->dirty++;
  if (old)
    resource_unref(old);
}

static void widget_set_brush(struct widget *w, struct resource *brush) {
  if (w->brush == brush)
    return;
#ifndef BUG
  if (w->brush)
    resource_unref(w->brush);
#endif
  w->brush = brush ? resource_ref(brush) : NULL; /* GUILTY */
  w->dirty++;
}

/* Takes over the caller's reference. */
static void widget_take_icon(struct widget *w, struct resource *icon) {
  if (w->icon)
    resource_unref(w->icon);
  w->icon = icon;
  w->dirty++;
}

static void widget_copy_style(struct widget *to, const struct widget *from) {
  widget_set_font(to, from->font);
  widget_set_icon(to, from->icon);
}

static void widget_clear(struct widget *w) {
  if (w->font)
    resource_unref(w->font);
  if (w->icon)
    resource_unref(w->icon);
  if (w->brush)
    resource_unref(w->brush);
  memset(w, 0, sizeof *w);
}

static unsigned draw(const struct widget *w, unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; i++)
    sum = sum * 31 + w[i].font->value + (w[i].icon ? w[i].icon->value : 7) + (w[i].brush ? w[i].brush->value : 3);
  return sum;
}

/* A brush for one widget only: the widget keeps the one reference that is left. */
static void custom_brush(struct widget *w, unsigned colour) {
  char name[20];
  snprintf(name, sizeof name, "#%06x", colour & 0xffffff);
  struct resource *b = resource_new(R_BRUSH, name, colour);
  widget_set_brush(w, b);
  resource_unref(b);
}

int main(void) {
  static struct widget w[NWIDGETS];
  static const char *const kinds[] = {"font", "icon", "brush"};
  char name[20];
  unsigned sum = 0;

  for (unsigned i = 0; i < NTHEME; i++) {
    snprintf(name, sizeof name, "%s-%u", kinds[i % R_NKINDS], i / R_NKINDS);
    theme[i] = resource_new((enum res_kind)(i % R_NKINDS), name, i * 17 + 1);
  }
  for (unsigned i = 0; i < NWIDGETS; i++) {
    widget_set_font(&w[i], theme_find(R_FONT, i % 6));
    widget_set_icon(&w[i], theme_find(R_ICON, i % 5));
    if (i % 3)
      widget_set_brush(&w[i], theme_find(R_BRUSH, i % 4));
    else
      custom_brush(&w[i], 0x102030 * (i + 1)); /* the first brush: nothing there to give back */
  }
  sum += draw(w, NWIDGETS);
  for (unsigned i = 0; i < NWIDGETS; i++) {
    snprintf(name, sizeof name, "badge-%u", i);
    if (i % 4 == 1)
      widget_take_icon(&w[i], resource_new(R_ICON, name, 900 + i));
    else
      widget_set_font(&w[i], theme_find(R_FONT, (i + 1) % 6));
  }
  widget_copy_style(&w[2], &w[1]);
  widget_copy_style(&w[7], &w[5]);
  sum += draw(w, NWIDGETS);
  for (unsigned i = 0; i < NWIDGETS; i++) {
    if (i == 3 || i == 9)
      widget_set_brush(&w[i], NULL);
    if (i == 0)
      custom_brush(&w[i], 0xff0000);
    if (i == 4)
      widget_set_brush(&w[i], theme_find(R_BRUSH, 5));
  }
  widget_set_icon(&w[1], NULL);
  sum += draw(w, NWIDGETS);
  for (unsigned i = 0; i < NWIDGETS; i++)
    widget_clear(&w[i]);
  printf("drawn %u\n", sum);
#ifdef TRUTH
  unsigned high = 0;
  for (unsigned i = 0; i < NTHEME; i++)
    high += theme[i]->refcount != 1;
  printf("resources alive: %u of them in the theme: %d, theme counts too high: %u\n", live, NTHEME, high);
#endif
  return 0;
}
