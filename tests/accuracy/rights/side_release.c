/* summary: autorelease pools of each thread (many puts later, at the end of a frame or in a thread-specific destructor), objects given out without a reference of their own; an inline count of 3 overflows into a table beside the objects and comes back from it
 * track: own
 * build: clang -O2 -g -Wall side_release.c -o OUT -pthread
 */
/*
 * side_release - objects in the manner of Objective-C, for a mail filter.
 *
 * The head of an object has two bits for owners beyond the first.  When they
 * overflow, half of them move into a table beside the objects; a release that
 * finds the bits at zero takes some back from there.  auto_put() promises a
 * put at the end of the thread's innermost pool.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXTRA 3u                /* owners beyond the first, inline */
#define SIDE  4u                /* more of them are in the table */

struct obj {
	uint32_t head;          /* under the lock of its stripe */
	uint32_t length;
	char text[];
};

static atomic_long live, overflows, returns, drained;

/* ---- the table ---------------------------------------------------------- */

#define STRIPES 8
struct side { uintptr_t key; size_t extra; struct side *next; };
static struct stripe { pthread_mutex_t lock; struct side *first; } stripes[STRIPES];

static struct stripe *stripe_of(const void *p)
{
	return &stripes[((uintptr_t)p >> 5) % STRIPES];
}

/* The key is no pointer to the object: the table must not keep it alive in a heap dump. */
static struct side **side_find(struct stripe *s, const void *p)
{
	struct side **link = &s->first;
	while (*link && (*link)->key != ~(uintptr_t)p)
		link = &(*link)->next;
	return link;
}

/* ---- objects ------------------------------------------------------------ */

static struct obj *obj_new(const char *text, size_t length)
{
	struct obj *o = malloc(sizeof *o + length + 1);
	if (!o)
		abort();
	o->head = 0;
	o->length = (uint32_t)length;
	memcpy(o->text, text, length);
	o->text[length] = 0;
	atomic_fetch_add(&live, 1);
	return o;
}

static struct obj *obj_get(struct obj *o)
{
	struct stripe *s = stripe_of(o);

	pthread_mutex_lock(&s->lock);
	if ((o->head & EXTRA) < EXTRA) {
		o->head++;
	} else {                /* 4 beyond the first: 2 stay, 2 go to the table */
		struct side **link = side_find(s, o);
		if (!*link) {
			struct side *e = calloc(1, sizeof *e);
			e->key = ~(uintptr_t)o;
			*link = e;
		}
		(*link)->extra += 2;
		o->head = (o->head & ~EXTRA) | SIDE | 2;
		atomic_fetch_add(&overflows, 1);
	}
	pthread_mutex_unlock(&s->lock);
	return o;
}

static void obj_put(struct obj *o)
{
	struct stripe *s = stripe_of(o);
	int last = 0;

	pthread_mutex_lock(&s->lock);
	if (o->head & EXTRA) {
		o->head--;
	} else if (o->head & SIDE) {
		struct side **link = side_find(s, o), *e = *link;
		e->extra -= 2;
		o->head++;      /* two come back, one of them is put */
		if (!e->extra) {
			o->head &= ~SIDE;
			*link = e->next;
			free(e);
		}
		atomic_fetch_add(&returns, 1);
	} else {
		last = 1;
	}
	pthread_mutex_unlock(&s->lock);
	if (last) {
		atomic_fetch_sub(&live, 1);
		free(o);
	}
}

/* ---- autorelease pools -------------------------------------------------- */

struct page { struct page *older; int used; struct obj *objs[30]; };
struct pools { struct page *top; int marks; };

static pthread_key_t pools_key;

static void drain_to_mark(struct pools *p)
{
	for (;;) {
		struct page *page = p->top;
		while (page->used) {
			struct obj *o = page->objs[--page->used];
			if (!o) {               /* the mark of the pool */
				p->marks--;
				return;
			}
			obj_put(o);
			atomic_fetch_add(&drained, 1);
		}
		if (!page->older)
			return;
		p->top = page->older;
		free(page);
	}
}

static void thread_ends(void *data)
{
	struct pools *p = data;
	while (p->marks || p->top->used || p->top->older)
		drain_to_mark(p);
	free(p->top);
	free(p);
}

static void pool_add(struct obj *o)
{
	struct pools *p = pthread_getspecific(pools_key);
	if (!p) {
		p = calloc(1, sizeof *p);
		p->top = calloc(1, sizeof *p->top);
		pthread_setspecific(pools_key, p);
	}
	if (p->top->used == 30) {
		struct page *page = calloc(1, sizeof *page);
		page->older = p->top;
		p->top = page;
	}
	p->top->objs[p->top->used++] = o;
	p->marks += !o;
}

static void pool_push(void)
{
	pool_add(NULL);
}

static void pool_pop(void)
{
	drain_to_mark(pthread_getspecific(pools_key));
}

/* The caller's reference goes to the pool; the object stays good until that is drained. */
static struct obj *auto_put(struct obj *o)
{
	pool_add(o);
	return o;
}

/* ---- the filter --------------------------------------------------------- */

static struct obj *lower(struct obj *o)
{
	struct obj *to = obj_new(o->text, o->length);
	for (uint32_t i = 0; i < to->length; i++)
		to->text[i] |= 0x20;
	return auto_put(to);
}

static struct obj *word(struct obj *o, int n)
{
	const char *s = o->text;
	while (n-- && strchr(s, ' '))
		s = strchr(s, ' ') + 1;
	return auto_put(obj_new(s, strcspn(s, " ")));
}

struct work { pthread_t thread; struct obj *line, *rule; long hits; };

static void *filter(void *data)
{
	struct work *w = data;
	struct obj *best = NULL;        /* owned */

	for (int i = 0; i < 60; i++) {
		pool_push();
		for (int k = 0; k < 5; k++) {
			struct obj *each = word(lower(w->line), (i + k) % 6);
			auto_put(obj_get(w->rule));     /* as getters do, that are to be safe */
			if (strstr(each->text, w->rule->text)) {
				w->hits++;
				struct obj *old = best;
				best = obj_get(each);
				if (old)
					obj_put(old);
			}
		}
		pool_pop();
	}
	/* Outside of every pool: put when the thread ends. */
	struct obj *result = best ? auto_put(best) : NULL;
	auto_put(w->line);
	auto_put(w->rule);
	pool_push();                    /* and a pool that is left as it is */
	if (result)
		auto_put(obj_get(lower(result)));
	return NULL;
}

int main(void)
{
	enum { THREADS = 3 };
	struct work work[THREADS];
	struct obj *line = obj_new("Buy NOW the Fabulous new OFFERS", 31), *rule = obj_new("o", 1);
	long hits = 0;

	pthread_key_create(&pools_key, thread_ends);
	for (int i = 0; i < STRIPES; i++)
		pthread_mutex_init(&stripes[i].lock, NULL);
	for (int i = 0; i < THREADS; i++) {
		work[i] = (struct work){ .line = obj_get(line), .rule = obj_get(rule) };
		pthread_create(&work[i].thread, NULL, filter, &work[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(work[i].thread, NULL);
		hits += work[i].hits;
	}
	obj_put(line);
	obj_put(rule);
	printf("%ld hits, %ld overflows, %ld returns, %ld drained, %ld live\n", hits, atomic_load(&overflows),
	       atomic_load(&returns), atomic_load(&drained), atomic_load(&live));
	return atomic_load(&live) != 0;
}
