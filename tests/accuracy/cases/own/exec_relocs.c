/* summary: the unwinding loop of a refused submission stops before the first buffer
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 */
/* Buffer objects of a render server: clients name buffers by handles, submissions look them up and hold them while the engine
 * thread patches their relocations and runs them. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HANDLES 32
#define MAX_RELOCS 8

struct bo {
	uint32_t size;
	uint32_t flags;
	uint64_t gpu_address;
	atomic_int refcount;
	atomic_int pins;
	uint32_t *map;
};

#define BO_READONLY 1u

struct reloc {
	uint32_t handle;
	uint32_t offset;
	bool write;
};

struct submission {
	struct submission *next;
	unsigned seqno;
	int nr_bos;
	struct bo *bos[MAX_RELOCS];
	struct reloc relocs[MAX_RELOCS];
};

struct client {
	pthread_mutex_t lock;
	struct bo *handles[MAX_HANDLES];
};

struct engine {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct submission *head, **tail;
	unsigned next_seqno, retired;
	bool stopping;
};

static uint64_t next_gpu_address = 0x100000;

static struct bo *bo_create(uint32_t size, uint32_t flags)
{
	struct bo *bo = calloc(1, sizeof(*bo));

	if (!bo)
		return NULL;
	bo->map = calloc(size / 4, 4);
	if (!bo->map) {
		free(bo);
		return NULL;
	}
	bo->size = size;
	bo->flags = flags;
	bo->gpu_address = next_gpu_address;
	next_gpu_address += (size + 4095u) & ~4095u;
	atomic_init(&bo->refcount, 1);
	return bo;
}

static inline struct bo *bo_get(struct bo *bo)
{
	atomic_fetch_add_explicit(&bo->refcount, 1, memory_order_relaxed);
	return bo;
}

static inline void bo_put(struct bo *bo)
{
	if (bo && atomic_fetch_sub_explicit(&bo->refcount, 1, memory_order_acq_rel) == 1) {
		free(bo->map);
		free(bo);
	}
}

/* the table's reference is the caller's, handed over */
static int handle_install(struct client *client, struct bo *bo)
{
	int handle;

	pthread_mutex_lock(&client->lock);
	for (handle = 1; handle < MAX_HANDLES; handle++)
		if (!client->handles[handle])
			break;
	if (handle < MAX_HANDLES)
		client->handles[handle] = bo;
	pthread_mutex_unlock(&client->lock);
	return handle < MAX_HANDLES ? handle : -ENFILE;
}

static struct bo *bo_lookup(struct client *client, uint32_t handle)
{
	struct bo *bo = NULL;

	pthread_mutex_lock(&client->lock);
	if (handle < MAX_HANDLES && client->handles[handle])
		bo = bo_get(client->handles[handle]);
	pthread_mutex_unlock(&client->lock);
	return bo;
}

static void handle_close(struct client *client, uint32_t handle)
{
	struct bo *bo;

	pthread_mutex_lock(&client->lock);
	bo = client->handles[handle];
	client->handles[handle] = NULL;
	pthread_mutex_unlock(&client->lock);
	bo_put(bo);
}

static int client_create_bo(struct client *client, uint32_t size, uint32_t flags)
{
	struct bo *bo = bo_create(size, flags);
	int handle;

	if (!bo)
		return -ENOMEM;
	handle = handle_install(client, bo);
	if (handle < 0)
		bo_put(bo);
	return handle;
}

static int share_bo(struct client *from, uint32_t handle, struct client *to)
{
	struct bo *bo = bo_lookup(from, handle);
	int shared;

	if (!bo)
		return -ENOENT;
	shared = handle_install(to, bo);
	if (shared < 0)
		bo_put(bo);
	return shared;
}

