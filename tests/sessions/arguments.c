// Functions that store their arguments in a frame (-O0), in the ways in which compilers do so.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct thing {
  int refs;
  char text[20];
};

static struct thing *made;

struct thing *thing_new(void) {
  struct thing *thing = calloc(1, sizeof *thing);
  thing->refs = 1;
  return thing;
}

void plain_put(struct thing *thing) {
  if (--thing->refs == 0) free(thing);
}

// clang-format off
void one_line_put(struct thing *thing) { if (--thing->refs == 0) free(thing); }
// clang-format on

void many_put(struct thing *thing, char one, short two, int three, long four, struct thing *five, long six,
              long seven) {
  if (five == thing && one + two + three + four + six + seven != 0 && --thing->refs == 0) free(thing);
}

__attribute__((optimize("stack-protector-all"))) void guarded_put(struct thing *thing) {
  char text[sizeof thing->text];
  memcpy(text, thing->text, sizeof text);
  if (--thing->refs == 0 && text[0] == 0) free(thing);
}

void real_put(struct thing *thing, double real) {
  if (real > 0 && --thing->refs == 0) free(thing);
}

void varied_put(struct thing *thing, ...) {
  va_list list;
  va_start(list, thing);
  thing->refs -= va_arg(list, int);
  if (thing->refs == 0) free(thing);
  va_end(list);
}

void recursive_put(struct thing *thing) {
  if (thing == NULL) return;
  recursive_put(NULL);
  if (--thing->refs == 0) free(thing);
}

int main(void) {
  made = thing_new();
  plain_put(made);
  made = thing_new();
  one_line_put(made);
  made = thing_new();
  many_put(made, 1, -2, 3, -4, made, 6, -7);
  made = thing_new();
  guarded_put(made);
  made = thing_new();
  real_put(made, 2.5);
  made = thing_new();
  varied_put(made, 1, 2.5);
  made = thing_new();
  recursive_put(made);
  return 0;
}
