// Programs that die because an object is dead, and some that die for another reason.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL __attribute__((noinline))

struct theme {
  struct font *font;  // malloc writes over the first words of what it has got back
  char *title;
  int refs;
  int width;
};
struct font {
  int size;
};
struct window {
  int shown;
  struct theme *theme;
};

static struct font plain = {11};

CALL struct theme *theme_init(struct theme *theme, const char *title) {
  theme->font = &plain;
  theme->title = strdup(title);
  theme->refs = 1;
  return theme;
}

CALL struct theme *theme_new(const char *title) { return theme_init(malloc(sizeof(struct theme)), title); }

CALL struct theme *theme_sized(size_t bytes) { return theme_init(malloc(bytes), "sized"); }

CALL struct theme *theme_get(struct theme *theme) {
  ++theme->refs;
  return theme;
}

CALL void theme_put(struct theme *theme) {
  if (--theme->refs == 0) {
    free(theme->title);
    free(theme);
  }
}

CALL int draw(struct window *window) {
  window->shown++;
  return window->theme->font->size + window->shown;  // dies
}

CALL int print_title(struct window *window) {
  int length = (int)strlen((char *)window->theme->font);  // dies in strlen
  return length + window->shown;
}

CALL void close_window(struct window *window) {
  free(window->theme);  // dies: theme_put has done that
  window->theme = NULL;
}

// A smaller theme has had the beginning of the memory since then.
CALL int use_tail(void) {
  struct theme *poster = theme_sized(sizeof(struct theme) + 400);
  int *tail = (int *)(poster + 1) + 50;
  *tail = 3;
  theme_put(poster);
  for (int i = 0; i < 100000; ++i) {
    struct theme *small = theme_new("small");
    int same = small == poster;
    theme_put(small);
    if (same) return *tail;  // dies
  }
  return 0;
}

CALL int measure(struct window *window, int *where) {
  window->shown++;
  return *where;  // dies, and not for the theme
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "";
  struct window window = {0, theme_new("dark")};
  struct theme *second = theme_get(window.theme);
  int sum = draw(&window);
  theme_put(second);
  theme_put(window.theme);
  if (strcmp(way, "member") == 0) sum += draw(&window);
  if (strcmp(way, "argument") == 0) sum += print_title(&window);
  if (strcmp(way, "twice") == 0) close_window(&window);
  if (strcmp(way, "tail") == 0) sum += use_tail();
  if (strcmp(way, "other") == 0) sum += measure(&window, (int *)8);
  if (strcmp(way, "reused") == 0) {
    struct window *other = malloc(sizeof(struct theme));  // where the theme was
    memset(other, 0, sizeof(struct theme));
    sum += draw(other);
  }
  printf("%d\n", sum);
  return 0;
}
