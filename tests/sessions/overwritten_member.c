// A view's members have references. One function puts another pointer there and gives nothing back; another
// one uses what it has only looked up after the view has given it back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noipa))
#endif
#define VIEWS 12

struct theme {
  int refs;
  int width;
  long used[8];
};
struct view {
  int number;
  struct theme *theme;
  struct theme *back;
};

CALL struct theme *theme_new(int width) {
  struct theme *theme = calloc(1, sizeof *theme);
  theme->refs = 1;
  theme->width = width;
  return theme;
}
CALL struct theme *theme_get(struct theme *theme) {
  theme->refs++;
  return theme;
}
CALL void theme_put(struct theme *theme) {
  if (theme != NULL && --theme->refs == 0) free(theme);
}

// -- what is right ----------------------------------------------------------------------------------------

CALL struct view *view_new(int number) {
  struct view *view = calloc(1, sizeof *view);
  view->number = number;
  view->theme = theme_new(number);
  return view;
}
CALL void view_swap(struct view *view, struct theme *theme) {
  struct theme *old = view->theme;
  view->theme = theme_get(theme);
  theme_put(old);
}
CALL void view_clear_back(struct view *view) {
  if (view->back == NULL) return;
  theme_put(view->back);
  view->back = NULL;
}
CALL void view_show_back(struct view *view, struct theme *theme) {
  view_clear_back(view);
  view->back = theme_get(theme);
}
CALL void view_free(struct view *view) {
  theme_put(view->theme);
  theme_put(view->back);
  free(view);
}

// -- what is not ------------------------------------------------------------------------------------------

CALL void view_reset(struct view *view, int width) {
  if (view->theme->width == width) return;
  view->theme = theme_new(width);  // overwritten
}
CALL int view_replace(struct view *view, struct theme *theme) {
  struct theme *old = view->theme;
  view_swap(view, theme);
  return old->width;  // late use
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  struct view *views[VIEWS];
  int sum = 0;
  for (int i = 0; i < VIEWS; i++) views[i] = view_new(i);
  for (int i = 0; i < VIEWS; i++) {
    struct theme *theme = theme_new(i);
    view_show_back(views[i], theme);
    if (i % 3 == 0) view_swap(views[i], theme);
    if (i % 5 == 4 && strcmp(what, "overwritten") == 0) view_reset(views[i], 100);
    if (i == 7 && strcmp(what, "late") == 0) sum += view_replace(views[i], theme);
    if (i % 2) view_clear_back(views[i]);
    theme_put(theme);
  }
  for (int i = 0; i < VIEWS; i++) view_free(views[i]);
  memset(views, 0, sizeof views);
  printf("%d\n", sum);
  return 0;
}
