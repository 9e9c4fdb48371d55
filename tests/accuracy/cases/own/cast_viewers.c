/*
 * summary: a viewer that changes the quality stores the segment of the cache as its current one without a reference
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O2 -g
 * libs: -pthread
 */
/* Live streaming: a packager thread cuts segments of two qualities, a small cache per quality keeps the latest
 * ones, and each viewer holds the segment that it is being sent. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOW, HIGH, QUALITIES };
enum { RING = 48, KEEP = 4, QUEUE = 4, VIEWERS = 5, SEGMENTS = 10 };

struct segment {
	unsigned refs;
	bool in_use;
	uint8_t quality;
	uint32_t seq;
	size_t len;
	uint8_t *payload;
};

struct seg_cache {
	struct segment *items[KEEP]; /* the newest first */
	unsigned count;
};

struct viewer {
	char name[16];
	int quality;
	bool online;
	struct segment *current;
	size_t sent, bytes;
	void (*gone)(void *user, struct viewer *v);
	void *user;
};

struct channel {
	struct segment ring[RING]; /* under ring_lock */
	unsigned ring_next;
	pthread_mutex_t ring_lock;
	struct segment *queue[QUEUE];
	unsigned head, queued;
	bool ended;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct seg_cache cache[QUALITIES];
	struct viewer viewers[VIEWERS];
	unsigned online;
};

static struct segment *segment_open(struct channel *c, int quality, uint32_t seq, size_t len)
{
	struct segment *s = NULL;

	pthread_mutex_lock(&c->ring_lock);
	for (unsigned i = 0; i < RING && !s; i++) {
		struct segment *candidate = &c->ring[c->ring_next++ % RING];

		if (!candidate->in_use)
			s = candidate;
	}
	if (s) {
		s->in_use = true;
		s->refs = 1;
		s->quality = (uint8_t)quality;
		s->seq = seq;
		s->len = len;
		s->payload = malloc(len);
		if (s->payload)
			memset(s->payload, (int)seq, len);
	}
	pthread_mutex_unlock(&c->ring_lock);
	return s;
}

