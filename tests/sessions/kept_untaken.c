// A pointer to an object is kept without a reference, in one place of several; the first argument says of
// which kind. Each kind has objects of its own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL __attribute__((noinline))
#define COUNT 24
#define COUNTED(type)                                  \
  struct type {                                        \
    long refs;                                         \
    int width;                                         \
  };                                                   \
  CALL struct type *type##_new(int width) {            \
    struct type *made = malloc(sizeof *made);          \
    made->refs = 1;                                    \
    made->width = width;                               \
    return made;                                       \
  }                                                    \
  CALL struct type *type##_get(struct type *counted) { \
    counted->refs++;                                   \
    return counted;                                    \
  }                                                    \
  CALL int type##_put(struct type *counted) {          \
    if (--counted->refs != 0) return 0;                \
    free(counted);                                     \
    return 1;                                          \
  }

COUNTED(icon)
COUNTED(font)
COUNTED(shape)
COUNTED(page)
COUNTED(lamp)

static const char *way = "";

static int is_way(const char *name, int i) { return i % 6 == 4 && strcmp(way, name) == 0; }

struct button {
  int number;
  struct icon *icon;
};

CALL struct button *button_new(struct icon *icon, int number) {
  struct button *button = calloc(1, sizeof *button);
  button->number = number;
  button->icon = icon_get(icon);
  return button;
}

CALL struct button *button_copy(const struct button *from, int number) {
  struct button *button = calloc(1, sizeof *button);
  if (is_way("stored", from->number)) {
    button->icon = from->icon;  // stored
    button->number = -number;
    return button;
  }
  button->number = number;
  button->icon = icon_get(from->icon);
  return button;
}

/* The icon of the other one goes with it: nothing is wrong with that. */
CALL struct button *button_take(struct button *from) {
  struct button *button = calloc(1, sizeof *button);
  button->number = from->number;
  button->icon = from->icon;
  from->icon = NULL;
  return button;
}

CALL int button_free(struct button *button) {
  const int last = button->icon ? icon_put(button->icon) : 0;
  free(button);
  return last;
}

static int buttons(void) {
  int sum = 0;
  for (int i = 0; i < COUNT; i++) {
    struct icon *icon = icon_new(i);
    struct button *first = button_new(icon, i);
    struct button *copy = button_copy(first, i + COUNT);
    struct button *taken = button_take(copy);
    sum += button_free(copy) + button_free(taken) + button_free(first) + icon_put(icon);
  }
  return sum;
}

struct menu {
  int used;
  struct font *entries[2 * COUNT];
};

CALL void menu_add(struct menu *to, struct font *font) { to->entries[to->used++] = font; }

CALL void add_wider(struct menu *to, struct font *a, struct font *b) {
  struct font *wider;
  if (is_way("picked", a->width)) {
    wider = a;
  } else if (a->width < b->width) {
    wider = font_get(b);
  } else {
    wider = font_get(a);
  }
  menu_add(to, wider);  // picked
}

CALL int menu_clear(struct menu *all) {
  int last = 0;
  while (all->used > 0) last += font_put(all->entries[--all->used]);
  return last;
}

static int menus(void) {
  struct font *fonts[COUNT];
  struct menu menu = {0, {NULL}};
  int sum = 0;
  for (int i = 0; i < COUNT; i++) fonts[i] = font_new(i);
  for (int i = 1; i < COUNT; i++) add_wider(&menu, fonts[i], fonts[i % 3]);
  sum += menu_clear(&menu);
  for (int i = 0; i < COUNT; i++) sum += font_put(fonts[i]);
  return sum;
}

static struct shape *known[COUNT];

CALL struct shape *find(int i) {
  if (i < 0 || i >= COUNT || known[i] == NULL) return NULL;
  if (is_way("returned", i)) return known[i];  // returned
  return shape_get(known[i]);
}

CALL int width_of(int i) {
  struct shape *shape = find(i);
  const int width = shape == NULL ? 0 : shape->width;
  if (shape != NULL) shape_put(shape);
  return width;
}

