/* summary: action_rebind invalidates the closure it replaces but does not give its reference to it back
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GClosure GParamSpec
 * packages: gobject-2.0
 * build: clang -O3 -g
 * exit: 0
 */
/* Actions of an application: a name, a description of the parameter, and a closure that does the work. */
#include <glib-object.h>
#include <stdio.h>

struct action {
  char *name;
  GParamSpec *param; /* owned */
  GClosure *closure; /* owned; NULL if the action does nothing */
  int runs;
};

/* All actions, for as long as the program runs. */
static GHashTable *actions;
/* Closures to be run once more when all is quiet, owned. */
static GQueue later = G_QUEUE_INIT;

static int closures_alive;

static void count_end(gpointer data, GClosure *closure) { closures_alive--; }

static void forget_data(gpointer data, GClosure *closure) { g_free(data); }

/* Returns a floating closure: whoever stores it has to take a reference and to sink it. */
static GClosure *work_new(GCallback work, int factor) {
  int *data = g_new(int, 1);
  GClosure *c;

  *data = factor;
  c = g_cclosure_new(work, data, NULL);
  g_closure_set_marshal(c, g_cclosure_marshal_VOID__INT);
  g_closure_add_finalize_notifier(c, data, forget_data);
  g_closure_add_finalize_notifier(c, NULL, count_end);
  closures_alive++;
  return c;
}

/* Takes a reference of its own; a floating closure is the store's from then on. */
static GClosure *closure_keep(GClosure *c) {
  g_closure_ref(c);
  g_closure_sink(c);
  return c;
}

static void action_free(gpointer data) {
  struct action *a = data;
  if (a->closure) {
    g_closure_invalidate(a->closure);
    g_closure_unref(a->closure);
  }
  g_param_spec_unref(a->param);
  g_free(a->name);
  g_free(a);
}

/* Takes over the floating description. */
static struct action *action_add(const char *name, GParamSpec *param, GClosure *closure) {
  struct action *a = g_new0(struct action, 1);
  a->name = g_strdup(name);
  a->param = g_param_spec_ref_sink(param);
  a->closure = closure ? closure_keep(closure) : NULL;
  g_hash_table_replace(actions, a->name, a);
  return a;
}

static struct action *action_find(const char *name) { return g_hash_table_lookup(actions, name); }

static void action_unbind(struct action *a) {
  GClosure *old = g_steal_pointer(&a->closure);
  if (!old)
    return;
  g_closure_invalidate(old);
  g_closure_unref(old);
}

/* The old work must never be done again, even if somebody else still keeps it. */
static gboolean action_rebind(struct action *a, GClosure *closure) {
  GClosure *old = a->closure;

  if (!closure) {
    action_unbind(a);
    return FALSE;
  }
  if (old == closure)
    return FALSE;
  a->closure = closure_keep(closure); /* ACCEPTED */
  if (old) {
    g_closure_invalidate(old); /* ACCEPTED */
#ifndef BUG
    g_closure_unref(old);
#endif
  }            /* GUILTY */
  return TRUE; /* ACCEPTED */
}

static void call(GClosure *c, int n) {
  GValue args[2] = {G_VALUE_INIT, G_VALUE_INIT};
  static int self;

  g_value_init(&args[0], G_TYPE_POINTER);
  g_value_set_pointer(&args[0], &self);
  g_value_init(&args[1], G_TYPE_INT);
  g_value_set_int(&args[1], n);
  g_closure_invoke(c, NULL, 2, args, NULL);
  g_value_unset(&args[1]);
  g_value_unset(&args[0]);
}

static gboolean action_run(struct action *a, int n) {
  GValue v = G_VALUE_INIT;
  GParamSpec *param = g_param_spec_ref(a->param);

  g_value_init(&v, G_TYPE_INT);
  g_value_set_int(&v, n);
  g_param_value_validate(param, &v); /* brings it into the range */
  if (!a->closure) {
    g_value_unset(&v);
    g_param_spec_unref(param);
    return FALSE;
  }
  a->runs++;
  call(a->closure, g_value_get_int(&v));
  if (n % 4 == 1)
    g_queue_push_tail(&later, g_closure_ref(a->closure));
  g_value_unset(&v);
  g_param_spec_unref(param);
  return TRUE;
}

static int run_later(void) {
  GClosure *c;
  int n = 0;
  while ((c = g_queue_pop_head(&later)) != NULL) {
    call(c, 1); /* does nothing if it was invalidated meanwhile */
    g_closure_unref(c);
    n++;
  }
  return n;
}

static long total;

static void add_work(gpointer self, int n, gpointer data) { total += n * *(int *)data; }

static void sub_work(gpointer self, int n, gpointer data) { total -= n * *(int *)data; }

int main(void) {
  char name[16];
  int done = 0;

  actions = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, action_free);
  GParamSpec *common = g_param_spec_ref_sink(g_param_spec_int("level", NULL, NULL, 0, 50, 1, G_PARAM_READWRITE));
  for (int i = 0; i < 24; i++) {
    g_snprintf(name, sizeof(name), "action-%d", i);
    action_add(name, i % 3 ? common : g_param_spec_int("count", NULL, NULL, -5, 5, 0, G_PARAM_READWRITE),
               i == 9 ? NULL : work_new(G_CALLBACK(i % 2 ? add_work : sub_work), i));
  }
  g_param_spec_unref(common);
  for (int i = 0; i < 24; i++) {
    g_snprintf(name, sizeof(name), "action-%d", i);
    done += action_run(action_find(name), i * 3);
  }
  /* the user assigns other work to some of them; one work serves two actions */
  GClosure *shared = closure_keep(work_new(G_CALLBACK(add_work), 100));
  done += action_rebind(action_find("action-9"), shared);
  done += action_rebind(action_find("action-9"), shared);
  done += action_rebind(action_find("action-3"), work_new(G_CALLBACK(sub_work), 7));
  done += action_rebind(action_find("action-4"), work_new(G_CALLBACK(add_work), 8));
  done += action_rebind(action_find("action-15"), shared);
  done += action_rebind(action_find("action-16"), NULL);
  g_closure_unref(shared);
  done += run_later();
  for (int i = 0; i < 24; i += 2) {
    g_snprintf(name, sizeof(name), "action-%d", i);
    done += action_run(action_find(name), 9);
  }
  done += run_later();
  g_hash_table_unref(actions);
#ifdef TRUTH
  printf("%d closures left\n", closures_alive);
#endif
  printf("%d done, total %ld\n", done, total);
  return 0;
}
