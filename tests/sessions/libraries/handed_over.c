// What is handed over has to come with a reference: to functions of GLib that take one over, and to functions
// of the program that give back what they are given. The first argument says where one is missing, or lost.
#include <glib-object.h>
#include <stdio.h>
#include <string.h>

#define CALL __attribute__((noinline))
#define COUNT 24

static const char *way = "";

static int is_way(const char *name, int i) { return i % 6 == 4 && strcmp(way, name) == 0; }

struct note {
  int refs;
  int number;
};

CALL struct note *note_new(int number) {
  struct note *note = g_new0(struct note, 1);
  note->refs = 1;
  note->number = number;
  return note;
}

CALL struct note *note_get(struct note *note) {
  note->refs++;
  return note;
}

CALL void note_put(struct note *note) {
  if (note != NULL && --note->refs == 0) g_free(note);
}

CALL void tag(GObject *owner, GObject *label) {
  g_object_set_data_full(owner, "label", label, g_object_unref);  // destroyed
}

CALL void tag_shared(GObject *owner, GObject *label) {
  g_object_set_data_full(owner, "label", g_object_ref(label), g_object_unref);
}

struct shelf {
  GPtrArray *labels;
};

CALL void shelf_add(struct shelf *shelf, GObject *label) {
  g_ptr_array_add(shelf->labels, g_object_ref(label));
}

CALL void shelf_first(struct shelf *shelf, GObject *label) {
  g_ptr_array_insert(shelf->labels, 0, label);  // contained
}

CALL void label_value(GObject *label, GValue *value) {
  g_value_init(value, G_TYPE_OBJECT);
  g_value_take_object(value, label);  // taken
}

CALL void label_shared(GObject *label, GValue *value) {
  g_value_init(value, G_TYPE_OBJECT);
  g_value_set_object(value, label);
}

static void labels(void) {
  GObject *owner = g_object_new(G_TYPE_OBJECT, NULL);
  struct shelf shelf = {g_ptr_array_new_with_free_func(g_object_unref)};
  GObject *all[COUNT];
  // Apart from what follows: of one that was made right before, the code says that its maker may hand it
  // over.
  for (int i = 0; i < COUNT; i++) all[i] = g_object_new(G_TYPE_OBJECT, NULL);
  for (int i = 0; i < COUNT; i++) {
    GValue value = G_VALUE_INIT;
    (is_way("destroyed", i) ? tag : tag_shared)(owner, all[i]);
    (is_way("contained", i) ? shelf_first : shelf_add)(&shelf, all[i]);
    (is_way("taken", i) ? label_value : label_shared)(all[i], &value);
    g_value_unset(&value);
  }
  g_object_unref(owner);
  g_ptr_array_unref(shelf.labels);
  for (int i = 0; i < COUNT; i++) g_object_unref(all[i]);
}

struct box {
  struct note *notes[COUNT];
  int used;
};

/* Has the reference from then on, whatever it returns. */
CALL int box_file(struct box *box, struct note *note) {
  if (note->number < 0) {
    note_put(note);
    return -1;
  }
  if (is_way("forgotten", note->number)) return -2;  // forgotten
  if (box->used == COUNT) {
    note_put(note);
    return -3;
  }
  box->notes[box->used++] = note;
  return 0;
}

/* With a reference for the caller. */
CALL struct note *box_best(const struct box *box, int at) {
  struct note *best = NULL;
  for (int i = 0; i < box->used; i++) {
    if (box->notes[i]->number > at) continue;
    if (!is_way("replaced", at)) note_put(best);
    best = note_get(box->notes[i]);  // replaced
  }
  return best;
}

CALL void box_free(struct box *box) {
  while (box->used > 0) {
    note_put(box->notes[--box->used]);
    box->notes[box->used] = NULL;
  }
  g_free(box);
}

static int notes(void) {
  struct box *box = g_new0(struct box, 1);
  int sum = 0;
  for (int i = 0; i < COUNT; i++) sum += box_file(box, note_new(i % 5 == 3 ? -i : i));
  for (int i = 0; i < COUNT; i++) {
    struct note *best = box_best(box, i);
    sum += best->number;
    note_put(best);
  }
  box_free(box);
  return sum;
}

int main(int argc, char **argv) {
  if (argc > 1) way = argv[1];
  labels();
  return notes() < 0;
}