static int shapes(void) {
  int sum = 0;
  for (int i = 0; i < COUNT; i++) known[i] = shape_new(i);
  for (int i = 0; i <= COUNT; i++) sum += width_of(i);
  for (int i = 0; i < COUNT; i++) sum += shape_put(known[i]);
  return sum;
}

struct cursor {
  struct page *page;
  long low;
  long high;
  int number;
};

CALL struct cursor *cursor_open(struct page *page, int number) {
  struct cursor *cursor = calloc(1, sizeof *cursor);
  cursor->page = page_get(page);
  cursor->high = number;
  cursor->number = number;
  return cursor;
}

CALL struct cursor *cursor_clone(const struct cursor *from) {
  struct cursor *clone = malloc(sizeof *clone);
  if (is_way("copied", from->number)) {
    *clone = *from;  // copied
    return clone;
  }
  *clone = *from;
  page_get(clone->page);
  return clone;
}

/* The copy has the reference from then on. */
CALL struct cursor *cursor_move(struct cursor *from) {
  struct cursor *moved = malloc(sizeof *moved);
  memcpy(moved, from, sizeof *moved);
  memset(from, 0, sizeof *from);
  return moved;
}

/* Nothing of the original's is kept. */
CALL struct cursor *cursor_at(const struct cursor *like, struct page *page) {
  struct cursor *cursor = malloc(sizeof *cursor);
  *cursor = *like;
  cursor->page = page_get(page);
  return cursor;
}

CALL int cursor_close(struct cursor *cursor) {
  const int last = cursor->page ? page_put(cursor->page) : 0;
  free(cursor);
  return last;
}

static int cursors(void) {
  int sum = 0;
  for (int i = 0; i < COUNT; i++) {
    struct page *page = page_new(i);
    struct cursor *first = cursor_open(page, i);
    struct cursor *clone = cursor_clone(first);
    struct cursor *at = cursor_at(clone, page);
    struct cursor *moved = cursor_move(first);
    sum +=
        cursor_close(first) + cursor_close(clone) + cursor_close(at) + cursor_close(moved) + page_put(page);
  }
  return sum;
}

struct panel {
  struct lamp *lamp;
  int number;
};

/* More ways lead through it than are followed. */
CALL int panel_light(struct panel *panel, struct lamp **lamps, unsigned lit) {
  int sum = 0;
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < 4; i++) {
      if (lit >> i & 1) lamp_get(lamps[i]);
    }
    if (lit & 16) lamp_get(lamps[4]);
    if (lit & 32) lamp_get(lamps[5]);
    if (lit & 64) lamp_get(lamps[6]);
    if (panel->lamp != NULL) sum += lamp_put(panel->lamp);
    if (is_way("gathered", panel->number)) {
      panel->lamp = lamps[turn];  // gathered
    } else {
      panel->lamp = lamp_get(lamps[turn]);
    }
    if (lit & 64) sum += lamp_put(lamps[6]);
    if (lit & 32) sum += lamp_put(lamps[5]);
    if (lit & 16) sum += lamp_put(lamps[4]);
    for (int i = 0; i < 4; i++) {
      if (lit >> i & 1) sum += lamp_put(lamps[i]);
    }
  }
  return sum;
}

static int panels(void) {
  struct lamp *lamps[7];
  int sum = 0;
  for (int i = 0; i < 7; i++) lamps[i] = lamp_new(i);
  for (int i = 0; i < COUNT; i++) {
    struct panel panel = {NULL, i};
    sum += panel_light(&panel, lamps, (unsigned)i * 5);
    sum += lamp_put(panel.lamp);
  }
  for (int i = 0; i < 7; i++) sum += lamp_put(lamps[i]);
  return sum;
}

int main(int argc, char **argv) {
  if (argc > 1) way = argv[1];
  printf("%d\n", buttons() + menus() + shapes() + cursors() + panels());
  return 0;
}
