/* summary: Objective-C style: 4 bits of the object's first word count the references beyond the first, half of them spill to a side table keyed by address when the bits are full and come back when they are empty; side entries move at rehash; immortal objects where get and put do nothing; autorelease pools that put in bulk later; weak slots zeroed through the same table
 * track: own
 * build: clang -O2 -g -o OUT spill_table.c
 */
/*
 * spill_table: the object system of a scripting host.  An object has one word
 * of header: class, flags, and in the top four bits how many references there
 * are beyond the first.  Very few objects have more than sixteen; what does not
 * fit is in a table by address, where weak pointers are known as well.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXTRA_SHIFT 60
#define EXTRA_ONE (UINT64_C(1) << EXTRA_SHIFT)
#define EXTRA_MAX 15u
#define SPILL 8u
#define HAS_SIDE (UINT64_C(1) << 48)
#define IMMORTAL (UINT64_C(1) << 49)
#define CLASS_MASK UINT64_C(0xff)

enum class_id { STRING, LIST, CELL };

struct obj { uint64_t word; };
struct string { struct obj o; size_t len; char text[]; };
struct list { struct obj o; size_t n, size; struct obj **items; };
struct cell { struct obj o; struct obj *value; };

static long objects_made, objects_gone, spills, returns;

/* ---- the side table --------------------------------------------------------- */

#define NONE ((uintptr_t)0)
#define DELETED ((uintptr_t)1)

struct side {
	uintptr_t key;
	uint32_t spilled;
	struct obj **weak;		/* where a weak pointer is, one is enough here */
};

static struct { struct side *at; size_t size, used; } sides;

