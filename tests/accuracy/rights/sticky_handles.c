/* summary: counters of eight bits that stick at their limit (such atoms live until the end), and owners that store an atom's address scrambled and with flag bits, so that no pointer to it is anywhere
 * track: own
 * build: gcc -O2 -g -Wall sticky_handles.c -o OUT
 */
/*
 * Atoms (names) of a small interpreter. Values are words of 64 bits: a number
 * or, scrambled, where an atom lies.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STICKY 255
#define MOST 64
#define IS_ATOM 1u
#define IS_WEAK 2u	/* does not own */
#define SCRAMBLE 0x5a5ac3c396965aa0ull

struct atom {
	char name[14];
	uint8_t kind;
	uint8_t refcnt;
};

typedef uint64_t value;

static struct {
	unsigned made, freed, stuck, cleared;
} stats;
static value interned[MOST];	/* weak */
static unsigned interned_count;

__attribute__((noinline)) struct atom *atom_ref(struct atom *a)
{
	if (a->refcnt != STICKY && ++a->refcnt == STICKY)
		stats.stuck++;
	return a;
}

static value value_of(const struct atom *a, unsigned flags)
{
	return ((uintptr_t)a ^ SCRAMBLE) | flags | IS_ATOM;
}

static struct atom *atom_of(value v)
{
	return (struct atom *)(uintptr_t)((v & ~3ull) ^ SCRAMBLE);
}

static void intern_forget(const struct atom *a)
{
	for (unsigned i = 0; i < interned_count; i++) {
		if (interned[i] == value_of(a, IS_WEAK)) {
			interned[i] = interned[--interned_count];
			return;
		}
	}
}

__attribute__((noinline)) void atom_unref(struct atom *a)
{
	if (a->refcnt == STICKY || --a->refcnt)
		return;
	intern_forget(a);
	stats.freed++;
	free(a);
}

__attribute__((noinline)) struct atom *atom_new(const char *name)
{
	struct atom *a = calloc(1, sizeof *a);

	if (!a || interned_count == MOST)
		abort();
	snprintf(a->name, sizeof a->name, "%s", name);
	a->refcnt = 1;
	a->kind = name[0] == '$';
	interned[interned_count++] = value_of(a, IS_WEAK);
	stats.made++;
	return a;
}

static struct atom *atom_intern(const char *name)
{
	for (unsigned i = 0; i < interned_count; i++)
		if (!strcmp(atom_of(interned[i])->name, name))
			return atom_ref(atom_of(interned[i]));
	return atom_new(name);
}

/* Values */
static value value_number(uint32_t n)
{
	return (value)n << 2;
}

/* The reference goes into the value. */
static value value_atom(struct atom *a)
{
	return value_of(a, 0);
}

static value value_copy(value v)
{
	if ((v & (IS_ATOM | IS_WEAK)) == IS_ATOM)
		atom_ref(atom_of(v));
	return v;
}

static void value_clear(value *v)
{
	if ((*v & (IS_ATOM | IS_WEAK)) == IS_ATOM) {
		atom_unref(atom_of(*v));
		stats.cleared++;
	}
	*v = 0;
}

/* The interpreter's stack */
#define DEEP 2048
static value stack[DEEP];
static unsigned depth;

static void push(value v)
{
	if (depth == DEEP)
		abort();
	stack[depth++] = v;
}

static void run_word(const char *word, uint32_t n)
{
	if (*word == '#')
		push(value_number(n));
	else
		push(value_atom(atom_intern(word)));
	if (n % 3 == 0)
		push(value_copy(stack[depth - 1]));
	if (n % 7 == 0 && depth > 1)	/* drop */
		value_clear(&stack[--depth]);
}

/* Those that have stuck: nobody owns them any more, this is the end. */
static void atoms_end(void)
{
	while (interned_count) {
		free(atom_of(interned[--interned_count]));
		stats.freed++;
	}
}

int main(void)
{
	static const char *const words[] = { "dup", "nil", "#", "$here", "swap", "nil", "#" };
	char name[16];
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 1200; i++) {
		if (i % 40 == 11)
			snprintf(name, sizeof name, "$local%u", (unsigned)i / 80);
		run_word(i % 40 > 10 && i % 10 == 3 ? name : words[i % 7], i);
		if (depth > 1100)
			while (depth > 160)
				value_clear(&stack[--depth]);
	}
	for (unsigned i = 0; i < depth; i++)
		sum += (uint32_t)(stack[i] & IS_ATOM ? strlen(atom_of(stack[i])->name) : stack[i] >> 2);
	printf("depth %u, sum %u, %u atoms\n", depth, (unsigned)sum, interned_count);
	while (depth)
		value_clear(&stack[--depth]);
	printf("%u left, which have stuck (%u)\n", interned_count, stats.stuck);
	atoms_end();
	printf("%u made, %u freed, %u values cleared\n", stats.made, stats.freed, stats.cleared);
	return stats.made != stats.freed;
}
