/* summary: worker_reload() replaces the configuration that the worker has without releasing the old one
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * Workers of a proxy that read the configuration without locks: each has a
 * counted pointer to the one it works with, and takes the new one when the
 * generation moved on.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NWORKERS 3
#define MAXROUTES 8
#define EPOCHS 5
#define REQUESTS 30

struct route {
	char prefix[24];
	int backend;
	int limit;
};

struct conf {
	unsigned generation;
	atomic_int users;
	int nroutes;
	struct route routes[MAXROUTES];
	char *banner;
};

struct master {
	pthread_mutex_t lock;
	struct conf *current;		/* under lock */
	atomic_uint generation;
	pthread_barrier_t epoch;
	atomic_int live;
};

struct worker {
	pthread_t thread;
	int id;
	struct conf *conf;
	unsigned reloads;
	unsigned long served, denied, nowhere;
	int used[MAXROUTES];
};

static struct master master = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- configurations ---- */

static struct conf *conf_new(unsigned generation)
{
	struct conf *c = calloc(1, sizeof(*c));
	char text[48];

	if (!c)
		abort();
	c->generation = generation;
	atomic_init(&c->users, 1);
	snprintf(text, sizeof(text), "proxy/1.%u", generation);
	c->banner = strdup(text);
	atomic_fetch_add(&master.live, 1);
	return c;
}

static struct conf *conf_acquire(struct conf *c)
{
	atomic_fetch_add_explicit(&c->users, 1, memory_order_relaxed);
	return c;
}

static void conf_release(struct conf *c)
{
	if (!c)
		return;
	if (atomic_fetch_sub_explicit(&c->users, 1, memory_order_release) != 1)
		return;
	atomic_thread_fence(memory_order_acquire);
	free(c->banner);
	free(c);
	atomic_fetch_sub(&master.live, 1);
}

/* One line is "prefix backend limit". */
static bool conf_parse_line(struct conf *c, const char *line)
{
	struct route *r;

	if (c->nroutes == MAXROUTES)
		return false;
	r = &c->routes[c->nroutes];
	if (sscanf(line, "%23s %d %d", r->prefix, &r->backend, &r->limit) != 3)
		return false;
	if (r->prefix[0] != '/' || r->limit <= 0)
		return false;
	c->nroutes++;
	return true;
}

static struct conf *conf_parse(const char *const *lines, unsigned generation)
{
	struct conf *c = conf_new(generation);

	for (; *lines; lines++) {
		if (!conf_parse_line(c, *lines)) {
			conf_release(c);
			return NULL;
		}
	}
	return c;
}

static int conf_route(const struct conf *c, const char *path)
{
	int best = -1;
	size_t longest = 0;

	for (int i = 0; i < c->nroutes; i++) {
		size_t n = strlen(c->routes[i].prefix);

		if (n > longest && strncmp(path, c->routes[i].prefix, n) == 0) {
			best = i;
			longest = n;
		}
	}
	return best;
}

/* ---- master ---- */

static bool master_load(const char *const *lines)
{
	unsigned generation = atomic_load(&master.generation) + 1;
	struct conf *c = conf_parse(lines, generation), *old;

	if (!c)
		return false;
	pthread_mutex_lock(&master.lock);
	old = master.current;
	master.current = c;
	pthread_mutex_unlock(&master.lock);
	conf_release(old);
	atomic_store(&master.generation, generation);
	return true;
}

static struct conf *master_current(void)
{
	struct conf *c;

	pthread_mutex_lock(&master.lock);
	c = conf_acquire(master.current);
	pthread_mutex_unlock(&master.lock);
	return c;
}

/* ---- workers ---- */

static void worker_reload(struct worker *w)
{
	if (w->conf && w->conf->generation == atomic_load(&master.generation))
		return;
#ifndef BUG
	conf_release(w->conf);
#endif
	w->conf = master_current();	/* GUILTY */
	memset(w->used, 0, sizeof(w->used));
	w->reloads++;
}

static void worker_serve(struct worker *w, const char *path)
{
	int i = conf_route(w->conf, path);

	if (i < 0)
		w->nowhere++;
	else if (w->used[i] >= w->conf->routes[i].limit)
		w->denied++;
	else {
		w->used[i]++;
		w->served++;
	}
}

static void *worker_main(void *arg)
{
	static const char *const paths[] = {
		"/", "/img/logo.png", "/api/v1/users", "/api/v2/orders", "/static/app.js", "/img/", "/api", "other",
	};
	struct worker *w = arg;

	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		pthread_barrier_wait(&master.epoch);	/* the master has loaded */
		for (int i = 0; i < REQUESTS; i++) {
			worker_reload(w);
			worker_serve(w, paths[(i * 5 + w->id) % 8]);
		}
		pthread_barrier_wait(&master.epoch);
	}
	conf_release(w->conf);
	w->conf = NULL;
	return NULL;
}

static const char *const conf1[] = { "/ 1 10", "/img 2 8", NULL };
static const char *const conf2[] = { "/ 1 10", "/img 2 8", "/api 3 4", NULL };
static const char *const conf3[] = { "/ 1 10", "img 2 8", NULL };	/* a mistake */
static const char *const conf4[] = { "/ 1 20", "/img 2 8", "/api/v1 3 4", "/api/v2 4 6", NULL };
static const char *const conf5[] = { "/ 1 20", "/api/v2 4 6", "/static 5 30", NULL };
static const char *const conf6[] = { "/ 1 5", NULL };

int main(void)
{
	static const char *const *const files[EPOCHS] = { conf1, conf2, conf4, conf5, conf6 };
	struct worker workers[NWORKERS];
	unsigned long served = 0, denied = 0, nowhere = 0;
	int rejected = 0;

	memset(workers, 0, sizeof(workers));
	pthread_barrier_init(&master.epoch, NULL, NWORKERS + 1);
	for (int i = 0; i < NWORKERS; i++) {
		workers[i].id = i;
		pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
	}
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		if (epoch == 2 && !master_load(conf3))
			rejected++;
		master_load(files[epoch]);
		pthread_barrier_wait(&master.epoch);	/* work */
		pthread_barrier_wait(&master.epoch);	/* done */
	}
	for (int i = 0; i < NWORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		served += workers[i].served;
		denied += workers[i].denied;
		nowhere += workers[i].nowhere;
	}
	conf_release(master.current);
	pthread_barrier_destroy(&master.epoch);
	printf("%lu served, %lu denied, %lu without a route, %d files rejected\n", served, denied, nowhere, rejected);
	return 0;
}
