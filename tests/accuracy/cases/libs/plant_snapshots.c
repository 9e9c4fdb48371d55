/* summary: take_snapshot clears the pointer for json_object_deep_copy and so loses the snapshot that it still owned
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: json_object
 * packages: json-c
 * build: clang-14 -O1 -g
 * exit: 0
 */
/* A plant's process image as one JSON tree. Sensors write into it by JSON pointer; watchers keep snapshots of the
 * part that they watch and compare. */
#include <json-c/json.h>
#include <json-c/json_pointer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NWATCH 8
#define NUNITS 6
#define NOUT 10

struct watcher {
  char path[32];
  struct json_object *snapshot; /* owned or NULL */
  struct json_object *alarm;    /* owned or NULL: the value that raised the alarm, shared with the tree */
  int changes;
  int muted;
};

static struct json_object *image;
static struct json_object *outbox[NOUT]; /* owned: parts to be sent, the oldest is dropped when it is full */
static int outpos;
static struct watcher watchers[NWATCH];
static int written, rejected, alarms, missing;

/* Takes over value, whatever happens. */
static int image_write(const char *path, struct json_object *value) {
  if (json_pointer_set(&image, path, value) < 0) {
    rejected++;
    json_object_put(value);
    return -1;
  }
  written++;
  return 0;
}

static struct json_object *make_unit(int number) {
  struct json_object *u = json_object_new_object();
  struct json_object *valves = json_object_new_array();

  for (int i = 0; i < 3; i++)
    json_object_array_add(valves, json_object_new_boolean(i == number % 3));
  json_object_object_add(u, "temp", json_object_new_int(20 + number));
  json_object_object_add(u, "valves", valves);
  return u;
}

static int take_snapshot(struct watcher *w) {
  struct json_object *part;

  if (json_pointer_get(image, w->path, &part) < 0) {
    /* the unit is gone for now */
    json_object_put(w->snapshot);
    w->snapshot = NULL;
    missing++;
    return -1;
  }
#ifdef BUG
  w->snapshot = NULL;                                     /* GUILTY */
  return json_object_deep_copy(part, &w->snapshot, NULL); /* ACCEPTED */
#else
  json_object_put(w->snapshot);
  w->snapshot = NULL;
  return json_object_deep_copy(part, &w->snapshot, NULL);
#endif
}

/* Starts again from nothing. */
static void reset_watcher(struct watcher *w) {
  json_object_put(w->snapshot);
  w->snapshot = NULL;
  json_object_put(w->alarm);
  w->alarm = NULL;
  w->changes = 0;
}

static void check_alarm(struct watcher *w, struct json_object *part) {
  struct json_object *temp;

  if (json_pointer_get(part, "/temp", &temp) < 0 || json_object_get_int(temp) < 90)
    return;
  if (w->alarm == temp)
    return;
  json_object_put(w->alarm);
  w->alarm = json_object_get(temp);
  alarms++;
}

static void post(struct json_object *part) {
  json_object_put(outbox[outpos]);
  outbox[outpos] = json_object_get(part);
  outpos = (outpos + 1) % NOUT;
}

static void run_watcher(struct watcher *w) {
  struct json_object *part = NULL;

  if (w->muted)
    return;
  if (json_pointer_get(image, w->path, &part) == 0) {
    post(part);
    check_alarm(w, part);
  }
  if (w->snapshot && part && json_object_equal(w->snapshot, part))
    return;
  if (take_snapshot(w) == 0)
    w->changes++;
}

static void cycle(int n) {
  char path[48];

  for (int u = 0; u < NUNITS; u++) {
    snprintf(path, sizeof(path), "/units/%d/temp", u);
    if ((n == 3 && (u == 1 || u == 4)) || (n == 6 && u == 4))
      image_write(path, json_object_new_int(95 + n));
  }
  if (n == 2) /* no such member on the way */
    image_write("/nothing/here/temp", json_object_new_int(1));
  if (n == 5) {
    struct json_object *unit = make_unit(0);

    image_write("/spare", json_object_get(unit));
    image_write("/units/0", unit); /* equal to what was there: no change is seen */
  }
  if (n == 7)
    image_write("/units/2/valves/1", json_object_new_boolean(1));
  if (n == 8)
    image_write("units", json_object_new_string("bad path"));
  if (n == 9) {
    struct json_object *spare;

    if (json_pointer_get(image, "/spare", &spare) == 0)
      image_write("/units/-", json_object_get(spare));
    json_object_object_del(image, "spare");
  }
  for (int i = 0; i < NWATCH; i++)
    run_watcher(&watchers[i]);
}

int main(void) {
  struct json_object *units = json_object_new_array(), *first;
  int changes = 0;
  size_t len;

  image = json_object_new_object();
  for (int u = 0; u < NUNITS; u++)
    json_object_array_add(units, make_unit(u));
  json_object_object_add(image, "units", units);
  first = json_object_get(json_object_array_get_idx(units, 3));
  for (int i = 0; i < NWATCH; i++)
    snprintf(watchers[i].path, sizeof(watchers[i].path), "/units/%d", i);
  watchers[5].muted = 1;

  for (int n = 0; n < 12; n++) {
    cycle(n);
    if (n == 4)
      reset_watcher(&watchers[3]);
  }
  len = strlen(json_object_to_json_string(image));
  for (int i = 0; i < NWATCH; i++) {
    changes += watchers[i].changes;
    reset_watcher(&watchers[i]);
  }
  json_object_put(image);
  for (int i = 0; i < NOUT; i++)
    json_object_put(outbox[i]);
  json_object_put(first);
  printf("written %d rejected %d alarms %d changes %d missing %d length %zu\n", written, rejected, alarms, changes,
         missing, len);
  return 0;
}
