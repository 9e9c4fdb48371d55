/* summary: counter of further owners (0 is one owner, no owner is -1), errors longjmp out of a recursive parser and a cleanup list gives the references back, values in alloca and static memory whose last put frees nothing
 * track: own
 * build: clang -O1 -g -Wall jump_parse.c -o OUT
 */
/*
 * jump_parse - a small Lisp-like configuration language.
 *
 * A value's `more' counts its owners beyond the first one, so that a zeroed
 * value is one with one owner.  Errors are thrown with longjmp; what a frame
 * owns at that time is on the cleanup list, and the catcher gives it back.
 */
#include <alloca.h>
#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NIL, NUMBER, SYMBOL, PAIR };
enum home { HEAP, STACK, FIXED };

struct value {
	int more;               /* owners beyond the first one; -1: nobody */
	unsigned char kind, home;
	union {
		long number;
		char name[24];
		struct { struct value *head, *tail; } pair;
	};
};

static struct value nil = { .kind = NIL, .home = FIXED };
static struct value truth = { .kind = SYMBOL, .home = FIXED, .name = "true" };
static long made, gone;

static struct value *value_new(enum kind kind)
{
	struct value *v = calloc(1, sizeof *v);
	if (!v)
		abort();
	v->kind = kind;
	made++;
	return v;
}

/* For memory of the caller's; it must outlive every reference. */
static struct value *value_init(struct value *v, enum kind kind)
{
	memset(v, 0, sizeof *v);
	v->kind = kind;
	v->home = STACK;
	return v;
}

static struct value *value_get(struct value *v)
{
	v->more++;
	return v;
}

static void value_put(struct value *v)
{
	if (v->more-- > 0)
		return;
	if (v->kind == PAIR) {
		value_put(v->pair.head);
		value_put(v->pair.tail);
	}
	if (v->home == HEAP) {
		gone++;
		free(v);
	}
}

/* ---- the cleanup list --------------------------------------------------- */

struct catcher {
	jmp_buf where;
	int mark;
	struct catcher *outer;
	char message[60];
};

static struct catcher *catcher;
static struct value *cleanup[256];
static int cleanups;

/* The reference now is the list's, until keep() or a throw. */
static struct value *guard(struct value *v)
{
	if (cleanups == 256)
		abort();
	return cleanup[cleanups++] = v;
}

/* Takes the newest guarded reference off the list again. */
static struct value *keep(struct value *v)
{
	if (cleanup[--cleanups] != v)
		abort();
	return v;
}

static _Noreturn void throw(const char *what, const char *at)
{
	struct catcher *c = catcher;
	snprintf(c->message, sizeof c->message, "%s at '%.12s'", what, at);
	while (cleanups > c->mark)
		value_put(cleanup[--cleanups]);
	catcher = c->outer;
	longjmp(c->where, 1);
}

/* ---- parser ------------------------------------------------------------- */

static struct value *cons(struct value *head, struct value *tail)
{
	struct value *v = value_new(PAIR);
	v->pair.head = head;
	v->pair.tail = tail;
	return v;
}

static const char *skip(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static struct value *parse(const char **at);

static struct value *parse_rest(const char **at)
{
	const char *s = *at = skip(*at);
	if (*s == ')') {
		++*at;
		return value_get(&nil);
	}
	if (!*s)
		throw("list without end", s);
	struct value *head = guard(parse(at));
	struct value *tail = parse_rest(at);
	return cons(keep(head), tail);
}

static struct value *parse(const char **at)
{
	const char *s = *at = skip(*at);
	if (*s == '(') {
		++*at;
		return parse_rest(at);
	}
	if (*s == '-' || isdigit((unsigned char)*s)) {
		char *end;
		struct value *v = value_new(NUMBER);
		guard(v);
		v->number = strtol(s, &end, 10);
		if (end == s || isalpha((unsigned char)*end))
			throw("no number", s);
		*at = end;
		return keep(v);
	}
	if (isalpha((unsigned char)*s) || strchr("+*", *s ? *s : '@')) {
		char name[24];
		size_t n = 0;
		while (*s && !isspace((unsigned char)*s) && !strchr("()", *s) && n < sizeof name - 1)
			name[n++] = *s++;
		name[n] = 0;
		*at = s;
		if (!strcmp(name, truth.name))
			return value_get(&truth);
		struct value *v = value_new(SYMBOL);
		memcpy(v->name, name, n + 1);
		return v;
	}
	throw("unexpected character", s);
}

/* ---- evaluation --------------------------------------------------------- */

/* Returns a reference.  `v' is borrowed. */
static struct value *eval(struct value *v)
{
	if (v->kind != PAIR)
		return value_get(v);
	struct value *op = v->pair.head;
	if (op->kind != SYMBOL)
		throw("cannot call", op->kind == NUMBER ? "number" : "list");
	if (!strcmp(op->name, "quote") && v->pair.tail->kind == PAIR)
		return value_get(v->pair.tail->pair.head);
	if (!strcmp(op->name, "true"))
		return value_get(v->pair.tail);
	int multiply = op->name[0] == '*';
	if (!multiply && op->name[0] != '+')
		throw("unknown function", op->name);

	/* The sum is made in this frame, and copied out if all goes well. */
	struct value *sum = guard(value_init(alloca(sizeof *sum), NUMBER));
	sum->number = multiply;
	for (struct value *each = v->pair.tail; each->kind == PAIR; each = each->pair.tail) {
		struct value *part = guard(eval(each->pair.head));
		if (part->kind != NUMBER)
			throw("not a number", part->kind == SYMBOL ? part->name : "()");
		if (multiply)
			sum->number *= part->number;
		else
			sum->number += part->number;
		value_put(keep(part));
	}
	struct value *result = value_new(NUMBER);
	result->number = sum->number;
	value_put(keep(sum));
	return result;
}

static struct value *results;           /* all results, the newest first */

static int run(const char *text)
{
	struct catcher c = { .mark = cleanups, .outer = catcher };
	const char *volatile source = text;

	catcher = &c;
	if (setjmp(c.where)) {
		printf("%-34s ! %s\n", source, c.message);
		return 1;
	}
	const char *at = text;
	struct value *tree = guard(parse(&at));
	struct value *value = guard(eval(tree));
	if (*skip(at))
		throw("more text", skip(at));
	printf("%-34s = kind %d, %ld\n", text, value->kind, value->kind == NUMBER ? value->number : 0);
	results = cons(keep(value), results);
	value_put(keep(tree));
	catcher = c.outer;
	return 0;
}

int main(void)
{
	static const char *const lines[] = {
		"(+ 1 2 (* 3 4))", "(+ 1 (* 2 x))", "(quote (a b (c 1 2)))", "(+ 1 (2 3))", "(a b (c d (e 1x)))",
		"(true 1 true (a))", "(* 7 (+ 1 (+ 2 (+ 3 true))))", "(+ 1 2", "(quote true)", "(+ 5 6) 7", "(- 1)",
		"(f (g (h (i (j ?)))))", "()", "(* 2 (+) (*))",
	};
	int errors = 0;

	results = value_get(&nil);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
			errors += run(lines[i]);
	value_put(results);
	printf("%d errors, %ld made, %ld gone, nil %d, true %d\n", errors, made, gone, nil.more, truth.more);
	return made != gone || nil.more || truth.more || cleanups;
}
