/* summary: plugin_unload() takes the plugin's name out of the registry but not its alias, whose entry holds it to the end
 * kind: held
 * counts: surplus
 * objects: 2
 * track: own
 * build: clang-14 -O1 -g
 * exit: 0
 * source: bug class "secondary index entry not removed on unload"
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBUCKETS 32
#define NPLUGINS 26

/* A loaded plugin. Each entry of the registry owns one reference, each open session one more. */
struct plugin {
  char name[20];
  char alias[20];
  int builtin;
  int sessions;
  uint64_t refs;
};

struct entry {
  struct entry *next;
  const char *key; /* inside the plugin */
  struct plugin *plugin;
};

struct session {
  struct session *next;
  struct plugin *plugin;
  int id;
};

static struct entry *registry[NBUCKETS];
static struct session *sessions;
static int live;

static inline struct plugin *plugin_new(const char *name, const char *alias, int builtin) {
  struct plugin *p = calloc(1, sizeof *p);
  if (!p)
    abort();
  snprintf(p->name, sizeof p->name, "%s", name);
  snprintf(p->alias, sizeof p->alias, "%s", alias);
  p->builtin = builtin;
  p->refs = 1;
  live++;
  return p;
}

static inline struct plugin *plugin_get(struct plugin *p) {
  p->refs++;
  return p;
}

static inline void plugin_put(struct plugin *p) {
  if (--p->refs == 0) {
    live--;
    free(p);
  }
}

static unsigned hash(const char *s) {
  unsigned h = 0;
  while (*s)
    h = h * 131 + (unsigned char)*s++;
  return h % NBUCKETS;
}

static void registry_add(const char *key, struct plugin *p) {
  struct entry *e = malloc(sizeof *e);
  if (!e)
    abort();
  *e = (struct entry){registry[hash(key)], key, plugin_get(p)};
  registry[hash(key)] = e;
}

static int registry_remove(const char *key, const struct plugin *p) {
  for (struct entry **pp = &registry[hash(key)]; *pp; pp = &(*pp)->next) {
    struct entry *e = *pp;
    if (e->plugin == p && strcmp(e->key, key) == 0) {
      *pp = e->next;
      plugin_put(e->plugin);
      free(e);
      return 1;
    }
  }
  return 0;
}

/* Returns a reference. */
static struct plugin *registry_find(const char *key) {
  for (struct entry *e = registry[hash(key)]; e; e = e->next)
    if (strcmp(e->key, key) == 0)
      return plugin_get(e->plugin);
  return NULL;
}

static void plugin_load(int n) {
  char name[20], alias[20] = "";
  snprintf(name, sizeof name, "codec-%d", n);
  if (n % 4 == 1)
    snprintf(alias, sizeof alias, "x%d", n * 10);
  struct plugin *p = plugin_new(name, alias, n < 3);
  registry_add(p->name, p);
  if (p->alias[0])
    registry_add(p->alias, p); /* ACCEPTED */
  plugin_put(p);
}

/* Sessions that are still open keep the plugin until they close. */
static int plugin_unload(const char *name) {
  struct plugin *p = registry_find(name);
  if (!p)
    return 0;
  if (p->builtin) {
    plugin_put(p);
    return 0;
  }
  registry_remove(p->name, p); /* ACCEPTED */
#ifndef BUG
  if (p->alias[0])
    registry_remove(p->alias, p);
#endif
  plugin_put(p); /* GUILTY */
  return 1;
}

/* The new version takes the place of the old one under all of its names. */
static int plugin_reload(const char *name) {
  struct plugin *old = registry_find(name);
  if (!old)
    return 0;
  struct plugin *p = plugin_new(old->name, old->alias, old->builtin);
  registry_remove(old->name, old);
  registry_add(p->name, p);
  if (old->alias[0]) {
    registry_remove(old->alias, old);
    registry_add(p->alias, p);
  }
  plugin_put(p);
  plugin_put(old);
  return 1;
}

static int session_open(const char *key, int id) {
  struct plugin *p = registry_find(key);
  if (!p)
    return -1;
  if (p->sessions == 3) {
    plugin_put(p);
    return -1;
  }
  struct session *s = malloc(sizeof *s);
  if (!s)
    abort();
  *s = (struct session){sessions, p, id};
  sessions = s;
  p->sessions++;
  return 0;
}

static void session_close(int id) {
  for (struct session **pp = &sessions; *pp; pp = &(*pp)->next)
    if ((*pp)->id == id) {
      struct session *s = *pp;
      *pp = s->next;
      s->plugin->sessions--;
      plugin_put(s->plugin);
      free(s);
      return;
    }
}

int main(void) {
  char key[20];
  int opened = 0, unloaded = 0, reloaded = 0;

  for (int i = 0; i < NPLUGINS; i++)
    plugin_load(i);
  for (int i = 0; i < 40; i++) {
    int n = (i * 11) % 30; /* some do not exist */
    snprintf(key, sizeof key, n % 4 == 1 && i % 2 ? "x%d" : "codec-%d", n % 4 == 1 && i % 2 ? n * 10 : n);
    opened += session_open(key, i) == 0;
    if (i >= 12)
      session_close(i - 12);
    if (i % 9 == 4) {
      snprintf(key, sizeof key, "codec-%d", i - 3);
      reloaded += plugin_reload(key);
    }
  }
  for (int n = 0; n < 24; n++) {
    if (n % 4 == 1 && n != 9 && n != 17)
      continue;
    snprintf(key, sizeof key, "codec-%d", n);
    unloaded += plugin_unload(key);
  }
  for (int i = 0; i < 40; i++)
    session_close(i);
  printf("%d sessions, %d reloaded, %d unloaded\n", opened, reloaded, unloaded);
#ifdef TRUTH
  int gone = 0;
  for (int i = 0; i < NBUCKETS; i++)
    for (struct entry *e = registry[i]; e; e = e->next)
      gone += registry_find(e->plugin->name) != e->plugin;
  printf("plugins alive at the end: %d, of them no longer registered by name: %d\n", live, gone);
#endif
  return 0;
}
