/* summary: references only as NaN-boxed doubles, as 32-bit numbers in list cells (memory below 4 GB), as big-endian bytes in saved states, and in a list linked by XOR; born at 0 and counted when first stored; a list's last put frees its cells in a loop; saved states alive till atexit
 * track: own
 * build: gcc -O3 -g -o OUT nanbox_vm.c
 */
/*
 * nanbox_vm: a calculator with strings and lists.  A value is a double, or an
 * object in the payload of a NaN.  List cells live in low memory and name each
 * other by 32 bits.  States of the machine are saved as flat bytes and restored.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef uint64_t value;

#define TAG UINT64_C(0xfff8000000000000)
#define NIL (TAG | 1)
#define IS_OBJ(v) (((v) & TAG) == TAG && ((v) & 7) == 0)

enum kind { STR = 1, CELL, FUNC };

struct obj {
	uint32_t kind;
	uint32_t refs;			/* born at zero: stores count, creation does not */
};

struct str { struct obj o; uint32_t len, hash; char text[]; };
struct cell { struct obj o; uint32_t next; value head; };	/* next is an address */
struct func { struct obj o; const uint8_t *code; uintptr_t link; value upvalue; };

static struct cell *cells, *cells_free;
static long made, freed;

static struct obj *ptr_of(value v) { return (struct obj *)(uintptr_t)(v & ~TAG); }
static value box(void *o) { return TAG | (uint64_t)(uintptr_t)o; }

static value num(double d) { return (union { double d; value v; }){ .d = d }.v; }
static double dbl(value v) { return (union { double d; value v; }){ .v = v }.d; }

static void obj_free(struct obj *o);
static inline void obj_ref(struct obj *o) { o->refs++; }

static inline void obj_unref(struct obj *o)
{
	if (--o->refs == 0)
		obj_free(o);
}

static inline value keep(value v)
{
	if (IS_OBJ(v))
		obj_ref(ptr_of(v));
	return v;
}

static inline void let_go(value v)
{
	if (IS_OBJ(v))
		obj_unref(ptr_of(v));
}

static void *obj_init(void *mem, enum kind kind)
{
	struct obj *o = mem;

	if (o == NULL)
		abort();
	o->kind = kind;
	o->refs = 0;
	made++;
	return o;
}

/* Functions are in a list linked by the XOR of the neighbours. */
static struct func *funcs_first, *funcs_last;

static void func_retire(struct func *f)
{
	struct func *before = NULL, *at = funcs_first, *after;

	for (; at != f; before = at, at = after)
		after = (struct func *)(at->link ^ (uintptr_t)before);
	after = (struct func *)(f->link ^ (uintptr_t)before);
	if (before != NULL)
		before->link ^= (uintptr_t)f ^ (uintptr_t)after;
	else
		funcs_first = after;
	if (after != NULL)
		after->link ^= (uintptr_t)f ^ (uintptr_t)before;
	else
		funcs_last = before;
	obj_unref(&f->o);
}

/* The list counts too: a function is listed until it is retired. */
static value func_new(const uint8_t *code, value upvalue)
{
	struct func *f = obj_init(malloc(sizeof *f), FUNC);

	f->code = code;
	f->upvalue = keep(upvalue);
	f->link = (uintptr_t)funcs_last;
	if (funcs_last != NULL)
		funcs_last->link ^= (uintptr_t)f;
	else
		funcs_first = f;
	funcs_last = f;
	obj_ref(&f->o);
	return box(f);
}

static value str_new(const char *text, size_t len)
{
	struct str *s = obj_init(malloc(sizeof *s + len + 1), STR);

	s->len = (uint32_t)len;
	s->hash = 2166136261u;
	for (size_t i = 0; i < len; i++)
		s->hash = (s->hash ^ (uint8_t)text[i]) * 16777619u;
	memcpy(s->text, text, len);
	s->text[len] = '\0';
	return box(s);
}

static value cons(value head, value tail)
{
	struct cell *c = cells_free;

	if (c == NULL)
		abort();
	cells_free = (struct cell *)(uintptr_t)c->next;
	obj_init(c, CELL);
	c->head = keep(head);
	c->next = tail == NIL ? 0 : (uint32_t)(uintptr_t)ptr_of(keep(tail));
	return box(c);
}

static void obj_free(struct obj *o)
{
	for (;;) {
		struct cell *c = (struct cell *)o;
		struct obj *next;

		freed++;
		if (o->kind != CELL)
			break;
		let_go(c->head);
		next = (struct obj *)(uintptr_t)c->next;
		c->next = (uint32_t)(uintptr_t)cells_free;
		cells_free = c;
		if (next == NULL || --next->refs > 0)	/* the rest of the list, without recursion */
			return;
		o = next;
	}
	if (o->kind == FUNC)
		let_go(((struct func *)o)->upvalue);
	free(o);
}

/* ---- the machine */
enum { NUM = 1, STRING, ADD, CONS, HEAD, DUP, LOAD, STORE, UPVAL };

static value stack[64], globals[16];
static int sp;

static int is_cell(value v) { return IS_OBJ(v) && ptr_of(v)->kind == CELL; }
static void push(value v) { stack[sp++] = keep(v); }
static value pop(void) { return stack[--sp]; }	/* its reference goes along */