static struct segment *segment_ref(struct segment *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

static void segment_unref(struct channel *c, struct segment *s)
{
	if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_lock(&c->ring_lock);
	free(s->payload);
	s->payload = NULL;
	s->in_use = false;
	pthread_mutex_unlock(&c->ring_lock);
}

static void cache_add(struct channel *c, struct seg_cache *cache, struct segment *s)
{
	if (cache->count == KEEP)
		segment_unref(c, cache->items[--cache->count]);
	memmove(cache->items + 1, cache->items, cache->count * sizeof(cache->items[0]));
	cache->items[0] = segment_ref(s);
	cache->count++;
}

/* The cached segment of a number, or NULL. It is the cache's. */
static struct segment *cache_peek(struct seg_cache *cache, uint32_t seq)
{
	for (unsigned i = 0; i < cache->count; i++)
		if (cache->items[i]->seq == seq)
			return cache->items[i];
	return NULL;
}

static void cache_clear(struct channel *c, struct seg_cache *cache)
{
	while (cache->count)
		segment_unref(c, cache->items[--cache->count]);
}

static struct viewer *viewer_join(struct channel *c, const char *name, int quality, void (*gone)(void *, struct viewer *), void *user)
{
	for (int i = 0; i < VIEWERS; i++) {
		struct viewer *v = &c->viewers[i];

		if (v->online)
			continue;
		memset(v, 0, sizeof(*v));
		snprintf(v->name, sizeof(v->name), "%s", name);
		v->quality = quality;
		v->online = true;
		v->gone = gone;
		v->user = user;
		c->online++;
		return v;
	}
	return NULL;
}

static void viewer_send(struct channel *c, struct viewer *v, struct segment *s)
{
	if (v->current)
		segment_unref(c, v->current);
	v->current = segment_ref(s);
	v->sent++;
	v->bytes += s->len;
}

/* Goes on with the same piece of time in another quality, if it is still there. */
static bool viewer_switch(struct channel *c, struct viewer *v, int quality)
{
	struct segment *s;

	if (v->quality == quality)
		return true;
	v->quality = quality;
	if (!v->current)
		return true;
	s = cache_peek(&c->cache[quality], v->current->seq); /* ACCEPTED */
	if (!s)
		return false;
	segment_unref(c, v->current);
#ifdef BUG
	v->current = s; /* GUILTY */
#else
	v->current = segment_ref(s);
#endif
	v->bytes += s->len;
	return true;
}

static void viewer_leave(struct channel *c, struct viewer *v)
{
	if (!v->online)
		return;
	if (v->current)
		segment_unref(c, v->current);
	v->current = NULL;
	v->online = false;
	c->online--;
	if (v->gone)
		v->gone(v->user, v);
}

static void channel_dispatch(struct channel *c, struct segment *s)
{
	cache_add(c, &c->cache[s->quality], s);
	for (int i = 0; i < VIEWERS; i++)
		if (c->viewers[i].online && c->viewers[i].quality == s->quality)
			viewer_send(c, &c->viewers[i], s);
}

static bool channel_push(struct channel *c, struct segment *s)
{
	if (!s)
		return false;
	pthread_mutex_lock(&c->lock);
	while (c->queued == QUEUE)
		pthread_cond_wait(&c->changed, &c->lock);
	c->queue[(c->head + c->queued++) % QUEUE] = s;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return true;
}

/* The next segment with the reference of the queue; NULL after the last one. */
static struct segment *channel_pop(struct channel *c)
{
	struct segment *s = NULL;

	pthread_mutex_lock(&c->lock);
	while (!c->queued && !c->ended)
		pthread_cond_wait(&c->changed, &c->lock);
	if (c->queued) {
		s = c->queue[c->head];
		c->head = (c->head + 1) % QUEUE;
		c->queued--;
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	return s;
}

static void *packager(void *arg)
{
	struct channel *c = arg;

	for (uint32_t seq = 1; seq <= SEGMENTS; seq++) {
		if (!channel_push(c, segment_open(c, HIGH, seq, 900 + seq)))
			break;
		if (!channel_push(c, segment_open(c, LOW, seq, 200 + seq)))
			break;
	}
	pthread_mutex_lock(&c->lock);
	c->ended = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static void on_gone(void *user, struct viewer *v)
{
	*(size_t *)user += v->bytes;
	printf("%s left after %zu segments\n", v->name, v->sent);
}

int main(void)
{
	static struct channel c = {
		.ring_lock = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER,
	};
	struct viewer *tv, *phone, *tablet, *hall;
	struct segment *s;
	pthread_t thread;
	size_t bytes = 0;
	bool late = true;

	tv = viewer_join(&c, "tv", HIGH, on_gone, &bytes);
	phone = viewer_join(&c, "phone", LOW, on_gone, &bytes);
	tablet = viewer_join(&c, "tablet", LOW, on_gone, &bytes);
	hall = viewer_join(&c, "hall", HIGH, on_gone, &bytes);
	if (pthread_create(&thread, NULL, packager, &c))
		return 1;
	while ((s = channel_pop(&c))) {
		channel_dispatch(&c, s);
		if (s->seq == 3 && s->quality == LOW)
			viewer_switch(&c, tablet, HIGH);
		if (s->seq == 5 && s->quality == HIGH)
			late = viewer_switch(&c, hall, LOW);
		if (s->seq == 7 && s->quality == LOW)
			viewer_leave(&c, phone);
		if (s->seq == 8 && s->quality == LOW)
			viewer_switch(&c, tv, LOW);
		segment_unref(&c, s);
	}
	pthread_join(thread, NULL);
	for (int i = 0; i < VIEWERS; i++)
		viewer_leave(&c, &c.viewers[i]);
	for (int q = 0; q < QUALITIES; q++)
		cache_clear(&c, &c.cache[q]);
	printf("%zu bytes, %u online\n", bytes, c.online);
	return !late && c.online == 0 && c.ring_next == 2 * SEGMENTS ? 0 : 1;
}
