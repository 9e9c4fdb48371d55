/* summary: tagged integers, chunks with a free list, a root stack unwound by longjmp, a cycle collector that changes counts for a while, symbols alive at the end
 * track: own
 * build: gcc -O2 -g -o OUT cyclang.c
 */
/*
 * cyclang: a small Lisp with counted values.  Small integers live in the
 * pointer itself, temporaries sit on a root stack that longjmp() unwinds, and
 * a trial-deletion collector, fed with the objects whose count fell to
 * something else than zero, takes the cycles.
 */
#include <alloca.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct obj *val;		/* or an integer, tagged by bit 0 */

enum type { SYMBOL, PAIR, BUILTIN, CLOSURE, ENV };
enum color { BLACK, GRAY, WHITE, PURPLE };

struct obj {
	unsigned refs;
	uint8_t type, color, buffered;
	union {
		val slot[3];		/* PAIR car, cdr; CLOSURE params, body, env; ENV names, values, outer */
		char name[24];
		struct { val (*fn)(val *argv); int arity; } builtin;
		struct obj *next_free;
	} u;
};

#define NIL ((val)0)
#define IS_INT(v) ((intptr_t)(v) & 1)
#define INT(n) ((val)((intptr_t)(n) * 2 + 1))
#define NUM(v) ((intptr_t)(v) >> 1)
#define IS(v, t) ((v) != NIL && !IS_INT(v) && (v)->type == (t))
#define N_SLOTS(o) ((o)->type == PAIR ? 2 : (o)->type >= CLOSURE ? 3 : 0)
#define EACH(o, s) for (val *s = (o)->u.slot; s < (o)->u.slot + N_SLOTS(o); s++) if (*s != NIL && !IS_INT(*s))

static struct obj *free_list;
static unsigned live, cycles_freed;
struct array { struct obj **at; size_t n, size; };
static struct array suspects, garbage;	/* possible roots of dead cycles; found dead */
static val symbols;			/* list of all symbols */
static val sym_if, sym_define, sym_lambda, sym_try;

static void add(struct array *a, struct obj *o) {
	if (a->n == a->size) {
		a->size = a->size ? a->size * 2 : 32;
		a->at = realloc(a->at, a->size * sizeof *a->at);
	}
	a->at[a->n++] = o;
}

static val ref(val v) {
	if (v != NIL && !IS_INT(v))
		v->refs++, v->color = BLACK;
	return v;
}

static void obj_free(struct obj *o) { o->u.next_free = free_list; free_list = o; live--; }

static void unref(val v) {
	while (v != NIL && !IS_INT(v)) {
		val last = NIL;
		if (--v->refs > 0) {
			if (N_SLOTS(v) > 0 && !v->buffered)
				add(&suspects, v), v->buffered = 1;
			v->color = N_SLOTS(v) > 0 ? PURPLE : BLACK;
			return;
		}
		EACH(v, s)
			unref(last), last = *s;
		v->color = BLACK;
		if (v->buffered)	/* the collector will free it */
			memset(&v->u, 0, sizeof v->u);
		else
			obj_free(v);
		v = last;		/* long lists do not recurse */
	}
}

static struct obj *obj_new(enum type type) {
	struct obj *o = free_list;
	if (o == NULL) {		/* a chunk at a time, never given back */
		o = calloc(64, sizeof *o);
		for (int i = 63; i >= 0; i--)
			o[i].u.next_free = free_list, free_list = &o[i];
	}
	free_list = o->u.next_free;
	*o = (struct obj){ .refs = 1, .type = type };
	live++;
	return o;
}

static void mark_gray(struct obj *o) {
	if (o->color == GRAY)
		return;
	o->color = GRAY;
	EACH(o, s)
		(*s)->refs--, mark_gray(*s);
}

static void scan_black(struct obj *o) {
	o->color = BLACK;
	EACH(o, s) {
		(*s)->refs++;
		if ((*s)->color != BLACK)
			scan_black(*s);
	}
}

static void scan(struct obj *o) {
	if (o->color != GRAY)
		return;
	o->color = WHITE;
	if (o->refs > 0)
		scan_black(o);
	else
		EACH(o, s)
			scan(*s);
}

static void gather_white(struct obj *o) {
	if (o->color != WHITE)
		return;
	o->color = BLACK;
	EACH(o, s)
		gather_white(*s);
	add(&garbage, o);
}

