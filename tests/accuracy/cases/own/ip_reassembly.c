/*
 * summary: a queue that is killed for an overlap gives back the reference that the caller of the insertion gives back as well
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O3 -g
 * libs: -pthread
 */
/* Reassembly of fragmented datagrams for a userspace network stack. A queue of fragments is in the hash table
 * and on the list of the expiry thread until it is complete, overlong or too old; packets arrive on any thread. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 16, LIFETIME = 30, MAX_DATAGRAM = 2048 };

struct frag {
	struct frag *next;
	uint16_t offset, len;
	bool last;
	uint8_t data[];
};

struct fragq {
	struct fragq *hash_next;
	struct fragq *lru_next, **lru_prev;
	uint32_t src, dst;
	uint16_t id;
	bool dead, have_last;
	uint16_t total, received;
	unsigned deadline;
	atomic_int refs;
	struct frag *frags;
};

struct packet {
	uint32_t src, dst;
	uint16_t id, offset, len;
	bool more;
	const char *payload;
};

typedef void (*deliver_fn)(void *user, const uint8_t *data, size_t len);

struct reasm {
	pthread_mutex_t lock;
	pthread_cond_t tick, idle;
	struct fragq *table[BUCKETS];
	struct fragq *lru;
	unsigned now, handled;
	bool stop;
	pthread_t expiry;
	deliver_fn deliver;
	void *user;
	unsigned overlaps, timeouts, complete;
};

static struct fragq *fragq_new(uint32_t src, uint32_t dst, uint16_t id)
{
	struct fragq *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->src = src;
	q->dst = dst;
	q->id = id;
	atomic_init(&q->refs, 1);
	return q;
}

static struct fragq *fragq_get(struct fragq *q)
{
	atomic_fetch_add(&q->refs, 1);
	return q;
}

static void fragq_put(struct fragq *q)
{
	struct frag *f;

	if (atomic_fetch_sub(&q->refs, 1) != 1)
		return;
	while ((f = q->frags)) {
		q->frags = f->next;
		free(f);
	}
	free(q);
}

static unsigned fragq_hash(uint32_t src, uint32_t dst, uint16_t id)
{
	return (src * 31 + dst * 17 + id) % BUCKETS;
}

/* Takes the queue off the table and the expiry list, and gives back their references. */
static void fragq_kill(struct reasm *r, struct fragq *q)
{
	struct fragq **p = &r->table[fragq_hash(q->src, q->dst, q->id)];

	if (q->dead)
		return;
	q->dead = true;
	while (*p != q)
		p = &(*p)->hash_next;
	*p = q->hash_next;
	fragq_put(q);
	*q->lru_prev = q->lru_next;
	if (q->lru_next)
		q->lru_next->lru_prev = q->lru_prev;
	fragq_put(q);
}

/* The queue of a packet, new or not, with a reference for the caller. */
static struct fragq *fragq_find(struct reasm *r, const struct packet *p)
{
	unsigned h = fragq_hash(p->src, p->dst, p->id);
	struct fragq *q, **tail = &r->lru;

	for (q = r->table[h]; q; q = q->hash_next)
		if (q->src == p->src && q->dst == p->dst && q->id == p->id)
			return fragq_get(q);
	q = fragq_new(p->src, p->dst, p->id);
	if (!q)
		return NULL;
	q->hash_next = r->table[h];
	r->table[h] = fragq_get(q);
	while (*tail)
		tail = &(*tail)->lru_next;
	q->lru_prev = tail;
	*tail = fragq_get(q);
	q->deadline = r->now + LIFETIME;
	return q;
}

