// A table gives back what it has got. One function hands it an object without taking a reference for it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL __attribute__((noinline))

struct theme {
  int refs;
  int width;
};
struct table {
  struct theme *entries[32];
  int used;
};

CALL struct theme *theme_new(int width) {
  struct theme *theme = malloc(sizeof *theme);
  theme->refs = 1;
  theme->width = width;
  return theme;
}

CALL struct theme *theme_get(struct theme *theme) {
  theme->refs++;
  return theme;
}

CALL void theme_put(struct theme *theme) {
  if (--theme->refs == 0) free(theme);
}

CALL void table_add(struct table *table, struct theme *theme) { table->entries[table->used++] = theme; }

CALL void table_clear(struct table *table) {
  for (int i = 0; i < table->used; i++) theme_put(table->entries[i]);
  table->used = 0;
}

CALL int show(struct table *table, struct theme *theme) {
  table_add(table, theme_get(theme));
  return theme->width;
}

CALL int preview(struct table *table, struct theme *theme) {
  table_add(table, theme);  // the mistake
  return theme->width + 1;
}

int main(int argc, char **argv) {
  const int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  struct table table = {{NULL}, 0};
  int sum = 0;
  for (int i = 0; i < 10; i++) {
    struct theme *theme = theme_new(i);
    sum += show(&table, theme);
    if (wrong && i == 6) sum += preview(&table, theme);
    theme_put(theme);
  }
  table_clear(&table);
  printf("%d\n", sum);
  return 0;
}