static void collect(void) {
	size_t n = 0;
	for (size_t i = 0; i < suspects.n; i++) {
		struct obj *o = suspects.at[i];
		o->buffered = 0;
		if (o->refs == 0 && o->color == BLACK) {
			obj_free(o);
		} else if (o->color == PURPLE) {
			mark_gray(o);
			suspects.at[n++] = o;
		}
	}
	suspects.n = 0;
	for (size_t i = 0; i < n; i++)
		scan(suspects.at[i]);
	for (size_t i = 0; i < n; i++)
		gather_white(suspects.at[i]);
	cycles_freed += (unsigned)garbage.n;
	while (garbage.n > 0)		/* what they pointed to has been subtracted already */
		obj_free(garbage.at[--garbage.n]);
}

static val stack[512];			/* each entry owns a reference */
static int sp;
static jmp_buf *handler;
static const char *message;

static void fail(const char *why) { message = why; longjmp(*handler, 1); }

static val push(val v) {
	if (sp == 512)
		unref(v), fail("too deep");
	return stack[sp++] = v;
}

static void unwind(int to) { while (sp > to) unref(stack[--sp]); }

/* A new reference to the pair; takes over both arguments'. */
static val cons(val car, val cdr) {
	val v = obj_new(PAIR);
	v->u.slot[0] = car, v->u.slot[1] = cdr;
	return v;
}

/* Takes over both. */
static void bind(val env, val name, val value) {
	env->u.slot[0] = cons(name, env->u.slot[0]);
	env->u.slot[1] = cons(value, env->u.slot[1]);
}

static val intern(const char *name, size_t len) {
	val v;
	for (val s = symbols; s != NIL; s = s->u.slot[1])
		if (strlen(s->u.slot[0]->u.name) == len && memcmp(s->u.slot[0]->u.name, name, len) == 0)
			return ref(s->u.slot[0]);
	v = obj_new(SYMBOL);
	memcpy(v->u.name, name, len < 23 ? len : 23);
	symbols = cons(ref(v), symbols);
	return v;
}

static val read_form(const char **p) {
	const char *start;
	val head = NIL, *tail = &head;
	*p += strspn(*p, " ");
	if (**p == '(') {
		for (++*p; **p != ')'; *p += strspn(*p, " "))
			tail = &(*tail = cons(read_form(p), NIL))->u.slot[1];
		++*p;
		return head;
	}
	start = *p;
	*p += strcspn(*p, " ()");
	return *start >= '0' && *start <= '9' ? INT(atol(start)) : intern(start, (size_t)(*p - start));
}

/* ---- evaluation: returns a new reference --------------------------------------- */

#define CAR(v) (IS(v, PAIR) ? (v)->u.slot[0] : (fail("not a pair"), NIL))
#define CDR(v) (IS(v, PAIR) ? (v)->u.slot[1] : (fail("not a pair"), NIL))

static val eval(val form, val env) {
	int base = sp;
	val result, fn, *argv;
	int argc = 0;
	if (IS(form, SYMBOL)) {
		for (; env != NIL; env = env->u.slot[2])
			for (val n = env->u.slot[0], v = env->u.slot[1]; n != NIL && v != NIL; n = n->u.slot[1], v = v->u.slot[1])
				if (n->u.slot[0] == form)
					return ref(v->u.slot[0]);
		fail("unbound symbol");
	}
	if (!IS(form, PAIR))
		return ref(form);
	fn = form->u.slot[0];
	if (fn == sym_if) {
		int yes = push(eval(CAR(CDR(form)), env)) != NIL;
		unwind(base);
		return eval(CAR(yes ? CDR(CDR(form)) : CDR(CDR(CDR(form)))), env);
	}
	if (fn == sym_define) {
		result = push(eval(CAR(CDR(CDR(form))), env));
		bind(env, ref(CAR(CDR(form))), ref(result));
		return stack[--sp];
	}
	if (fn == sym_lambda) {
		val params = CAR(CDR(form)), body = CAR(CDR(CDR(form)));	/* may fail */

		result = obj_new(CLOSURE);
		result->u.slot[0] = ref(params);
		result->u.slot[1] = ref(body);
		result->u.slot[2] = ref(env);
		return result;
	}
	if (fn == sym_try) {
		jmp_buf *outer = handler, here;

		if (setjmp(here) == 0) {
			handler = &here;
			result = eval(CAR(CDR(form)), env);
			handler = outer;
			return result;
		}
		handler = outer;
		unwind(base);
		return eval(CAR(CDR(CDR(form))), env);
	}

	fn = push(eval(fn, env));
	for (val a = form->u.slot[1]; a != NIL; a = CDR(a), argc++)
		push(eval(CAR(a), env));
	argv = alloca((size_t)(argc + 1) * sizeof *argv);
	memcpy(argv, &stack[sp - argc], (size_t)argc * sizeof *argv);	/* the stack still owns */
	if (IS(fn, BUILTIN) && fn->u.builtin.arity == argc) {
		result = fn->u.builtin.fn(argv);
	} else if (IS(fn, CLOSURE)) {
		val frame = push(obj_new(ENV));
		frame->u.slot[0] = ref(fn->u.slot[0]);
		frame->u.slot[2] = ref(fn->u.slot[2]);
		while (argc > 0)
			frame->u.slot[1] = cons(ref(argv[--argc]), frame->u.slot[1]);
		result = eval(fn->u.slot[1], frame);
	} else {
		fail("not a function, or not so many arguments");
	}
	unwind(base);
	return result;
}