static int fragq_insert(struct reasm *r, struct fragq *q, const struct packet *p)
{
	struct frag *f, **at = &q->frags, *before = NULL;

	while (*at && (*at)->offset < p->offset) {
		before = *at;
		at = &before->next;
	}
	if ((before && before->offset + before->len > p->offset) || (*at && p->offset + p->len > (*at)->offset)) {
		r->overlaps++;
		fragq_kill(r, q);
#ifdef BUG
		fragq_put(q); /* GUILTY */
#endif
		return -EEXIST;
	}
	if (p->offset + p->len > MAX_DATAGRAM) {
		fragq_kill(r, q);
		return -EMSGSIZE;
	}
	f = malloc(sizeof(*f) + p->len);
	if (!f)
		return -ENOMEM;
	f->offset = p->offset;
	f->len = p->len;
	f->last = !p->more;
	memcpy(f->data, p->payload, p->len);
	f->next = *at;
	*at = f;
	q->received += p->len;
	if (f->last) {
		q->have_last = true;
		q->total = p->offset + p->len;
	}
	return q->have_last && q->received == q->total;
}

static void fragq_deliver(struct reasm *r, struct fragq *q)
{
	uint8_t whole[MAX_DATAGRAM];

	for (struct frag *f = q->frags; f; f = f->next)
		memcpy(whole + f->offset, f->data, f->len);
	r->complete++;
	r->deliver(r->user, whole, q->total);
}

static int reasm_input(struct reasm *r, const struct packet *p)
{
	struct fragq *q;
	int err = -ENOMEM;

	pthread_mutex_lock(&r->lock);
	q = fragq_find(r, p);
	if (!q)
		goto out;
	err = fragq_insert(r, q, p);
	if (err < 0)
		goto out_put;
	if (err) {
		fragq_deliver(r, q);
		fragq_kill(r, q);
		err = 0;
	}
out_put:
	fragq_put(q); /* ACCEPTED */
out:
	pthread_mutex_unlock(&r->lock);
	return err;
}

static void *expiry_thread(void *arg)
{
	struct reasm *r = arg;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		while (r->lru && (r->stop || r->lru->deadline <= r->now)) {
			r->timeouts++;
			fragq_kill(r, r->lru);
		}
		r->handled = r->now;
		pthread_cond_signal(&r->idle);
		if (r->stop)
			break;
		pthread_cond_wait(&r->tick, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static void reasm_advance(struct reasm *r, unsigned now, bool stop)
{
	pthread_mutex_lock(&r->lock);
	r->now = now;
	r->stop = stop;
	pthread_cond_signal(&r->tick);
	while (r->handled != now)
		pthread_cond_wait(&r->idle, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

static void on_datagram(void *user, const uint8_t *data, size_t len)
{
	size_t *bytes = user;

	*bytes += len;
	printf("%.*s\n", (int)len, (const char *)data);
}

int main(void)
{
	static const struct packet first[] = {
		{ 1, 9, 100, 0, 6, true, "frozen" }, { 1, 9, 101, 0, 4, true, "harb" }, { 2, 9, 100, 6, 3, false, "ice" },
		{ 1, 9, 100, 6, 5, false, " lake" }, { 2, 9, 100, 0, 6, true, "black " }, { 3, 9, 7, 0, 8, true, "attack__" },
		{ 3, 9, 7, 4, 8, true, "attack__" }, { 4, 9, 50, 0, 5, true, "stale" },
	}, second[] = {
		{ 1, 9, 101, 4, 4, false, "our!" }, { 5, 9, 8, 2040, 16, true, "beyond the end.." }, { 3, 9, 9, 0, 8, true, "attack__" },
		{ 3, 9, 9, 6, 4, false, "2222" }, { 6, 9, 1, 0, 3, true, "end" },
	};
	struct reasm r = { .lock = PTHREAD_MUTEX_INITIALIZER, .tick = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER };
	size_t bytes = 0;
	unsigned errors = 0;

	r.deliver = on_datagram;
	r.user = &bytes;
	if (pthread_create(&r.expiry, NULL, expiry_thread, &r))
		return 1;
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		errors += reasm_input(&r, &first[i]) < 0;
	reasm_advance(&r, 10, false);
	for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++)
		errors += reasm_input(&r, &second[i]) < 0;
	reasm_advance(&r, 35, false);
	reasm_advance(&r, 60, true);
	pthread_join(r.expiry, NULL);
	printf("%u complete (%zu bytes), %u overlaps, %u timeouts, %u errors\n", r.complete, bytes, r.overlaps, r.timeouts, errors);
	return r.complete == 3 && r.overlaps == 2 && errors == 3 ? 0 : 1;
}
