/* summary: add_alternative puts a module that a profile owns into a plan without a reference, and the plan gives one back
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: libkmod
 * packages: libkmod
 * build: gcc -O2 -flto -g
 * exit: 0
 */
/* Plans which kernel modules to load: profiles name modules, plans are put together from profiles and single wishes.
 * libkmod keeps one object per name and context. Nothing is loaded. */
#include <libkmod.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_MODULES 16
#define NPROFILES 4
#define NPLANS 8

struct set {
  struct kmod_module *mods[MAX_MODULES]; /* owned */
  int n;
};

static const char *const names[NPROFILES][6] = {
    {"disk_core", "disk_raid", "disk_cache", "fs_plain", NULL},
    {"net_core", "net_fast", "net-slow", "fs_plain", "disk_core", NULL},
    {"sound_core", "sound_usb", "usb_core", NULL},
    {"usb_core", "usb_serial", "net_core", "net_slow", NULL},
};

static struct kmod_ctx *ctx;
static struct set profiles[NPROFILES]; /* stay to the end of the process */
static int doubled, full, bad, alternatives;

static int contains(const struct set *s, const struct kmod_module *mod) {
  for (int i = 0; i < s->n; i++)
    if (s->mods[i] == mod)
      return 1;
  return 0;
}

/* The set gets a reference of its own. */
static int set_add(struct set *s, struct kmod_module *mod) {
  if (contains(s, mod)) {
    doubled++;
    return 0;
  }
  if (s->n == MAX_MODULES) {
    full++;
    return -1;
  }
  s->mods[s->n++] = kmod_module_ref(mod);
  return 1;
}

/* By name; the reference from the library goes into the set. */
static int set_add_name(struct set *s, const char *name) {
  struct kmod_module *mod = NULL;

  if (!*name || kmod_module_new_from_name(ctx, name, &mod) < 0) {
    bad++;
    return -1;
  }
  if (contains(s, mod) || s->n == MAX_MODULES) {
    doubled++;
    kmod_module_unref(mod);
    return 0;
  }
  s->mods[s->n++] = mod;
  return 1;
}

static void set_clear(struct set *s) {
  while (s->n > 0)
    kmod_module_unref(s->mods[--s->n]);
}

static void add_profile(struct set *plan, const struct set *profile) {
  for (int i = 0; i < profile->n; i++)
    set_add(plan, profile->mods[i]);
}

/* Borrowed: the first module of the profile that the plan has not got yet. */
static struct kmod_module *first_other(const struct set *plan, const struct set *profile) {
  for (int i = 0; i < profile->n; i++)
    if (!contains(plan, profile->mods[i]))
      return profile->mods[i];
  return NULL;
}

/* One module of a second choice. */
static int add_alternative(struct set *plan, const struct set *profile) {
  struct kmod_module *mod = first_other(plan, profile); /* ACCEPTED */

  if (!mod || plan->n == MAX_MODULES)
    return -1;
#ifdef BUG
  plan->mods[plan->n++] = mod; /* GUILTY */
#else
  plan->mods[plan->n++] = kmod_module_ref(mod);
#endif
  alternatives++;
  return 0;
}

/* A new reference to the module with the longest name, NULL for an empty plan. */
static struct kmod_module *longest(const struct set *plan) {
  struct kmod_module *best = NULL;

  for (int i = 0; i < plan->n; i++)
    if (!best || strlen(kmod_module_get_name(plan->mods[i])) > strlen(kmod_module_get_name(best)))
      best = plan->mods[i];
  return best ? kmod_module_ref(best) : NULL;
}

static int width(const struct set *plan) {
  struct kmod_module *mod = longest(plan);
  int w;

  if (!mod)
    return 0;
  w = (int)strlen(kmod_module_get_name(mod));
  kmod_module_unref(mod);
  return w;
}

/* What both plans want, as a list of the library's own kind. */
static int common(const struct set *a, const struct set *b) {
  int n = 0;

  for (int i = 0; i < a->n; i++) {
    struct kmod_module *mod = kmod_module_ref(a->mods[i]);

    if (!contains(b, mod)) {
      kmod_module_unref(mod);
      continue;
    }
    n += kmod_module_get_path(mod) == NULL;
    kmod_module_unref(mod);
  }
  return n;
}

/* Moves the newest module of one plan to another; the reference goes with it. */
static void move_last(struct set *from, struct set *to) {
  if (from->n == 0 || to->n == MAX_MODULES || contains(to, from->mods[from->n - 1]))
    return;
  to->mods[to->n++] = from->mods[--from->n];
}

static int open_library(void) {
  const char *no_config = NULL;
  char dir[] = "/tmp/module_plan.XXXXXX";

  if (!mkdtemp(dir))
    return -1;
  ctx = kmod_new(dir, &no_config);
  rmdir(dir);
  return ctx ? 0 : -1;
}

int main(void) {
  struct set plans[NPLANS] = {0};
  int planned = 0, wide = 0, shared = 0, kept = 0;
  char name[32];

  if (open_library() < 0)
    return 1;
  for (int p = 0; p < NPROFILES; p++)
    for (int i = 0; names[p][i]; i++)
      set_add_name(&profiles[p], names[p][i]);

  for (int i = 0; i < NPLANS; i++) {
    add_profile(&plans[i], &profiles[i % NPROFILES]);
    if (i % 2)
      add_profile(&plans[i], &profiles[(i + 1) % NPROFILES]);
    for (int j = 0; j < 3; j++) {
      snprintf(name, sizeof(name), "extra_%d", i * 2 + j);
      set_add_name(&plans[i], name);
    }
    set_add_name(&plans[i], i == 5 ? "" : "disk-core");
  }
  add_alternative(&plans[2], &profiles[1]); /* net_core */
  add_alternative(&plans[4], &profiles[2]); /* sound_core */
  add_alternative(&plans[0], &profiles[0]); /* it has them all */
  move_last(&plans[2], &plans[6]);
  move_last(&plans[7], &plans[4]);
  for (int i = 0; i < NPLANS; i++) {
    planned += plans[i].n;
    wide += width(&plans[i]);
    shared += common(&plans[i], &plans[(i + 1) % NPLANS]);
  }
  for (int i = 0; i < NPLANS; i++)
    set_clear(&plans[i]);
  set_clear(&profiles[3]); /* withdrawn */
  for (int p = 0; p < NPROFILES; p++)
    for (int i = 0; i < profiles[p].n; i++)
      kept += kmod_module_get_name(profiles[p].mods[i]) != NULL;
  printf("planned %d wide %d shared %d doubled %d full %d bad %d alternatives %d kept %d\n", planned, wide, shared,
         doubled, full, bad, alternatives, kept);
  return 0;
}