static val f_add(val *v) { return INT(NUM(v[0]) + NUM(v[1])); }
static val f_sub(val *v) { return INT(NUM(v[0]) - NUM(v[1])); }
static val f_less(val *v) { return NUM(v[0]) < NUM(v[1]) ? INT(1) : NIL; }
static val f_cons(val *v) { return cons(ref(v[0]), ref(v[1])); }
static val f_car(val *v) { return ref(CAR(v[0])); }
static val f_cdr(val *v) { return ref(CDR(v[0])); }
static val f_error(val *v) { fail("error called"); return NIL; }

static val f_set_cdr(val *v) {
	val old = CDR(v[0]);
	v[0]->u.slot[1] = ref(v[1]);
	unref(old);
	return ref(v[0]);
}

static const struct { const char *name; val (*fn)(val *); int arity; } builtins[] = {
	{ "+", f_add, 2 }, { "-", f_sub, 2 }, { "<", f_less, 2 }, { "cons", f_cons, 2 }, { "car", f_car, 1 },
	{ "cdr", f_cdr, 1 }, { "set-cdr", f_set_cdr, 2 }, { "error", f_error, 1 },
};

static const char program[] =
    "(define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))"
    "(define range (lambda (n) (if (< n 1) nil (cons n (range (- n 1))))))"
    "(define sum (lambda (l) (if l (+ (car l) (sum (cdr l))) 0)))"
    "(define last (lambda (l) (if (cdr l) (last (cdr l)) l)))"
    "(define ring (lambda (n) ((lambda (l) (set-cdr (last l) l)) (range n))))"
    "(define counter (lambda (n) ((lambda (self) (set-cdr self (lambda (k) (cons n self)))) (cons n nil))))"
    "(define loop (lambda (n f) (if n (loop (cdr n) ((lambda (x) f) (f (car n)))) nil)))"
    "(fib 11)(sum (range 30))(loop (range 20) ring)(loop (range 20) counter)"
    "(try (loop (range 9) (lambda (n) (if (< n 5) (error (ring n)) (ring n)))) (sum (range 4)))"
    "(cons (try (sum (cons 1 2)) 77) (car (ring 6)))"
    "(try (range 400) (sum (range 12)))"
    "(undefined-function (ring 3))";

int main(void) {
	static const char *specials[] = { "if", "define", "lambda", "try" };
	static val *syms[] = { &sym_if, &sym_define, &sym_lambda, &sym_try };
	val global = obj_new(ENV);
	static const char *p = program;	/* not lost in a longjmp() */
	jmp_buf top;

	for (int i = 0; i < 4; i++)
		*syms[i] = intern(specials[i], strlen(specials[i]));
	for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
		val fn = obj_new(BUILTIN);
		fn->u.builtin.fn = builtins[i].fn, fn->u.builtin.arity = builtins[i].arity;
		bind(global, intern(builtins[i].name, strlen(builtins[i].name)), fn);
	}
	bind(global, intern("nil", 3), NIL);
	while (*p != '\0') {
		handler = &top;
		if (setjmp(top) == 0) {
			val form = push(read_form(&p)), result = push(eval(form, global));
			if (IS_INT(result))
				printf("%ld\n", (long)NUM(result));
			else if (IS(result, PAIR) && IS_INT(result->u.slot[0]))
				printf("(%ld ...\n", (long)NUM(result->u.slot[0]));
		} else
			printf("error: %s\n", message);
		unwind(0);
		if (suspects.n > 200)
			collect();
	}
	unref(global);			/* its closures know it, so this is a cycle */
	collect();
	printf("garbage in cycles %u, live %u\n", cycles_freed, live);
	free(suspects.at);
	free(garbage.at);
	return 0;			/* symbols stay */
}
