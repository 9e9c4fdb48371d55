/* summary: Mesa's pipe_reference: one inline function takes one reference and gives another back, a texture's planes hang on a chain that the last put walks, buffer objects take a hundred million references at once and hand them out from a private plain count, one context steals references (take_ownership), a const null texture is counted but never freed
 * track: own
 * build: gcc -O2 -g -flto -Wall -pthread -o OUT pixel_barns.c
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pipe_reference {
	int32_t count;
};

struct screen;

struct barn {                           /* a resource: texture or buffer */
	struct pipe_reference reference;
	unsigned width, format;
	struct barn *next;              /* the next plane: a reference */
	struct screen *screen;
	void *map;
};

struct screen {
	void (*destroy)(struct screen *, struct barn *);
	int barns;
	struct barn *cached;            /* memory of destroyed ones */
};

#define PRIVATE 100000000

struct bufobj {                         /* the API's object: counted plainly by its context */
	struct barn *buffer;
	struct context *owner;
	int private_refs;               /* references in buffer->reference that are not handed out */
};

#define SLOTS 8
struct context {
	struct screen *screen;
	struct barn *views[SLOTS];
	struct barn *vertex[SLOTS];
	struct barn *batch[64];
	int batch_len;
};

static inline int p_add(int32_t *p, int n) { return __atomic_add_fetch(p, n, __ATOMIC_ACQ_REL); }

static inline void reference_init(struct pipe_reference *r, int n)
{
	__atomic_store_n(&r->count, n, __ATOMIC_RELEASE);
}

/* true: what dst refers to has to be destroyed */
static inline bool reference_move(struct pipe_reference *dst, struct pipe_reference *src)
{
	if (dst == src)
		return false;
	if (src)
		p_add(&src->count, 1);
	return dst && p_add(&dst->count, -1) == 0;
}

static inline void barn_reference(struct barn **dst, struct barn *src)
{
	struct barn *old = *dst;
	if (reference_move(old ? &old->reference : NULL, src ? &src->reference : NULL)) {
		do {                    /* not recursive: chains may be long */
			struct barn *next = old->next;
			old->screen->destroy(old->screen, old);
			old = next;
		} while (old && p_add(&old->reference.count, -1) == 0);
	}
	*dst = src;
}

static inline void barn_add_refs(struct barn *b, int n) { p_add(&b->reference.count, n); }

static inline void barn_sub_refs(struct barn *b, int n)
{
	int left = p_add(&b->reference.count, -n);
	assert(left > 0);
	(void)left;
}

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static void screen_destroy_barn(struct screen *s, struct barn *b)
{
	free(b->map);
	pthread_mutex_lock(&cache_lock);
	s->barns--;
	if (!s->cached) {               /* its memory is used for the next one */
		s->cached = b;
		b = NULL;
	}
	pthread_mutex_unlock(&cache_lock);
	free(b);
}

static struct barn *barn_create(struct screen *s, unsigned width, unsigned format)
{
	pthread_mutex_lock(&cache_lock);
	struct barn *b = s->cached;
	s->cached = NULL;
	s->barns++;
	pthread_mutex_unlock(&cache_lock);
	if (!b)
		b = malloc(sizeof *b);
	memset(b, 0, sizeof *b);
	b->width = width;
	b->format = format;
	b->screen = s;
	b->map = calloc(width, 4);
	reference_init(&b->reference, 1);
	return b;
}

/* three planes; the caller gets one reference, on the first */
static struct barn *barn_create_planar(struct screen *s, unsigned width)
{
	struct barn *y = barn_create(s, width, 1), *u = barn_create(s, width / 2, 2);
	u->next = barn_create(s, width / 2, 3);
	y->next = u;
	return y;
}

static struct bufobj *bufobj_new(struct context *c, unsigned width)
{
	struct bufobj *o = calloc(1, sizeof *o);
	o->buffer = barn_create(c->screen, width, 0);
	o->owner = c;
	return o;
}

