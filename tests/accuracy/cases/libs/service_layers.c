/* summary: attach_named puts shared default blocks into service entries without taking a reference for them
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: json_object
 * packages: json-c
 * build: gcc -O0 -g
 * exit: 0
 */
/* Expands a service file: blocks named under "defaults" are shared by all services that inherit them, blocks that
 * a service overrides are its own copies. The expanded tree shares memory, so it must not be changed any more. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const block_names[] = {"retry", "tls", "log", "limits"};
#define NBLOCKS 4
#define NSERVICES 24

struct layers {
  struct json_object *file;            /* owned */
  struct json_object *blocks[NBLOCKS]; /* owned: blocks[i] is the default for block_names[i] */
  struct json_object *services;        /* owned: expanded, name -> entry */
  struct json_object *recent[4];       /* owned: ring of the entries that were asked for last */
  int pos;
  int inherited, copied, named;
};

static char *make_file(void) {
  struct json_object *root = json_object_new_object();
  struct json_object *defs = json_object_new_object();
  struct json_object *list = json_object_new_array();
  struct json_object *block;
  char *text, name[32];

  for (int b = 0; b < NBLOCKS; b++) {
    block = json_object_new_object();
    json_object_object_add(block, "level", json_object_new_int(b + 2));
    json_object_object_add(block, "file", json_object_new_string("/etc/common.conf"));
    json_object_object_add(defs, block_names[b], block);
  }
  json_object_object_add(root, "defaults", defs);
  for (int i = 0; i < NSERVICES; i++) {
    struct json_object *svc = json_object_new_object();

    snprintf(name, sizeof(name), "svc%02d", i);
    json_object_object_add(svc, "name", json_object_new_string(name));
    if (i % 4 == 1) {
      block = json_object_new_object();
      json_object_object_add(block, "level", json_object_new_int(9));
      json_object_object_add(svc, "log", block);
    }
    if (i % 6 == 5) /* a plain name stands for the default block of that name, whatever the key is */
      json_object_object_add(svc, "retry", json_object_new_string(i % 12 == 5 ? "limits" : "none"));
    if (i == 14)
      json_object_object_add(svc, "retry", json_object_new_string("retry"));
    json_object_array_add(list, svc);
  }
  json_object_object_add(root, "services", list);
  text = strdup(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
  json_object_put(root);
  return text;
}

/* Borrowed; NULL if there is no block of that name. */
static struct json_object *default_block(struct layers *l, const char *name) {
  for (int b = 0; b < NBLOCKS; b++)
    if (!strcmp(block_names[b], name))
      return l->blocks[b];
  return NULL;
}

/* The default with the service's own members over it: a new object. */
static struct json_object *overlay(struct json_object *base, struct json_object *own) {
  struct json_object *copy = NULL;

  if (json_object_deep_copy(base, &copy, NULL) < 0)
    return NULL;
  json_object_object_foreach(own, key, val) { json_object_object_add(copy, key, json_object_get(val)); }
  return copy;
}

static int attach_named(struct layers *l, struct json_object *entry, const char *key, const char *name) {
  struct json_object *block = default_block(l, name);

  if (!block)
    return json_object_object_add(entry, key, NULL);
  l->named++;
#ifdef BUG
  return json_object_object_add(entry, key, block); /* GUILTY */
#else
  return json_object_object_add(entry, key, json_object_get(block));
#endif
}

static int attach_block(struct layers *l, struct json_object *entry, struct json_object *svc, int b) {
  struct json_object *own;

  if (!json_object_object_get_ex(svc, block_names[b], &own)) {
    l->inherited++;
    return json_object_object_add(entry, block_names[b], json_object_get(l->blocks[b]));
  }
  if (json_object_is_type(own, json_type_string))
    return attach_named(l, entry, block_names[b], json_object_get_string(own));
  l->copied++;
  return json_object_object_add(entry, block_names[b], overlay(l->blocks[b], own));
}

static struct json_object *expand(struct layers *l, struct json_object *svc) {
  struct json_object *entry = json_object_new_object();

  for (int b = 0; b < NBLOCKS; b++)
    if (attach_block(l, entry, svc, b) < 0) {
      json_object_put(entry);
      return NULL;
    }
  return entry;
}

static int load(struct layers *l, const char *text) {
  struct json_object *defs, *list, *block;

  l->file = json_tokener_parse(text);
  if (!l->file)
    return -1;
  if (!json_object_object_get_ex(l->file, "defaults", &defs) || !json_object_object_get_ex(l->file, "services", &list))
    return -1;
  for (int b = 0; b < NBLOCKS; b++)
    if (json_object_object_get_ex(defs, block_names[b], &block))
      l->blocks[b] = json_object_get(block);
  l->services = json_object_new_object();
  for (size_t i = 0; i < json_object_array_length(list); i++) {
    struct json_object *svc = json_object_array_get_idx(list, i);
    struct json_object *name, *entry = expand(l, svc);

    if (entry && json_object_object_get_ex(svc, "name", &name))
      json_object_object_add(l->services, json_object_get_string(name), entry);
    else
      json_object_put(entry);
  }
  return 0;
}

/* Returns a reference. */
static struct json_object *lookup(struct layers *l, const char *name) {
  struct json_object *entry;

  if (!json_object_object_get_ex(l->services, name, &entry))
    return NULL;
  json_object_put(l->recent[l->pos]);
  l->recent[l->pos] = json_object_get(entry);
  l->pos = (l->pos + 1) % 4;
  return json_object_get(entry);
}

static void unload(struct layers *l) {
  for (int i = 0; i < 4; i++)
    json_object_put(l->recent[i]);
  json_object_put(l->services);
  json_object_put(l->file);
  for (int b = 0; b < NBLOCKS; b++)
    json_object_put(l->blocks[b]);
}

int main(void) {
  static struct layers l;
  char *text = make_file(), name[32];
  int levels = 0;

  if (load(&l, text) < 0)
    return 1;
  free(text);
  for (int i = 0; i < NSERVICES + 2; i++) {
    struct json_object *entry, *log, *level;

    snprintf(name, sizeof(name), "svc%02d", i);
    entry = lookup(&l, name);
    if (entry && json_object_object_get_ex(entry, "log", &log) && json_object_object_get_ex(log, "level", &level))
      levels += json_object_get_int(level);
    json_object_put(entry);
  }
  json_object_object_del(l.services, "svc03");
  printf("inherited %d copied %d named %d levels %d\n", l.inherited, l.copied, l.named, levels);
  unload(&l);
  return 0;
}
