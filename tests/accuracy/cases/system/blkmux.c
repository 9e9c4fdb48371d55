/* summary: A refused request is put both on the error path and in the common exit of mux_read
 * kind: extra-put
 * counts: deficit
 * objects: 9
 * track: own
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
// SPDX-License-Identifier: MIT
/* blkmux - user space model of our block multiplexer, see mux_read() */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

struct kref {
	atomic_int refcount;
};

static inline void kref_init(struct kref *k)
{
	atomic_store_explicit(&k->refcount, 1, memory_order_relaxed);
}

static inline void kref_get(struct kref *k)
{
	atomic_fetch_add_explicit(&k->refcount, 1, memory_order_relaxed);
}

static inline int kref_put(struct kref *k, void (*release)(struct kref *k))
{
	if (atomic_fetch_sub_explicit(&k->refcount, 1, memory_order_acq_rel) == 1) {
		release(k);
		return 1;
	}
	return 0;
}

struct list_head {
	struct list_head *next, *prev;
};

#define list_init(h)	((h)->next = (h)->prev = (h))
#define list_empty(h)	((h)->next == (h))
static inline void list_add_tail(struct list_head *n, struct list_head *h)
{
	n->prev = h->prev;
	n->next = h;
	h->prev->next = n;
	h->prev = n;
}
static inline void list_del(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
}

#define SECTOR		64
#define DISK_SECTORS	4096
#define MAX_SEG		4
#define NBACKENDS	3

struct mux_request {
	struct list_head node;		/* on mux->history */
	struct kref ref;
	uint32_t tag, start, count;
	atomic_int pending;
	int status;
	uint8_t *data;
};

struct segment {
	struct segment *next;
	struct mux_request *rq;
	uint32_t sector, count;
	uint8_t *buf;
};

struct backend {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct segment *head, **tail;
	unsigned long stop, served;
	const uint8_t *disk;
};

struct mux {
	struct backend be[NBACKENDS];
	struct list_head history;	/* for the status page, all requests of the batch */
	unsigned nhistory, tags, submitted, refused;
	uint8_t disk[DISK_SECTORS * SECTOR];
};

static atomic_uint released;

static void rq_release(struct kref *k)
{
	struct mux_request *rq = container_of(k, struct mux_request, ref);

	free(rq->data);
	free(rq);
	atomic_fetch_add(&released, 1);
}

static void rq_put(struct mux_request *rq)
{
	kref_put(&rq->ref, rq_release);
}

static struct mux_request *rq_alloc(struct mux *m, uint32_t start, uint32_t count)
{
	struct mux_request *rq = calloc(1, sizeof(*rq));

	if (!rq)
		return NULL;
	kref_init(&rq->ref);
	rq->tag = m->tags++;
	rq->start = start;
	rq->count = count;
	rq->data = malloc((size_t)count * SECTOR);
	return rq;
}

static void history_add(struct mux *m, struct mux_request *rq)
{
	kref_get(&rq->ref);
	list_add_tail(&rq->node, &m->history);
	m->nhistory++;
}

static unsigned history_flush(struct mux *m, unsigned long *bytes)
{
	unsigned errors = 0;

	while (!list_empty(&m->history)) {
		struct mux_request *rq = container_of(m->history.next, struct mux_request, node);

		list_del(&rq->node);
		m->nhistory--;
		if (rq->status)
			errors++;
		else
			*bytes += (unsigned long)rq->count * SECTOR;
		rq_put(rq);
	}
	return errors;
}

static void serve(struct backend *be, struct segment *seg)
{
	struct mux_request *rq = seg->rq;

	memcpy(seg->buf, be->disk + (size_t)seg->sector * SECTOR, (size_t)seg->count * SECTOR);
	usleep(50);
	be->served++;
	atomic_fetch_sub(&rq->pending, 1);
	free(seg);
	rq_put(rq);
}

static void *backend_main(void *arg)
{
	struct backend *be = arg;

	pthread_mutex_lock(&be->lock);
	for (;;) {
		struct segment *seg = be->head;

		if (!seg) {
			if (be->stop)
				break;
			pthread_cond_wait(&be->more, &be->lock);
			continue;
		}
		be->head = seg->next;
		if (!be->head)
			be->tail = &be->head;
		pthread_mutex_unlock(&be->lock);
		serve(be, seg);
		pthread_mutex_lock(&be->lock);
	}
	pthread_mutex_unlock(&be->lock);
	return NULL;
}

static int queue_segment(struct mux *m, struct mux_request *rq, uint32_t off, uint32_t count)
{
	struct backend *be = &m->be[(rq->start + off) / 16 % NBACKENDS];
	struct segment *seg = calloc(1, sizeof(*seg));

	if (!seg)
		return -ENOMEM;
	seg->rq = rq;
	seg->sector = rq->start + off;
	seg->count = count;
	seg->buf = rq->data + (size_t)off * SECTOR;
	kref_get(&rq->ref);
	atomic_fetch_add(&rq->pending, 1);
	pthread_mutex_lock(&be->lock);
	*be->tail = seg;
	be->tail = &seg->next;
	pthread_cond_signal(&be->more);
	pthread_mutex_unlock(&be->lock);
	return 0;
}

static int mux_read(struct mux *m, uint32_t start, uint32_t count)
{
	struct mux_request *rq = rq_alloc(m, start, count);
	int err = 0;

	if (!rq)
		return -ENOMEM;
	history_add(m, rq);
	if (start + count > DISK_SECTORS) {
		err = -EINVAL;
		goto refuse;
	}
	for (uint32_t off = 0; off < count && !err; off += MAX_SEG)
		err = queue_segment(m, rq, off, count - off < MAX_SEG ? count - off : MAX_SEG);
	if (err)
		goto refuse;
	m->submitted++;
	goto out;

refuse:
	rq->status = err;
	m->refused++;
#ifdef BUG
	rq_put(rq); /* GUILTY */
#endif
out:
	rq_put(rq); /* ACCEPTED */
	return err;
}

int main(void)
{
	static struct mux m;
	unsigned long bytes = 0, served = 0;
	unsigned errors = 0;

	for (size_t i = 0; i < sizeof(m.disk); i++)
		m.disk[i] = (uint8_t)(i * 31 >> 3);
	list_init(&m.history);
	for (int i = 0; i < NBACKENDS; i++) {
		struct backend *be = &m.be[i];

		pthread_mutex_init(&be->lock, NULL);
		pthread_cond_init(&be->more, NULL);
		be->tail = &be->head;
		be->disk = m.disk;
		pthread_create(&be->thread, NULL, backend_main, be);
	}

	for (unsigned i = 0; i < 300; i++) {
		uint32_t start = i % 33 == 32 ? DISK_SECTORS - 2 : (i * 977) % (DISK_SECTORS - 32);

		if (mux_read(&m, start, 4 + i % 20) == 0 && i % 8 == 0)
			usleep(400);
		if (m.nhistory >= 60)
			errors += history_flush(&m, &bytes);
	}

	for (int i = 0; i < NBACKENDS; i++) {
		struct backend *be = &m.be[i];

		pthread_mutex_lock(&be->lock);
		be->stop = 1;
		pthread_cond_signal(&be->more);
		pthread_mutex_unlock(&be->lock);
		pthread_join(be->thread, NULL);
		served += be->served;
	}
	errors += history_flush(&m, &bytes);
	printf("submitted %u refused %u errors %u segments %lu bytes %lu released %u\n",
	       m.submitted, m.refused, errors, served, bytes, atomic_load(&released));
	return 0;
}
