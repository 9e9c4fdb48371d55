/* summary: Objective-C's rules in C without debug information: the counter stands for references beyond the first and starts at 0, constants have a negative one, small numbers are tagged pointers that retain and release ignore, puts are promised to autorelease pools that drain at a mark, after a longjmp or in a TLS destructor, dealloc retains and releases itself
 * track: own
 * build: gcc -O2 -Wall -pthread -o OUT mortal_lines.c
 */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct obj;
struct class {
	const char *name;
	size_t size;
	void (*dealloc)(struct obj *);
};

struct obj {
	const struct class *isa;
	int32_t extra;          /* references beyond the first; -1 while dying; very negative: constant */
	uint32_t bits;
};

struct str { struct obj o; char *chars; };
struct list { struct obj o; unsigned n, room; struct obj **item; struct obj *observer; };

struct pool {                   /* of one thread: a stack of promised releases, with marks */
	struct obj **at;
	size_t n, room;
};

static pthread_key_t pool_key;
static long alive;

#define TAGGED(o) ((uintptr_t)(o) & 1)
#define API __attribute__((noinline))

API struct obj *obj_new(const struct class *c)
{
	struct obj *o = calloc(1, c->size);
	o->isa = c;
	__atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
	return o;               /* extra is 0: one reference */
}

API struct obj *obj_retain(struct obj *o)
{
	if (!o || TAGGED(o))
		return o;
	if (__atomic_load_n(&o->extra, __ATOMIC_RELAXED) < -1)
		return o;
	__atomic_fetch_add(&o->extra, 1, __ATOMIC_RELAXED);
	return o;
}

API void obj_release(struct obj *o)
{
	if (!o || TAGGED(o) || __atomic_load_n(&o->extra, __ATOMIC_RELAXED) < -1)
		return;
	if (__atomic_fetch_sub(&o->extra, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (o->bits & 1)        /* its own dealloc has retained and released it */
		return;
	o->bits |= 1;
	o->isa->dealloc(o);
	__atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED);
	free(o);
}

/* a release later: changes no count now */
API struct obj *obj_autorelease(struct obj *o)
{
	struct pool *p = pthread_getspecific(pool_key);
	if (!p) {
		p = calloc(1, sizeof *p);
		pthread_setspecific(pool_key, p);
	}
	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->at = realloc(p->at, p->room * sizeof *p->at);
	}
	p->at[p->n++] = o;
	return o;
}

static size_t pool_push(void)
{
	struct pool *p = pthread_getspecific(pool_key);
	return p ? p->n : 0;
}

static void pool_pop(size_t mark)
{
	struct pool *p = pthread_getspecific(pool_key);
	while (p && p->n > mark) {
		struct obj *o = p->at[--p->n];
		obj_release(o);         /* may promise more: those are popped too */
	}
}

static void pool_thread_end(void *arg)
{
	struct pool *p = arg;
	pthread_setspecific(pool_key, p);
	pool_pop(0);
	pthread_setspecific(pool_key, NULL);
	free(p->at);
	free(p);
}

/* ---- classes ---- */

static void str_dealloc(struct obj *o) { free(((struct str *)o)->chars); }

static void note_end(struct obj *o)
{
	struct list *l = (struct list *)o;
	obj_retain(o);                  /* as a logger that is handed an object does */
	l->n &= 0xffff;
	obj_release(o);
}

static void list_dealloc(struct obj *o)
{
	struct list *l = (struct list *)o;
	note_end(o);
	while (l->n)
		obj_release(l->item[--l->n]);
	free(l->item);
	obj_release(l->observer);
}

static const struct class str_class = { "str", sizeof(struct str), str_dealloc };
static const struct class list_class = { "list", sizeof(struct list), list_dealloc };
static struct str comma = { { &str_class, INT_MIN + 1000, 0 }, ", " };

static struct obj *number(long n) { return (struct obj *)((uintptr_t)n << 1 | 1); }

static struct obj *str_with(const char *fmt, int n)     /* autoreleased */
{
	char buffer[64];
	struct str *s = (struct str *)obj_new(&str_class);
	snprintf(buffer, sizeof buffer, fmt, n);
	s->chars = strdup(buffer);
	return obj_autorelease(&s->o);
}

static struct list *list_new(void) { return (struct list *)obj_new(&list_class); }

static void list_add(struct list *l, struct obj *o)
{
	if (l->n == l->room)
		l->item = realloc(l->item, (l->room = l->room ? 2 * l->room : 4) * sizeof *l->item);
	l->item[l->n++] = obj_retain(o);
}

static struct obj *list_last(struct list *l)            /* safe to use after it has left the list */
{
	return obj_autorelease(obj_retain(l->item[l->n - 1]));
}

static void list_pop(struct list *l) { obj_release(l->item[--l->n]); }

/* ---- the verses ---- */

static _Thread_local jmp_buf *handler;

static struct list *verse(int n)
{
	struct list *l = list_new();
	obj_autorelease(&l->o);
	for (int i = 0; i < 5; i++) {
		list_add(l, str_with("line %d", n * 10 + i));
		list_add(l, &comma.o);
		list_add(l, number(i));
	}
	if (n % 4 == 3)
		longjmp(*handler, n);           /* what has been promised is in the pool */
	struct obj *kept = list_last(l);
	list_pop(l);
	list_pop(l);
	kept = list_last(l);
	list_pop(l);
	return strlen(((struct str *)kept)->chars) ? l : NULL;
}

static int try_verse(int n, struct list *book)
{
	jmp_buf here, *outer = handler;
	size_t mark = pool_push();
	volatile int ok = 1;
	handler = &here;
	if (setjmp(here) == 0)
		list_add(book, &verse(n)->o);
	else
		ok = 0;
	handler = outer;
	pool_pop(mark);
	return ok;
}

static void *singer(void *arg)
{
	struct list *book = arg;                /* one reference came with the thread */
	struct list *mine = list_new();
	obj_autorelease(&mine->o);              /* until the thread's end */
	mine->observer = obj_retain(str_with("singer %d", (int)book->n));
	for (unsigned i = 0; i < book->n; i++)
		list_add(mine, book->item[i]);
	obj_autorelease(&book->o);
	return NULL;
}

struct list *songbook;                          /* stays to the end, its verses too */

int main(void)
{
	pthread_t t[2];
	int sung = 0;
	pthread_key_create(&pool_key, pool_thread_end);
	size_t mark = pool_push();
	songbook = list_new();
	for (int i = 0; i < 16; i++)
		sung += try_verse(i, songbook);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, singer, obj_retain(&songbook->o));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	while (songbook->n > 2)
		list_pop(songbook);
	str_with("never popped: main's pool is not drained by %d", 0);
	for (int i = 0; i < 3; i++) {
		size_t inner = pool_push();
		struct obj *s = obj_retain(str_with("%d", i));
		pool_pop(inner);
		obj_release(s);
		struct list *l = list_new();
		obj_autorelease(obj_retain(&l->o));
		obj_release(&l->o);
	}
	pool_pop(mark + 1);
	printf("%d verses, %ld objects at the end\n", sung, alive);
	return 0;
}
