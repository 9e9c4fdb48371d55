/*
 * summary: the lookup by id takes a plain reference on namespaces that wait for their removal with a count of zero
 * kind: late-get
 * counts: none
 * objects: 2
 * track: own
 * build: gcc -O2 -g
 * libs: -pthread
 */
/* Namespaces of a storage controller emulation. What is left to do for a removed namespace (flush of
 * the cache, unlinking) must not run in the context of the last user, so it goes to deferred work. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kref.h ---- */
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

struct kref {
	struct {
		atomic_int counter;
	} refcount;
};

static inline void kref_init(struct kref *kref)
{
	atomic_store(&kref->refcount.counter, 1);
}

static inline void kref_get(struct kref *kref)
{
	atomic_fetch_add(&kref->refcount.counter, 1);
}

static inline bool kref_get_unless_zero(struct kref *kref)
{
	int old = atomic_load(&kref->refcount.counter);

	while (old != 0)
		if (atomic_compare_exchange_weak(&kref->refcount.counter, &old, old + 1))
			return true;
	return false;
}

static inline bool kref_put(struct kref *kref, void (*release)(struct kref *kref))
{
	if (atomic_fetch_sub(&kref->refcount.counter, 1) != 1)
		return false;
	release(kref);
	return true;
}

/* ---- work.h ---- */
struct work {
	struct work *next;
	void (*func)(struct work *work);
	bool pending;
};

static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;
static struct work *work_head, **work_tail = &work_head;

/* Queues the work unless it is queued already. */
static void schedule_work(struct work *work)
{
	pthread_mutex_lock(&work_lock);
	if (!work->pending) {
		work->pending = true;
		work->next = NULL;
		*work_tail = work;
		work_tail = &work->next;
	}
	pthread_mutex_unlock(&work_lock);
}

static void run_scheduled_work(void)
{
	for (;;) {
		struct work *work;

		pthread_mutex_lock(&work_lock);
		work = work_head;
		if (work) {
			work_head = work->next;
			if (!work_head)
				work_tail = &work_head;
			work->pending = false;
		}
		pthread_mutex_unlock(&work_lock);
		if (!work)
			return;
		work->func(work);
	}
}

/* ---- namespaces ---- */
#define BLOCK 64

struct nvm_ns {
	struct nvm_ns *next;
	uint32_t nsid;
	uint32_t blocks;
	struct kref ref;
	struct work removal;
	atomic_uint reads, writes;
	unsigned char *data;
};

struct nvm_bio {
	struct nvm_bio *next;
	struct nvm_ns *ns;
	uint32_t block;
	unsigned char fill;
};

struct nvm_ctrl {
	pthread_mutex_t lock;
	struct nvm_ns *namespaces;
	struct nvm_bio *deferred;
	unsigned finished;
};

static struct nvm_ctrl ctrl = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ns_removal(struct work *work)
{
	struct nvm_ns *ns = container_of(work, struct nvm_ns, removal);
	struct nvm_ns **link;

	pthread_mutex_lock(&ctrl.lock);
	for (link = &ctrl.namespaces; *link; link = &(*link)->next)
		if (*link == ns) {
			*link = ns->next;
			break;
		}
	ctrl.finished++;
	pthread_mutex_unlock(&ctrl.lock);
	printf("namespace %u gone, %u reads, %u writes\n", ns->nsid, ns->reads, ns->writes);
	free(ns->data);
	free(ns);
}

static void ns_release(struct kref *ref)
{
	schedule_work(&container_of(ref, struct nvm_ns, ref)->removal);
}

static void ns_put(struct nvm_ns *ns)
{
	kref_put(&ns->ref, ns_release);
}

static struct nvm_ns *ns_attach(uint32_t nsid, uint32_t blocks)
{
	struct nvm_ns *ns = calloc(1, sizeof(*ns));

	if (!ns || !(ns->data = calloc(blocks, BLOCK)))
		abort();
	ns->nsid = nsid;
	ns->blocks = blocks;
	ns->removal.func = ns_removal;
	kref_init(&ns->ref);
	pthread_mutex_lock(&ctrl.lock);
	ns->next = ctrl.namespaces;
	ctrl.namespaces = ns;
	pthread_mutex_unlock(&ctrl.lock);
	return ns;
}

static struct nvm_ns *ns_find(uint32_t nsid)
{
	struct nvm_ns *ns, *found = NULL;

	pthread_mutex_lock(&ctrl.lock);
	for (ns = ctrl.namespaces; ns; ns = ns->next) {
		if (ns->nsid != nsid)
			continue;
#ifdef BUG
		kref_get(&ns->ref); /* GUILTY */
		found = ns;
#else
		if (kref_get_unless_zero(&ns->ref))
			found = ns;
#endif
		break;
	}
	pthread_mutex_unlock(&ctrl.lock);
	return found;
}

static int ns_read(uint32_t nsid, uint32_t block, unsigned char *buffer)
{
	struct nvm_ns *ns = ns_find(nsid);
	int err = 0;

	if (!ns)
		return -ENODEV;
	if (block < ns->blocks) {
		memcpy(buffer, ns->data + (size_t)block * BLOCK, BLOCK);
		atomic_fetch_add(&ns->reads, 1);
	} else {
		err = -ERANGE;
	}
	ns_put(ns);
	return err;
}

static void ns_write_later(struct nvm_ns *ns, uint32_t block, unsigned char fill)
{
	struct nvm_bio *bio = malloc(sizeof(*bio));

	if (!bio)
		return;
	kref_get(&ns->ref);
	bio->ns = ns;
	bio->block = block % ns->blocks;
	bio->fill = fill;
	pthread_mutex_lock(&ctrl.lock);
	bio->next = ctrl.deferred;
	ctrl.deferred = bio;
	pthread_mutex_unlock(&ctrl.lock);
}

static void write_back(void)
{
	struct nvm_bio *bio;

	pthread_mutex_lock(&ctrl.lock);
	bio = ctrl.deferred;
	ctrl.deferred = NULL;
	pthread_mutex_unlock(&ctrl.lock);
	while (bio) {
		struct nvm_bio *next = bio->next;

		memset(bio->ns->data + (size_t)bio->block * BLOCK, bio->fill, BLOCK);
		atomic_fetch_add(&bio->ns->writes, 1);
		ns_put(bio->ns);
		free(bio);
		bio = next;
	}
}

static void *guest_queue(void *arg)
{
	unsigned char buffer[BLOCK];
	uintptr_t queue = (uintptr_t)arg;

	for (unsigned i = 0; i < 60; i++)
		ns_read(1 + (i + queue) % 6, i % 20, buffer);
	return NULL;
}

int main(void)
{
	struct nvm_ns *all[6];
	unsigned char buffer[BLOCK];
	pthread_t queues[2];

	for (uint32_t i = 0; i < 6; i++)
		all[i] = ns_attach(i + 1, 16 + i);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&queues[i], NULL, guest_queue, (void *)i);
	for (unsigned i = 0; i < 30; i++)
		ns_write_later(all[i % 6], i, (unsigned char)i);
	for (int i = 0; i < 2; i++)
		pthread_join(queues[i], NULL);

	ns_put(all[1]);
	ns_put(all[4]);
	write_back();
	for (uint32_t nsid = 1; nsid <= 6; nsid++)
		printf("read of %u: %s\n", nsid, ns_read(nsid, 3, buffer) ? "error" : "ok");
	run_scheduled_work();

	for (int i = 0; i < 6; i++)
		if (i != 1 && i != 4)
			ns_put(all[i]);
	run_scheduled_work();
	return ctrl.finished == 6 ? 0 : 1;
}