static int submit(struct engine *engine, struct client *client, const struct reloc *relocs, int nr)
{
	struct submission *sub;
	int i, err = 0;

	if (nr < 1 || nr > MAX_RELOCS)
		return -E2BIG;
	sub = calloc(1, sizeof(*sub));
	if (!sub)
		return -ENOMEM;
	memcpy(sub->relocs, relocs, nr * sizeof(*relocs));
	sub->nr_bos = nr;
	for (i = 0; i < nr; i++) {
		struct bo *bo = bo_lookup(client, relocs[i].handle);

		if (!bo) {
			err = -ENOENT;
			goto unwind;
		}
		if (relocs[i].offset + 8 > bo->size || (relocs[i].write && (bo->flags & BO_READONLY))) {
			bo_put(bo);
			err = -EINVAL;
			goto unwind;
		}
		atomic_fetch_add(&bo->pins, 1);
		sub->bos[i] = bo;
	}
	pthread_mutex_lock(&engine->lock);
	sub->seqno = ++engine->next_seqno;
	*engine->tail = sub;
	engine->tail = &sub->next;
	pthread_cond_signal(&engine->wake);
	pthread_mutex_unlock(&engine->lock);
	return 0;

unwind:
#ifdef BUG
	while (--i > 0) { /* GUILTY */
#else
	while (--i >= 0) {
#endif
		atomic_fetch_sub(&sub->bos[i]->pins, 1);
		bo_put(sub->bos[i]);
	}
	free(sub);
	return err;
}

static void retire(struct submission *sub)
{
	for (int i = 0; i < sub->nr_bos; i++) {
		struct bo *bo = sub->bos[i];

		if (sub->relocs[i].write)
			memcpy((char *)bo->map + sub->relocs[i].offset, &bo->gpu_address, 8);
		atomic_fetch_sub(&bo->pins, 1);
		bo_put(bo);
	}
	free(sub);
}

static void *engine_main(void *arg)
{
	struct engine *engine = arg;

	pthread_mutex_lock(&engine->lock);
	for (;;) {
		struct submission *sub;

		while (!engine->head && !engine->stopping)
			pthread_cond_wait(&engine->wake, &engine->lock);
		sub = engine->head;
		if (!sub)
			break;
		engine->head = sub->next;
		if (!engine->head)
			engine->tail = &engine->head;
		pthread_mutex_unlock(&engine->lock);
		retire(sub);
		pthread_mutex_lock(&engine->lock);
		engine->retired++;
	}
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}

int main(void)
{
	struct client scene = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct client panel = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct engine engine = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };
	int vertices, indices, target, atlas, state, glyphs, panel_target;

	engine.tail = &engine.head;
	pthread_create(&engine.thread, NULL, engine_main, &engine);
	vertices = client_create_bo(&scene, 4096, 0);
	indices = client_create_bo(&scene, 1024, 0);
	target = client_create_bo(&scene, 16384, 0);
	atlas = client_create_bo(&scene, 8192, BO_READONLY);
	state = client_create_bo(&scene, 256, 0);
	glyphs = share_bo(&scene, atlas, &panel);
	panel_target = client_create_bo(&panel, 2048, 0);

	struct reloc frame[] = { { vertices, 0, false }, { indices, 64, false }, { atlas, 0, false }, { target, 128, true } };
	struct reloc stale[] = { { state, 0, true }, { vertices, 8, false }, { 29, 0, false } };
	struct reloc text[] = { { glyphs, 0, false }, { panel_target, 16, true } };
	struct reloc bad_write[] = { { panel_target, 0, true }, { glyphs, 32, true } };
	struct reloc too_far[] = { { state, 252, true }, { target, 0, true } };

	for (int i = 0; i < 6; i++) {
		submit(&engine, &scene, frame, 4);
		submit(&engine, &panel, text, 2);
	}
	printf("stale: %d\n", submit(&engine, &scene, stale, 3));
	printf("bad write: %d\n", submit(&engine, &panel, bad_write, 2));
	printf("too far: %d\n", submit(&engine, &scene, too_far, 2));
	submit(&engine, &scene, frame, 4);
	for (uint32_t handle = 1; handle < MAX_HANDLES; handle++) {
		handle_close(&scene, handle);
		handle_close(&panel, handle);
	}
	pthread_mutex_lock(&engine.lock);
	engine.stopping = true;
	pthread_cond_signal(&engine.wake);
	pthread_mutex_unlock(&engine.lock);
	pthread_join(engine.thread, NULL);
	printf("%u of %u submissions retired\n", engine.retired, engine.next_seqno);
	return engine.retired == engine.next_seqno ? 0 : 1;
}
