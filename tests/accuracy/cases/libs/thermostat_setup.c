/* summary: adopt_limits gives the borrowed result of json_object_object_get_ex back when the limits are upside down
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: json_object
 * packages: json-c
 * build: clang-14 -O2 -g
 * exit: 0
 */
/* Reads the site file of a heating control: one entry for each thermostat, with limits of its own or the
 * site's common ones. Rejected limits are kept for the report that the installer gets. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 32

struct device {
  struct json_object *desc;     /* owned: the device's entry in the site file */
  struct json_object *limits;   /* owned: in force */
  struct json_object *rejected; /* owned or NULL: found in the file, but not usable */
  struct json_object *room;     /* owned or NULL */
};

struct site {
  struct json_object *doc; /* owned */
  struct json_object *common_limits;
  struct device dev[MAX_DEVICES];
  int ndev;
  int own, shared, bad;
};

static int get_number(struct json_object *obj, const char *key, int *value) {
  struct json_object *field;

  if (!json_object_object_get_ex(obj, key, &field))
    return -1;
  if (!json_object_is_type(field, json_type_int))
    return -1;
  *value = json_object_get_int(field);
  return 0;
}

static char *make_site_file(void) {
  struct json_object *root = json_object_new_object();
  struct json_object *list = json_object_new_array();
  struct json_object *common = json_object_new_object();
  char name[32], *text;

  json_object_object_add(common, "min", json_object_new_int(15));
  json_object_object_add(common, "max", json_object_new_int(24));
  json_object_object_add(root, "limits", common);
  json_object_object_add(root, "devices", list);
  for (int i = 0; i < 26; i++) {
    struct json_object *d = json_object_new_object();
    struct json_object *lim;

    snprintf(name, sizeof(name), "t-%02d", i);
    json_object_object_add(d, "name", json_object_new_string(name));
    json_object_object_add(d, "floor", json_object_new_int(i / 8));
    if (i % 3) {
      lim = json_object_new_object();
      json_object_object_add(lim, "min", json_object_new_int(i == 10 || i == 19 ? 30 : 12 + i % 5));
      if (i != 14)
        json_object_object_add(lim, "max", json_object_new_int(20 + i % 7));
      json_object_object_add(d, "limits", lim);
    }
    if (i % 2)
      json_object_object_add(d, "room", json_object_new_string(i % 4 == 1 ? "office" : "corridor"));
    if (i % 5 == 0)
      json_object_object_add(d, "comment", json_object_new_string("to be checked"));
    json_object_array_add(list, d);
  }
  text = strdup(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
  json_object_put(root);
  return text;
}

/* 0: limits in force are the device's own, 1: they are the common ones */
static int adopt_limits(struct site *s, struct device *d) {
  struct json_object *limits = NULL;
  int lo, hi;

  if (!json_object_object_get_ex(d->desc, "limits", &limits)) {
    d->limits = json_object_get(s->common_limits);
    return 1;
  }
  d->limits = json_object_get(limits);
  if (get_number(limits, "min", &lo) < 0)
    goto incomplete;
  if (get_number(limits, "max", &hi) < 0)
    goto incomplete;
  if (lo >= hi)
    goto upside_down;
  return 0;

upside_down:
  s->bad++;
  d->rejected = d->limits;
  d->limits = json_object_get(s->common_limits);
#ifdef BUG
  json_object_put(limits); /* GUILTY */
#endif
  return 1;

incomplete:
  json_object_put(d->limits);
  d->limits = json_object_get(s->common_limits);
  return 1;
}

static void add_device(struct site *s, struct json_object *desc) {
  struct device *d = &s->dev[s->ndev++];
  struct json_object *room;

  d->desc = json_object_get(desc);
  json_object_object_del(desc, "comment");
  if (json_object_object_get_ex(desc, "room", &room))
    d->room = json_object_get(room);
  if (adopt_limits(s, d))
    s->shared++;
  else
    s->own++;
}

/* A device that moved keeps its entry, but the room is written anew. */
static void move_device(struct device *d, const char *to) {
  struct json_object *room = json_object_new_string(to);

  json_object_object_add(d->desc, "room", json_object_get(room));
  json_object_put(d->room);
  d->room = room;
}

static struct json_object *build_report(struct site *s) {
  struct json_object *rows = json_object_new_array();

  for (int i = 0; i < s->ndev; i++) {
    struct device *d = &s->dev[i];
    struct json_object *row, *name;

    if (!d->rejected && !d->room)
      continue;
    row = json_object_new_object();
    if (json_object_object_get_ex(d->desc, "name", &name))
      json_object_object_add(row, "name", json_object_get(name));
    json_object_object_add(row, "found", json_object_get(d->rejected));
    json_object_object_add(row, "used", json_object_get(d->limits));
    json_object_object_add(row, "room", json_object_get(d->room));
    json_object_array_add(rows, row);
  }
  return rows;
}

static void close_site(struct site *s) {
  for (int i = 0; i < s->ndev; i++) {
    json_object_put(s->dev[i].rejected);
    json_object_put(s->dev[i].limits);
    json_object_put(s->dev[i].room);
    json_object_put(s->dev[i].desc);
  }
  json_object_put(s->common_limits);
  json_object_put(s->doc);
}

int main(void) {
  static struct site s;
  struct json_object *list, *report, *common;
  char *text = make_site_file();
  size_t len;

  s.doc = json_tokener_parse(text);
  free(text);
  if (!s.doc || !json_object_object_get_ex(s.doc, "limits", &common) ||
      !json_object_object_get_ex(s.doc, "devices", &list)) {
    json_object_put(s.doc);
    return 1;
  }
  s.common_limits = json_object_get(common);
  for (size_t i = 0; i < json_object_array_length(list); i++)
    add_device(&s, json_object_array_get_idx(list, i));
  move_device(&s.dev[4], "hall");
  move_device(&s.dev[7], "kitchen");

  report = build_report(&s);
  len = strlen(json_object_to_json_string(report));
  printf("devices %d own %d shared %d bad %d report %zu\n", s.ndev, s.own, s.shared, s.bad, len);
  json_object_put(report);
  close_site(&s);
  return 0;
}
