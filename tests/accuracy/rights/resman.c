/* summary: handles with generations, slots in a memory file, handles that count and others that remember, revival from the graveyard, destruction at the end of a frame, a loader thread behind a pipe
 * track: own
 * build: gcc -O2 -g -o OUT resman.c -pthread
 */
/*
 * resman: a game's resource manager.  Resources sit in slots of a pool made
 * once (in a memfd that a debugger may map); handles are slot and generation,
 * counted or just remembered.  Pixels stay in the mapped pack they come from.
 * What is let go in a frame is destroyed when the "GPU" is through with it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MAX_RES 64
#define FRAMES_IN_FLIGHT 2

typedef uint32_t handle;		/* generation << 16 | index; 0 is none */

/* ---- packs: mapped files ------------------------------------------------------- */

struct pack {
	atomic_int refs;
	size_t size;
	unsigned char *base;
};

static atomic_int packs_mapped, failures;

static struct pack *
pack_open(const char *name, unsigned seed)
{
	struct pack *pack = malloc(sizeof *pack);
	int fd = memfd_create(name, MFD_CLOEXEC);
	unsigned char chunk[256];

	if (pack == NULL || fd < 0)
		abort();
	for (int i = 0; i < 32; i++) {
		memset(chunk, (int)(seed + (unsigned)i), sizeof chunk);
		if (write(fd, chunk, sizeof chunk) != (ssize_t)sizeof chunk)
			abort();
	}
	atomic_init(&pack->refs, 1);
	pack->size = 32 * sizeof chunk;
	pack->base = mmap(NULL, pack->size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (pack->base == MAP_FAILED)
		abort();
	atomic_fetch_add(&packs_mapped, 1);
	return pack;
}

static struct pack *
pack_retain(struct pack *pack)
{
	atomic_fetch_add_explicit(&pack->refs, 1, memory_order_relaxed);
	return pack;
}

static void
pack_release(struct pack *pack)
{
	if (atomic_fetch_sub_explicit(&pack->refs, 1, memory_order_acq_rel) != 1)
		return;
	munmap(pack->base, pack->size);
	atomic_fetch_sub(&packs_mapped, 1);
	free(pack);
}

/* ---- resources ------------------------------------------------------------------- */

enum res_type { RES_FREE, RES_TEXTURE, RES_MESH, RES_MATERIAL, RES_DYING = 8 };
enum res_state { LOADING, READY, FAILED };

struct resource {
	uint16_t generation;
	uint8_t type;
	_Atomic uint8_t state;
	atomic_int refs;
	unsigned let_go;		/* frame in which refs last fell to zero */
	union {
		struct { struct pack *pack; const unsigned char *pixels; unsigned size, average; } texture;
		struct { struct pack *pack; const unsigned char *vertices; unsigned count; } mesh;
		struct { handle textures[3]; handle fallback; } material;	/* counted */
		uint16_t next_free;
	} u;
};

static struct resource *pool;		/* slot 0 stays empty */
static uint16_t free_head;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static handle graveyard[FRAMES_IN_FLIGHT][MAX_RES];
static unsigned n_graves[FRAMES_IN_FLIGHT], frame, births, deaths;

/* NULL when the handle is stale; only good while somebody holds a reference. */
static struct resource *
res_lookup(handle h)
{
	struct resource *r = &pool[h & 0xffff];

	if (h == 0 || r->generation != h >> 16 || r->type == RES_FREE || (r->type & RES_DYING))
		return NULL;
	return r;
}

static handle
res_create(enum res_type type)
{
	struct resource *r;
	uint16_t index;

	pthread_mutex_lock(&pool_lock);
	index = free_head;
	r = &pool[index];
	free_head = r->u.next_free;		/* slot 0's is 0 */
	births += index != 0;
	pthread_mutex_unlock(&pool_lock);
	if (index == 0)
		return 0;
	memset(&r->u, 0, sizeof r->u);
	r->type = (uint8_t)type;
	r->let_go = frame - FRAMES_IN_FLIGHT;
	atomic_store(&r->state, LOADING);
	atomic_store(&r->refs, 1);
	return (handle)r->generation << 16 | index;
}

static handle
res_retain(handle h)
{
	atomic_fetch_add(&pool[h & 0xffff].refs, 1);
	return h;
}

/* From a remembered handle to a counted one, unless it is too late. */
static handle
res_try_retain(handle h)
{
	struct resource *r;

	pthread_mutex_lock(&pool_lock);
	if ((r = res_lookup(h)) != NULL)
		atomic_fetch_add(&r->refs, 1);
	pthread_mutex_unlock(&pool_lock);
	return r ? h : 0;
}

static void
res_release(handle h)
{
	struct resource *r = &pool[h & 0xffff];

	if (h == 0)
		return;
	pthread_mutex_lock(&pool_lock);	/* as try_retain may be at it */
	if (atomic_fetch_sub(&r->refs, 1) == 1 && r->let_go != frame) {
		r->let_go = frame;
		graveyard[frame % FRAMES_IN_FLIGHT][n_graves[frame % FRAMES_IN_FLIGHT]++] = h;
	}
	pthread_mutex_unlock(&pool_lock);
}

static void
res_destroy(struct resource *r)
{
	enum res_type type = r->type & ~RES_DYING;

	if (type == RES_TEXTURE && r->u.texture.pack != NULL) {
		pack_release(r->u.texture.pack);
	} else if (type == RES_MESH && r->u.mesh.pack != NULL) {
		pack_release(r->u.mesh.pack);
	} else if (type == RES_MATERIAL) {
		for (int i = 0; i < 3; i++)
			res_release(r->u.material.textures[i]);
		res_release(r->u.material.fallback);
	}
	pthread_mutex_lock(&pool_lock);
	deaths++;
	if (++r->generation == 0)
		r->generation = 1;
	r->type = RES_FREE;
	r->u.next_free = free_head;
	free_head = (uint16_t)(r - pool);
	pthread_mutex_unlock(&pool_lock);
}

/* The GPU is through with the oldest frame: bury what was let go in it. */
static void
end_frame(void)
{
	struct resource *dead[MAX_RES];
	unsigned n = 0, f;

	pthread_mutex_lock(&pool_lock);
	f = ++frame % FRAMES_IN_FLIGHT;
	for (unsigned i = 0; i < n_graves[f]; i++) {
		struct resource *r = &pool[graveyard[f][i] & 0xffff];

		/* a remembered handle may have brought it back in the meantime */
		if (atomic_load(&r->refs) == 0 && frame - r->let_go >= FRAMES_IN_FLIGHT) {
			r->type |= RES_DYING;
			dead[n++] = r;
		}
	}
	n_graves[f] = 0;
	pthread_mutex_unlock(&pool_lock);
	for (unsigned i = 0; i < n; i++)
		res_destroy(dead[i]);
}

/* ---- the loader ------------------------------------------------------------------ */

struct request {			/* carries a reference to each */
	handle h;
	uint32_t offset;
	struct pack *pack;
};

static int request_pipe[2];

static void *
loader_main(void *arg)
{
	struct request req;

	while (read(request_pipe[0], &req, sizeof req) == (ssize_t)sizeof req) {
		struct resource *r = &pool[req.h & 0xffff];
		unsigned sum = 0;

		if (req.offset + 256 > req.pack->size) {
			atomic_store(&r->state, FAILED);
			failures++;
			pack_release(req.pack);
		} else if (r->type == RES_TEXTURE) {
			for (int i = 0; i < 256; i++)
				sum += req.pack->base[req.offset + (size_t)i];
			r->u.texture.pack = req.pack;		/* moves in */
			r->u.texture.pixels = req.pack->base + req.offset;
			r->u.texture.size = 256;
			r->u.texture.average = sum / 256;
			atomic_store(&r->state, READY);
		} else {
			r->u.mesh.pack = req.pack;
			r->u.mesh.vertices = req.pack->base + req.offset;
			r->u.mesh.count = 256 / 12;
			atomic_store(&r->state, READY);
		}
		res_release(req.h);
	}
	return NULL;
}

static handle
load(enum res_type type, struct pack *pack, unsigned item)
{
	static handle known[2][40];		/* remembered, not counted */
	handle *memo = &known[type == RES_MESH][item], h = res_try_retain(*memo);

	if (h == 0 && (h = res_create(type)) != 0) {
		struct request req = { res_retain(h), item * 256, pack_retain(pack) };

		*memo = h;
		if (write(request_pipe[1], &req, sizeof req) != (ssize_t)sizeof req)
			abort();
	}
	return h;
}

/* ---- the game --------------------------------------------------------------------- */

struct entity { handle mesh, material; };

int
main(void)
{
	struct entity entities[12] = { { 0, 0 } };
	unsigned drawn = 0, waiting = 0, stale = 0;
	handle fallback, old = 0;
	struct pack *pack;
	pthread_t loader;
	int fd = memfd_create("pool", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, MAX_RES * sizeof *pool) != 0 || pipe(request_pipe) != 0)
		return 1;
	pool = mmap(NULL, MAX_RES * sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (pool == MAP_FAILED || pthread_create(&loader, NULL, loader_main, NULL) != 0)
		return 1;
	for (unsigned i = MAX_RES - 1; i > 0; i--) {
		pool[i].generation = 1;
		pool[i].u.next_free = free_head;
		free_head = (uint16_t)i;
	}

	pack = pack_open("level0", 0);
	fallback = load(RES_TEXTURE, pack, 31);
	for (unsigned tick = 0; tick < 120; tick++) {
		struct entity *e = &entities[tick * 5 % 12];

		if (tick % 40 == 39) {		/* next level; what is in use keeps the old one */
			pack_release(pack);
			pack = pack_open("level", tick);
		}
		res_release(e->mesh);
		res_release(e->material);
		e->mesh = load(RES_MESH, pack, tick % 9);
		e->material = res_create(RES_MATERIAL);
		if (e->material != 0) {
			struct resource *m = &pool[e->material & 0xffff];

			for (unsigned i = 0; i < 3; i++)
				m->u.material.textures[i] = load(RES_TEXTURE, pack, (tick + i * 3) % 10 + (tick % 30 == 7 ? 25 : 0));
			m->u.material.fallback = res_retain(fallback);
			atomic_store(&m->state, READY);
		}
		for (int i = 0; i < 12; i++) {
			struct resource *m = res_lookup(entities[i].material);

			for (int t = 0; m != NULL && t < 3; t++) {
				uint8_t state = atomic_load(&pool[m->u.material.textures[t] & 0xffff].state);

				drawn += state == READY;
				waiting += state != READY;
			}
		}
		if (tick % 10 == 0)
			old = entities[0].material;
		else if (tick % 10 == 9 && res_try_retain(old) != 0)
			res_release(old);
		else if (tick % 10 == 9)
			stale++;
		end_frame();
	}
	for (int i = 0; i < 12; i++) {
		res_release(entities[i].mesh);
		res_release(entities[i].material);
	}
	res_release(fallback);
	pack_release(pack);
	close(request_pipe[1]);
	pthread_join(loader, NULL);
	for (int i = 0; i < 2 * FRAMES_IN_FLIGHT + 2; i++)
		end_frame();
	printf("seen %u, failures %s, stale handles %u, births - deaths %u, packs %d\n", drawn + waiting,
	    failures > 0 ? "some" : "none", stale, births - deaths, packs_mapped);
	munmap(pool, MAX_RES * sizeof *pool);
	return births == deaths ? 0 : 1;
}
