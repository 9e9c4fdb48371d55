/* summary: a small language's cells with deferred counting: only the heap counts, a cell at zero lives on while the stack has it, a sweep frees the rest
 * track: own
 * build: gcc -O1 -g foundry_zct.c -o OUT
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* refs counts the references from other cells and from globals. The evaluator's stack does not count; a cell whose
   count is zero is in the zero table, and is freed by a sweep that does not find it on the stack. */
struct cell {
	enum { NUMBER, PAIR, VECTOR, SYMBOL } kind;
	uint32_t refs;
	bool in_table, on_stack;
	union {
		long number;
		struct { struct cell *head, *tail; };
		struct { struct cell **items; unsigned used, room; };
		char name[16];
	};
};

enum { STACK = 256, TABLE = 64 };

static struct cell *stack[STACK];
static unsigned depth;
static struct cell *table[TABLE * 4];
static unsigned in_table, live, sweeps, freed;

static void sweep(void);

static void table_add(struct cell *cell)
{
	if (cell->in_table)
		return;
	cell->in_table = true;
	table[in_table++] = cell;
}

/* A new cell has no reference: it is the stack's alone. */
struct cell *cell_new(int kind)
{
	if (in_table >= TABLE)
		sweep();
	struct cell *cell = calloc(1, sizeof *cell);
	if (!cell)
		abort();
	cell->kind = kind;
	cell->refs = 0;
	live++;
	table_add(cell);
	return cell;
}

struct cell *cell_retain(struct cell *cell)
{
	cell->refs++;
	return cell;
}

/* At zero nothing is freed here: the stack may have it, or a store may take it up again. */
void cell_release(struct cell *cell)
{
	if (--cell->refs == 0)
		table_add(cell);
}

void cell_destroy(struct cell *cell)
{
	if (cell->kind == PAIR) {
		if (cell->head)
			cell_release(cell->head);
		if (cell->tail)
			cell_release(cell->tail);
	} else if (cell->kind == VECTOR) {
		for (unsigned i = 0; i < cell->used; i++)
			cell_release(cell->items[i]);
		free(cell->items);
	}
	live--;
	freed++;
	free(cell);
}

static void sweep(void)
{
	unsigned kept = 0;
	sweeps++;
	for (unsigned i = 0; i < depth; i++)
		stack[i]->on_stack = true;
	/* Destroying adds to the table's end: those are seen in the same sweep. */
	for (unsigned i = 0; i < in_table; i++) {
		struct cell *cell = table[i];
		if (cell->refs) {
			cell->in_table = false;          /* stored since */
		} else if (cell->on_stack) {
			table[kept++] = cell;
		} else {
			cell_destroy(cell);
			if (in_table > TABLE * 3) {      /* make room in front of what comes */
				memmove(&table[kept], &table[i + 1], (in_table - i - 1) * sizeof *table);
				in_table -= i + 1 - kept;
				i = kept - 1;
			}
		}
	}
	in_table = kept;
	for (unsigned i = 0; i < depth; i++)
		stack[i]->on_stack = false;
}

static void push(struct cell *cell)
{
	if (depth == STACK)
		abort();
	stack[depth++] = cell;
}

static struct cell *pop(void)
{
	return stack[--depth];
}

/* A store counts the new one before the old one: they may be the same. */
static void set_slot(struct cell **slot, struct cell *cell)
{
	struct cell *old = *slot;
	*slot = cell ? cell_retain(cell) : NULL;
	if (old)
		cell_release(old);
}

static void push_number(long number)
{
	struct cell *cell = cell_new(NUMBER);
	cell->number = number;
	push(cell);
}

/* ( tail head -- pair ) */
static void cons(void)
{
	struct cell *pair = cell_new(PAIR);
	set_slot(&pair->head, stack[depth - 1]);
	set_slot(&pair->tail, depth > 1 ? stack[depth - 2] : NULL);
	depth -= depth > 1 ? 2 : 1;
	push(pair);
}

static void vector_append(struct cell *vector, struct cell *item)
{
	if (vector->used == vector->room) {
		vector->room = vector->room ? vector->room * 2 : 2;
		vector->items = realloc(vector->items, vector->room * sizeof *vector->items);
	}
	vector->items[vector->used++] = cell_retain(item);
}

/* Takes the vector's reference off and leaves the item to the stack, at zero perhaps. */
static void vector_pop(struct cell *vector)
{
	struct cell *item = vector->items[--vector->used];
	cell_release(item);
	push(item);
}

static struct cell *globals[8];

static long sum_of(const struct cell *cell)
{
	long sum = 0;
	for (; cell && cell->kind == PAIR; cell = cell->tail)
		sum += cell->head->number;
	return sum;
}

int main(void)
{
	long total = 0;

	/* A list that is only the stack's until a global takes it. */
	struct cell *nil = cell_new(SYMBOL);
	strcpy(nil->name, "nil");
	push(nil);
	for (int i = 1; i <= 100; i++) {
		push_number(i);
		cons();
	}
	set_slot(&globals[0], pop());
	total += sum_of(globals[0]);

	/* Moves between a vector, the stack and globals: 1, 0, 1, 0 and 1 again. */
	set_slot(&globals[1], cell_new(VECTOR));
	for (int round = 0; round < 40; round++) {
		push_number(round);
		vector_append(globals[1], stack[depth - 1]);
		pop();
		vector_pop(globals[1]);
		if (round % 8 == 0)
			sweep();                             /* it is on the stack */
		total += stack[depth - 1]->number;
		set_slot(&globals[2 + round % 4], stack[depth - 1]);
		vector_append(globals[1], pop());
	}

	/* Rotates globals through the stack, without a count in between. */
	for (int round = 0; round < 10; round++) {
		for (int i = 2; i < 6; i++) {
			push(globals[i]);
			set_slot(&globals[i], NULL);
		}
		for (int i = 2; i < 6; i++)
			set_slot(&globals[i], pop());
		push_number(round);                          /* dropped at once: garbage */
		pop();
	}

	/* The list's tails fall one after another, in one sweep. */
	set_slot(&globals[0], NULL);
	sweep();
	while (globals[1]->used) {
		vector_pop(globals[1]);
		pop();
	}
	for (int i = 0; i < 8; i++)
		set_slot(&globals[i], NULL);
	sweep();
	printf("total %ld, %u sweeps, %u freed, %u live\n", total, sweeps, freed, live);
	return live != 0;
}