static size_t side_hash(uintptr_t key)
{
	return (size_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (sides.size - 1);
}

static struct side *side_find(uintptr_t key)
{
	if (sides.size == 0)
		return NULL;
	for (size_t i = side_hash(key);; i = (i + 1) & (sides.size - 1))
		if (sides.at[i].key == key || sides.at[i].key == NONE)
			return sides.at[i].key == key ? &sides.at[i] : NULL;
}

static struct side *side_add(uintptr_t key)
{
	struct side *s = side_find(key);

	if (s != NULL)
		return s;
	if ((sides.used + 1) * 3 > sides.size * 2) {
		struct side *old = sides.at;
		size_t n = sides.size;

		sides.size = n ? n * 2 : 8;
		sides.used = 0;
		sides.at = calloc(sides.size, sizeof *sides.at);
		if (sides.at == NULL)
			abort();
		for (size_t i = 0; i < n; i++)
			if (old[i].key > DELETED)
				*side_add(old[i].key) = old[i];
		free(old);
	}
	for (size_t i = side_hash(key);; i = (i + 1) & (sides.size - 1))
		if (sides.at[i].key <= DELETED) {
			sides.used += sides.at[i].key == NONE;
			sides.at[i] = (struct side){ .key = key };
			return &sides.at[i];
		}
}

/* ---- objects ----------------------------------------------------------------- */

static struct obj *obj_alloc(enum class_id class, size_t size)
{
	struct obj *o = calloc(1, size);

	if (o == NULL)
		abort();
	o->word = class;		/* nothing beyond the first reference */
	objects_made++;
	return o;
}

static struct obj *obj_retain(struct obj *o)
{
	if (o == NULL || o->word & IMMORTAL)
		return o;
	if (o->word >> EXTRA_SHIFT < EXTRA_MAX) {
		o->word += EXTRA_ONE;
	} else {		/* this one and seven of the old ones go out */
		side_add((uintptr_t)o)->spilled += SPILL;
		o->word -= (SPILL - 1) * EXTRA_ONE;
		o->word |= HAS_SIDE;
		spills++;
	}
	return o;
}

static void obj_release(struct obj *o);

static void obj_dealloc(struct obj *o)
{
	struct side *s = o->word & HAS_SIDE ? side_find((uintptr_t)o) : NULL;

	if (s != NULL) {
		if (s->weak != NULL)
			*s->weak = NULL;
		s->key = DELETED;
	}
	if ((o->word & CLASS_MASK) == LIST) {
		struct list *l = (struct list *)o;

		while (l->n > 0)
			obj_release(l->items[--l->n]);
		free(l->items);
	} else if ((o->word & CLASS_MASK) == CELL) {
		obj_release(((struct cell *)o)->value);
	}
	objects_gone++;
	free(o);
}

static void obj_release(struct obj *o)
{
	struct side *s;

	if (o == NULL || o->word & IMMORTAL)
		return;
	if (o->word >> EXTRA_SHIFT > 0) {
		o->word -= EXTRA_ONE;
	} else if (o->word & HAS_SIDE && (s = side_find((uintptr_t)o))->spilled > 0) {
		s->spilled -= SPILL;
		o->word += (SPILL - 1) * EXTRA_ONE;	/* one is the one released */
		returns++;
	} else {
		obj_dealloc(o);
	}
}

static void weak_set(struct obj **slot, struct obj *o)
{
	*slot = o;
	o->word |= HAS_SIDE;
	side_add((uintptr_t)o)->weak = slot;
}

/* ---- autorelease -------------------------------------------------------------- */

struct page { struct page *below; size_t n; struct obj *at[30]; };
static struct page *pool;

static void pool_push(void)
{
	struct page *p = calloc(1, sizeof *p);

	if (p == NULL)
		abort();
	p->below = pool;
	pool = p;
}

static struct obj *autorelease(struct obj *o)
{
	struct page *p = pool;

	if (p->n == sizeof p->at / sizeof *p->at) {	/* the oldest half goes early */
		for (size_t i = 0; i < 15; i++)
			obj_release(p->at[i]);
		memmove(p->at, p->at + 15, 15 * sizeof *p->at);
		p->n = 15;
	}
	return p->at[p->n++] = o;
}

static void pool_pop(void)
{
	struct page *p = pool;

	pool = p->below;
	while (p->n > 0)
		obj_release(p->at[--p->n]);
	free(p);
}

/* ---- classes -------------------------------------------------------------------- */

static struct string empty = { .o = { STRING | IMMORTAL } };

static struct obj *string_new(const char *text)
{
	size_t len = strlen(text);
	struct string *s;

	if (len == 0)
		return &empty.o;
	s = (struct string *)obj_alloc(STRING, sizeof *s + len + 1);
	s->len = len;
	memcpy(s->text, text, len);
	return &s->o;
}

static void list_add(struct obj *list, struct obj *o)
{
	struct list *l = (struct list *)list;

	if (l->n == l->size) {
		l->size = l->size ? l->size * 2 : 4;
		l->items = realloc(l->items, l->size * sizeof *l->items);
		if (l->items == NULL)
			abort();
	}
	l->items[l->n++] = obj_retain(o);
}

/* Not the caller's, but good until the pool is popped. */
static struct obj *cell_value(struct obj *cell)
{
	return autorelease(obj_retain(((struct cell *)cell)->value));
}

static void cell_set(struct obj *cell, struct obj *value)
{
	struct cell *c = (struct cell *)cell;
	struct obj *old = c->value;

	c->value = obj_retain(value);
	obj_release(old);
}

int main(void)
{
	static const char *words[] = { "red", "", "green", "blue", "octarine" };
	struct obj *cells[24], *rows[40], *watched[24];
	size_t len = 0, dead = 0;

	for (int i = 0; i < 24; i++) {
		struct obj *s = string_new(words[i % 5]);

		cells[i] = obj_alloc(CELL, sizeof(struct cell));
		cell_set(cells[i], s);
		watched[i] = NULL;
		if (i % 3 == 0 && s != &empty.o)
			weak_set(&watched[i], s);
		obj_release(s);
	}
	for (int r = 0; r < 40; r++) {
		rows[r] = obj_alloc(LIST, sizeof(struct list));
		pool_push();
		for (int k = 0; k < 12; k++) {
			struct obj *value = cell_value(cells[(r * k + k) % 24]);

			for (int copies = r % 4; copies >= 0; copies--)
				list_add(rows[r], value);
		}
		if (r % 6 == 5) {		/* a new text while old rows have the old one */
			struct obj *fresh = autorelease(string_new(words[r % 5]));

			cell_set(cells[r % 24], fresh);
			cell_set(cells[(r + 7) % 24], fresh);
		}
		if (r % 5 == 4)
			list_add(rows[r], rows[r - 1]);
		pool_pop();
		if (r % 9 == 8) {
			obj_release(rows[r - 4]);
			rows[r - 4] = NULL;
		}
	}
	for (int r = 39; r >= 0; r -= 2, len++)
		obj_release(rows[r]), rows[r] = NULL;
	for (int i = 0; i < 24; i++)
		obj_release(cells[i]);
	for (int r = 0; r < 40; r++)
		if (rows[r] != NULL)
			len += ((struct list *)rows[r])->n, obj_release(rows[r]);
	for (int i = 0; i < 24; i++)
		dead += watched[i] == NULL;
	printf("%zu items, %zu weak slots empty, %ld spilled, %ld returned\n", len, dead, spills, returns);
	printf("%ld objects made, %ld gone\n", objects_made, objects_gone);
	free(sides.at);
	return 0;
}