static value add(value a, value b)
{
	char text[80];

	if (!IS_OBJ(a) && !IS_OBJ(b) && a != NIL && b != NIL)
		return num(dbl(a) + dbl(b));
	if (IS_OBJ(a) && ptr_of(a)->kind == STR && IS_OBJ(b) && ptr_of(b)->kind == STR) {
		struct str *s = (struct str *)ptr_of(a), *t = (struct str *)ptr_of(b);

		return str_new(text, (size_t)snprintf(text, sizeof text, "%.30s%.30s", s->text, t->text));
	}
	return NIL;
}

static uint32_t digest(value v, uint32_t sum)
{
	for (struct cell *c; is_cell(v); v = c->next ? box((void *)(uintptr_t)c->next) : NIL) {
		c = (struct cell *)ptr_of(v);
		sum = digest(c->head, sum * 31 + 1);
	}
	return IS_OBJ(v) && ptr_of(v)->kind == STR ? sum ^ ((struct str *)ptr_of(v))->hash : sum * 3;
}

static void run(struct func *f, int arg)
{
	int base = sp;

	obj_ref(&f->o);
	for (const uint8_t *c = f->code; *c != 0; c++) {
		value a, b, r;

		switch (*c) {
		case NUM: push(num(*++c + arg)); break;
		case STRING: push(str_new((const char[]){ (char)('a' + arg % 26), (char)*++c }, 2)); break;
		case ADD: b = pop(), a = pop(), r = add(a, b), push(r), let_go(a), let_go(b); break;
		case CONS: b = pop(), a = pop(), r = cons(a, is_cell(b) ? b : NIL), push(r), let_go(a), let_go(b); break;
		case HEAD: a = pop(), push(is_cell(a) ? ((struct cell *)ptr_of(a))->head : NIL), let_go(a); break;
		case DUP: push(stack[sp - 1]); break;
		case LOAD: push(globals[(*++c + arg) % 16]); break;
		case STORE: c++, r = globals[(*c + arg) % 16], globals[(*c + arg) % 16] = pop(), let_go(r); break;
		case UPVAL: push(f->upvalue); break;
		}
	}
	while (sp > base)
		let_go(pop());
	obj_unref(&f->o);
}

/* ---- saved states: eight bytes a value, the high ones first ------------------- */

static uint8_t *saved[6];

static void save(int nr)
{
	saved[nr] = malloc(16 * 8);
	if (saved[nr] == NULL)
		abort();
	for (int i = 0; i < 16; i++) {
		value be = __builtin_bswap64(keep(globals[i]));

		memcpy(saved[nr] + i * 8, &be, 8);
	}
}

static void drop_saved(int nr, int restore)
{
	for (int i = 0; saved[nr] != NULL && i < 16; i++) {
		value v, old;

		memcpy(&v, saved[nr] + i * 8, 8);
		v = __builtin_bswap64(v);
		if (restore)			/* the reference moves to the global */
			old = globals[i], globals[i] = v, v = old;
		let_go(v);
	}
	free(saved[nr]);
	saved[nr] = NULL;
}

static void at_exit(void)
{
	for (int i = 0; i < 6; i++)
		drop_saved(i, 0);
	while (funcs_first != NULL)
		func_retire(funcs_first);
	if (made != freed)
		fprintf(stderr, "%ld of %ld are left\n", made - freed, made);
}

int main(void)
{
	static const uint8_t text[] = { STRING, 'x', UPVAL, ADD, DUP, STORE, 3, LOAD, 9, CONS, STORE, 9, 0 };
	static const uint8_t pairs[] = { LOAD, 3, LOAD, 4, CONS, DUP, HEAD, STORE, 5, STORE, 6, NUM, 7, 0 };
	static const uint8_t sums[] = { NUM, 1, NUM, 2, ADD, LOAD, 9, CONS, LOAD, 2, HEAD, STORE, 2, STORE, 9, 0 };
	static const uint8_t *codes[] = { text, pairs, sums };
	uint32_t sum = 0;

	cells = mmap(NULL, 4096 * sizeof *cells, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (cells == MAP_FAILED || atexit(at_exit) != 0)
		return 1;
	for (int i = 4095; i >= 0; i--) {
		cells[i].next = (uint32_t)(uintptr_t)cells_free;
		cells_free = &cells[i];
	}
	for (int i = 0; i < 16; i++)
		globals[i] = NIL;
	for (int i = 0; i < 9; i++)
		func_new(codes[i % 3], i % 2 ? str_new("-+*" + i % 3, 1) : num(i));
	for (int i = 0; i < 300; i++) {
		struct func *f = i % 7 < 4 ? funcs_first : funcs_last;

		run(f, i % 23);
		if (i % 25 == 24) {		/* a new version of the function */
			value again = func_new(f->code, f->upvalue);

			func_retire(f);
			run((struct func *)ptr_of(again), i);
		}
		if (i % 40 == 20)
			drop_saved(i / 40 % 6, 0), save(i / 40 % 6);
		if (i == 170)
			drop_saved(2, 1);
	}
	for (int i = 0; i < 16; let_go(globals[i++]))
		sum = digest(globals[i], sum);
	printf("%ld objects made, digest %08x\n", made, (unsigned)sum);
	return 0;		/* saved states and functions are dropped at exit */
}
