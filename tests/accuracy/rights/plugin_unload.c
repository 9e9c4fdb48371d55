/* summary: counted widgets whose get/put/free live in two plugins (same names and type name, different counter offset); dlopen/dlclose 12 times each, maybe at other addresses; a put loop that walks up the parents; module counted by its widgets (0 = unloaded, not dead); a one-object cache in the plugin
 * track: own
 * build: gcc -O0 -g -fPIC -shared -DPLUGIN=1 plugin_unload.c -o OUT.p1.so && gcc -O2 -g -fPIC -shared -DPLUGIN=2 plugin_unload.c -o OUT.p2.so && gcc -O0 -g plugin_unload.c -o OUT -ldl
 */
/* One source, built twice: with -DPLUGIN as a shared object.  The host loads
 * it with dlopen(), gets counted widgets whose put function and free function
 * live in the plugin, and unloads it when the last widget is gone - then loads
 * it again, maybe at another address.  The module itself is counted by its
 * widgets (GModule/GTypePlugin "use" count).  Two loaded copies have the same
 * type names with different layouts (the counter sits at another offset).    */
#ifdef PLUGIN
#include <stdlib.h>
struct module;
struct host_api { void (*module_use)(struct module *); void (*module_unuse)(struct module *); };

struct widget {
#if PLUGIN == 2
	double pos[3];          /* here the counter is not at the start */
#endif
	int refcount;
	struct module *mod;
	int value;
	struct widget *parent;  /* counted */
};
static const struct host_api *host;
static int alive;
static struct widget *last_made;        /* a cache owning one */

struct widget *widget_new(struct module *m, struct widget *parent, int v);
struct widget *widget_ref(struct widget *w);
void widget_unref(struct widget *w);
int widget_value(struct widget *w);
int plugin_init(const struct host_api *h);
int plugin_fini(void);

struct widget *widget_ref(struct widget *w) { w->refcount++; return w; }
void widget_unref(struct widget *w)
{
	while (w && --w->refcount == 0) {       /* no recursion: goes up */
		struct widget *p = w->parent;
		host->module_unuse(w->mod);
		alive--;
		free(w);
		w = p;
	}
}
struct widget *widget_new(struct module *m, struct widget *parent, int v)
{
	struct widget *w = malloc(sizeof *w);
	w->refcount = 1;
	w->mod = m;
	w->value = v * PLUGIN;
	w->parent = parent ? widget_ref(parent) : NULL;
	host->module_use(m);
	alive++;
	widget_unref(last_made);
	last_made = widget_ref(w);
	return w;
}
int widget_value(struct widget *w) { return w->value; }
int plugin_init(const struct host_api *h) { host = h; return 0; }
int plugin_fini(void)
{
	widget_unref(last_made);
	last_made = NULL;
	return alive;
}
__attribute__((destructor)) static void unload(void) { host = NULL; }

#else /* ------------------------------------------------------------ host */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct widget;
struct module {
	int uses;               /* 0: loaded by nobody; the struct stays */
	int loads;
	void *dl;
	char path[512];
	struct widget *(*new)(struct module *, struct widget *, int);
	struct widget *(*ref)(struct widget *);
	void (*unref)(struct widget *);
	int (*value)(struct widget *);
	int (*fini)(void);
};
struct host_api { void (*module_use)(struct module *); void (*module_unuse)(struct module *); };

static void module_use(struct module *m);
static void module_unuse(struct module *m);
static const struct host_api api = { module_use, module_unuse };
static struct module *pending;          /* to be closed outside of its code */

static void module_use(struct module *m)
{
	if (m->uses++ > 0) return;
	if (m->dl) return;
	m->dl = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
	if (!m->dl) { fprintf(stderr, "%s\n", dlerror()); exit(2); }
	m->loads++;
	m->new = dlsym(m->dl, "widget_new");
	m->ref = dlsym(m->dl, "widget_ref");
	m->unref = dlsym(m->dl, "widget_unref");
	m->value = dlsym(m->dl, "widget_value");
	m->fini = dlsym(m->dl, "plugin_fini");
	int (*init)(const struct host_api *) = dlsym(m->dl, "plugin_init");
	init(&api);
}
static void module_unuse(struct module *m)
{
	if (--m->uses == 0) pending = m;        /* we may have been called from it */
}
static void reap_modules(void)
{
	struct module *m = pending;
	pending = NULL;
	if (m && m->uses == 0 && m->dl) {
		dlclose(m->dl);
		m->dl = NULL;
		m->new = NULL;
	}
}

int main(void)
{
	static struct module mods[2];
	char exe[400];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	long sum = 0;
	if (n < 0) return 2;
	exe[n] = 0;
	snprintf(mods[0].path, sizeof mods[0].path, "%s.p1.so", exe);
	snprintf(mods[1].path, sizeof mods[1].path, "%s.p2.so", exe);

	for (int round = 0; round < 12; round++) {
		for (int k = 0; k < 2; k++) {
			struct module *m = &mods[k];
			struct widget *w[20];
			module_use(m);          /* our own use while we make some */
			for (int i = 0; i < 20; i++)
				w[i] = m->new(m, i ? w[i - 1] : NULL, i + round);
			/* only the last is kept; it pins its chain of parents */
			for (int i = 0; i < 19; i++) m->unref(w[i]);
			m->ref(w[19]);
			sum += m->value(w[19]);
			m->unref(w[19]);
			if (m->fini() != 20) return 3;  /* cache emptied, chain alive */
			module_unuse(m);        /* widgets still use it */
			reap_modules();
			if (!m->dl) return 4;
			m->unref(w[19]);        /* 20 die; the module is unused now */
			reap_modules();
			if (m->dl) return 5;
		}
	}
	printf("sum %ld loads %d %d uses %d %d\n", sum, mods[0].loads, mods[1].loads, mods[0].uses, mods[1].uses);
	return mods[0].uses || mods[1].uses;
}
#endif
