/* summary: apply_member's error way puts the new value although json_object_object_add has already taken it over
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: json_object
 * packages: json-c
 * build: gcc -O3 -g
 * exit: 0
 */
/* Settings of a router: patches in the way of RFC 7396 are merged into the running document, with a journal of
 * the values that were set. A patch stops at the first member that may not be set. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOURNAL 128

struct record {
  struct json_object *before; /* owned or NULL */
  struct json_object *after;  /* owned or NULL */
};

struct settings {
  struct json_object *doc; /* owned */
  struct record journal[JOURNAL];
  int njournal;
  int set, removed, merged, refused;
};

static const char *const kinds[] = {"speed", "mtu", "weight"};

static int is_number_key(const char *key) {
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    if (!strcmp(key, kinds[i]))
      return 1;
  return 0;
}

/* Takes over both references, also when it fails. */
static int journal_add(struct settings *s, struct json_object *before, struct json_object *after) {
  if (s->njournal == JOURNAL) {
    json_object_put(before);
    json_object_put(after);
    return -1;
  }
  s->journal[s->njournal].before = before;
  s->journal[s->njournal].after = after;
  s->njournal++;
  return 0;
}

/* A new value as it shall stand in the document: numbers written as text become numbers. Returns a reference. */
static struct json_object *normalise(const char *key, struct json_object *value) {
  if (is_number_key(key) && json_object_is_type(value, json_type_string))
    return json_object_new_int(json_object_get_int(value));
  return json_object_get(value);
}

static int check_number(const char *key, struct json_object *value) {
  int n;

  if (!is_number_key(key))
    return 0;
  if (!json_object_is_type(value, json_type_int))
    return -1;
  n = json_object_get_int(value);
  return n > 0 && n <= 100000 ? 0 : -1;
}

static int apply_member(struct settings *s, struct json_object *target, const char *key, struct json_object *value) {
  struct json_object *old = NULL, *fresh;

  if (key[0] == '_')
    return -1;
  json_object_object_get_ex(target, key, &old);
  json_object_get(old);
  fresh = normalise(key, value);
  if (json_object_is_type(value, json_type_array) && json_object_array_length(value) == 0)
    goto refuse;
  if (journal_add(s, json_object_get(old), json_object_get(fresh)) < 0)
    goto refuse;
  if (json_object_object_add(target, key, fresh) < 0)
    goto refuse;
  if (check_number(key, fresh) < 0) {
    /* it stays, marked by the refusal: the user decides with the journal at hand */
#ifdef BUG
    goto refuse; /* ACCEPTED */
#else
    json_object_put(old);
    return -1;
#endif
  }
  s->set++;
  json_object_put(old);
  return 0;

refuse:
  json_object_put(fresh); /* GUILTY */
  json_object_put(old);
  return -1;
}

static int merge(struct settings *s, struct json_object *target, struct json_object *patch) {
  json_object_object_foreach(patch, key, value) {
    struct json_object *sub;

    if (!value) {
      if (json_object_object_get_ex(target, key, &sub)) {
        journal_add(s, json_object_get(sub), NULL);
        json_object_object_del(target, key);
        s->removed++;
      }
    } else if (json_object_is_type(value, json_type_object)) {
      if (!json_object_object_get_ex(target, key, &sub) || !json_object_is_type(sub, json_type_object)) {
        sub = json_object_new_object();
        json_object_object_add(target, key, sub);
      }
      s->merged++;
      if (merge(s, sub, value) < 0)
        return -1;
    } else if (apply_member(s, target, key, value) < 0) {
      return -1;
    }
  }
  return 0;
}

static void patch_text(struct settings *s, const char *text) {
  struct json_object *patch = json_tokener_parse(text);

  if (!json_object_is_type(patch, json_type_object)) {
    s->refused++;
    json_object_put(patch);
    return;
  }
  if (merge(s, s->doc, patch) < 0)
    s->refused++;
  json_object_put(patch);
}

static void settings_free(struct settings *s) {
  while (s->njournal > 0) {
    struct record *r = &s->journal[--s->njournal];

    json_object_put(r->before);
    json_object_put(r->after);
  }
  json_object_put(s->doc);
}

int main(void) {
  static struct settings s;
  char text[128];
  size_t len;

  s.doc = json_tokener_parse("{\"name\":\"r1\",\"ports\":{},\"dns\":[\"10.0.0.1\"]}");
  for (int i = 0; i < 16; i++) {
    snprintf(text, sizeof(text), "{\"ports\":{\"p%d\":{\"speed\":\"%d\",\"mtu\":1500,\"vlan\":[1,%d]}}}", i,
             100 * (i + 1), i);
    patch_text(&s, text);
  }
  patch_text(&s, "{\"name\":\"r2\",\"dns\":[]}");
  patch_text(&s, "{\"ports\":{\"p3\":{\"vlan\":null,\"weight\":5}}}");
  patch_text(&s, "{\"ports\":{\"p4\":{\"mtu\":\"-1\"}}}");
  patch_text(&s, "{\"ports\":{\"p5\":null,\"p6\":{\"note\":\"uplink\"}}}");
  patch_text(&s, "{\"_secret\":1}");
  patch_text(&s, "{\"ports\":{\"p7\":{\"speed\":\"fast\",\"note\":\"x\"}}}");
  patch_text(&s, "[1,2]");
  patch_text(&s, "{\"ports\":{\"p8\":{\"speed\":1000,\"mtu\":9000}},\"location\":\"cellar\"}");

  len = strlen(json_object_to_json_string_ext(s.doc, JSON_C_TO_STRING_PLAIN));
  printf("set %d removed %d merged %d refused %d length %zu\n", s.set, s.removed, s.merged, s.refused, len);
  settings_free(&s);
  return 0;
}