/* a reference for the caller; no atomic operation in the owner's context */
static struct barn *bufobj_get_barn(struct context *c, struct bufobj *o)
{
	if (o->owner != c) {
		struct barn *b = NULL;
		barn_reference(&b, o->buffer);
		return b;
	}
	if (o->private_refs == 0) {
		barn_add_refs(o->buffer, PRIVATE);
		o->private_refs = PRIVATE;
	}
	o->private_refs--;
	return o->buffer;
}

static void bufobj_drop_storage(struct bufobj *o)
{
	if (o->buffer && o->private_refs) {
		barn_sub_refs(o->buffer, o->private_refs);
		o->private_refs = 0;
	}
	barn_reference(&o->buffer, NULL);
}

static void bufobj_free(struct bufobj *o)
{
	bufobj_drop_storage(o);
	free(o);
}

/* take: the references in list become the context's */
static void set_vertex(struct context *c, int n, struct barn **list, bool take)
{
	for (int i = 0; i < SLOTS; i++) {
		struct barn *b = i < n ? list[i] : NULL;
		if (take && b) {
			barn_reference(&c->vertex[i], NULL);
			c->vertex[i] = b;
		} else {
			barn_reference(&c->vertex[i], b);
		}
	}
}

static void set_views(struct context *c, int n, struct barn **list)
{
	for (int i = 0; i < SLOTS; i++)
		barn_reference(&c->views[i], i < n ? list[i] : NULL);
}

static void flush(struct context *c)
{
	while (c->batch_len)
		barn_reference(&c->batch[--c->batch_len], NULL);
}

static void draw(struct context *c)
{
	for (int i = 0; i < SLOTS; i++)
		for (int k = 0; k < 2; k++) {
			struct barn *b = k ? c->views[i] : c->vertex[i];
			if (!b)
				continue;
			if (c->batch_len == 64)
				flush(c);
			barn_reference(&c->batch[c->batch_len++], b);
		}
}

static void context_end(struct context *c)
{
	flush(c);
	set_views(c, 0, NULL);
	set_vertex(c, 0, NULL, false);
}

/* counted like the others, never down to 0 */
static struct screen screen = { .destroy = screen_destroy_barn };
static struct barn null_barn = { .reference = { 1 }, .screen = &screen, .width = 1 };
static struct bufobj *shared;
static struct barn *scanout;            /* on the screen when the program ends */

static void *second_context(void *arg)
{
	struct context c = { .screen = arg };
	for (int i = 0; i < 60; i++) {
		struct barn *v = bufobj_get_barn(&c, shared);
		set_vertex(&c, 1, &v, true);
		struct barn *views[] = { &null_barn, c.vertex[0], &null_barn };
		set_views(&c, 3, views);
		draw(&c);
	}
	context_end(&c);
	return NULL;
}

int main(void)
{
	struct context c = { .screen = &screen };
	struct barn **v = calloc(SLOTS, sizeof *v);
	pthread_t t;
	shared = bufobj_new(&c, 64);
	pthread_create(&t, NULL, second_context, &screen);
	struct bufobj *own = bufobj_new(&c, 32);
	for (int frame = 0; frame < 50; frame++) {
		v[0] = bufobj_get_barn(&c, own);
		v[1] = bufobj_get_barn(&c, shared);
		v[2] = bufobj_get_barn(&c, own);
		set_vertex(&c, 3, v, true);
		struct barn *film = barn_create_planar(&screen, 16 + frame % 3), *u = NULL;
		barn_reference(&u, film->next);         /* somebody looks at one plane only */
		v[3] = film, v[4] = u, v[5] = &null_barn;
		set_views(&c, 3, v + 3);
		barn_reference(&film, NULL);
		draw(&c);
		if (frame % 8 == 7)
			flush(&c);
		barn_reference(&scanout, u);
		barn_reference(&u, NULL);
		if (frame % 16 == 15) {                 /* new storage: what is in flight keeps the old */
			bufobj_drop_storage(own);
			own->buffer = barn_create(&screen, 32, 0);
		}
	}
	context_end(&c);
	pthread_join(t, NULL);
	bufobj_free(own);
	bufobj_free(shared);
	free(v);
	free(screen.cached);
	screen.cached = NULL;
	printf("%d planes left on the screen, null texture %d\n", screen.barns, null_barn.reference.count);
	return scanout == NULL;
}
