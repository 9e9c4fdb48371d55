/* summary: own floating references (lowest bit of the count's word, count in steps of 2): containers sink, steal or take full references; getters with transfer none and full; unowned floating values are dropped by a put; unique arrays are moved by realloc with their count; copy on write of shared ones moves the caller's reference to another object
 * track: own
 * build: clang -O3 -g -o OUT doc_floating.c
 */
/*
 * doc_floating: values for reports.  A new value floats: the first container
 * that gets it owns it, and expressions of constructors need no cleaning up.
 * Arrays and tables are values with their items behind them; they are changed
 * in place while there is one reference, and copied when there are more.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { INT, TEXT, ARRAY };

struct val {
	uint32_t rc;			/* twice the references, and one if it floats */
	uint16_t type, size;		/* size: room for items */
	uint32_t n;			/* items, or the length of the text */
	union {
		long number;
		char text[1];		/* and more */
		struct val *items[1];	/* and more; counted */
	} u;
};

static long values_made, values_gone, moved, copied, sunk;

#define FLOATING 1u
#define ONE 2u

/* ---- counting ------------------------------------------------------------------- */

static struct val *
val_alloc(enum type type, size_t extra)
{
	struct val *v = calloc(1, sizeof *v + extra);

	if (v == NULL)
		abort();
	v->rc = ONE | FLOATING;
	v->type = (uint16_t)type;
	values_made++;
	return v;
}

static struct val *
val_ref(struct val *v)
{
	v->rc += ONE;
	return v;
}

static void
val_unref(struct val *v)
{
	if (v == NULL || (v->rc -= ONE) >= ONE)
		return;
	if (v->type == ARRAY)
		for (uint32_t i = 0; i < v->n; i++)
			val_unref(v->u.items[i]);
	values_gone++;
	free(v);
}

/* A reference that is the caller's: the floating one if there is one. */
static struct val *
val_sink(struct val *v)
{
	if (v->rc & FLOATING) {
		v->rc &= ~FLOATING;
		sunk++;
		return v;
	}
	return val_ref(v);
}

/* Of a function that gives either floating or full references, always a full one. */
static struct val *
val_take(struct val *v)
{
	v->rc &= ~FLOATING;
	return v;
}

/* ---- making ---------------------------------------------------------------------- */

static struct val *
val_int(long number)
{
	struct val *v = val_alloc(INT, 0);

	v->u.number = number;
	return v;
}

static struct val *
val_text(const char *text)
{
	size_t len = strlen(text);
	struct val *v = val_alloc(TEXT, len);

	v->n = (uint32_t)len;
	memcpy(v->u.text, text, len + 1);
	return v;
}

static struct val *
val_array(uint16_t size)
{
	struct val *v = val_alloc(ARRAY, size * sizeof(struct val *));

	v->size = size;
	return v;
}

/* What *a is, for nobody else; the caller's reference may be to another one then. */
static struct val *
array_writable(struct val **a, uint32_t room)
{
	struct val *v = *a;
	uint32_t size = v->size ? v->size : 1;

	while (size < room)
		size *= 2;
	if (v->rc >= 2 * ONE) {
		struct val *copy = val_array((uint16_t)size);

		copy->n = v->n;
		for (uint32_t i = 0; i < v->n; i++)
			copy->u.items[i] = val_ref(v->u.items[i]);
		copied++;
		copy->rc = ONE;
		val_unref(v);
		return *a = copy;
	}
	if (size > v->size) {
		v = realloc(v, sizeof *v + size * sizeof(struct val *));
		if (v == NULL)
			abort();
		moved += v != *a;
		v->size = (uint16_t)size;
		*a = v;
	}
	return v;
}

/* Takes over the reference that is given. */
static void
array_push_full(struct val **a, struct val *item)
{
	struct val *v = array_writable(a, (*a)->n + 1);

	v->u.items[v->n++] = item;
}

static void
array_push(struct val **a, struct val *item)
{
	array_push_full(a, val_sink(item));
}

static struct val *
array_of(struct val *first, ...)
{
	struct val *a = val_array(2);
	va_list ap;

	va_start(ap, first);
	for (struct val *v = first; v != NULL; v = va_arg(ap, struct val *))
		array_push(&a, v);
	va_end(ap);
	return a;			/* floats, wherever it lies now */
}

/* Not the caller's. */
static struct val *
array_peek(const struct val *a, uint32_t i)
{
	return i < a->n ? a->u.items[i] : NULL;
}

/* The caller's. */
static struct val *
array_dup(const struct val *a, uint32_t i)
{
	return i < a->n ? val_ref(a->u.items[i]) : val_take(val_text("none"));
}

/* Out of the array, the caller's. */
static struct val *
array_steal(struct val **a, uint32_t i)
{
	struct val *v = array_writable(a, 0), *item;

	item = v->u.items[i];
	v->u.items[i] = v->u.items[--v->n];
	return item;
}

/* The place of an item of an array that nobody else has. */
static struct val **
array_place(struct val **a, uint32_t i)
{
	return &array_writable(a, 0)->u.items[i];
}

static unsigned
digest(const struct val *v, unsigned sum)
{
	const char *text = v->u.text;

	if (v->type == INT)
		return sum * 31 + (unsigned)v->u.number;
	for (uint32_t i = 0; i < v->n; i++)
		sum = v->type == TEXT ? sum * 33 + (unsigned char)text[i] : digest(v->u.items[i], sum + 7);
	return sum;
}

/* ---- reports ----------------------------------------------------------------------- */

/* Floating when it is new, full when it is the old one. */
static struct val *
cell_value(struct val *row, long n)
{
	return n % 4 == 3 ? array_dup(row, (uint32_t)n % 3) : val_int(n * n);
}

static void
set_cell(struct val **table, uint32_t row, uint32_t column, struct val *v)
{
	struct val **place = array_place(array_place(table, row), column), *old = *place;

	*place = val_sink(v);
	val_unref(old);
}

int
main(void)
{
	struct val *table = val_take(val_array(0)), *header, *history, *trash;
	unsigned sum = 0, history_sum = 0;

	header = val_sink(array_of(val_text("name"), val_text("amount"), val_text("total of all"), NULL));
	history = val_take(val_array(1));
	trash = val_take(val_array(0));
	array_push(&table, header);
	for (long r = 0; r < 30; r++) {
		struct val *row = array_of(val_text(r % 2 ? "odd" : "even"), val_int(r), array_peek(header, 2), NULL);

		for (long extra = 0; extra < r % 6; extra++)
			array_push_full(&row, val_take(cell_value(row, r + extra)));	/* row floats and may move */
		if (r % 7 == 6) {
			sum = digest(row, sum);
			val_unref(row);			/* nobody wanted it */
			continue;
		}
		array_push(&table, row);
		if (r % 5 == 4)
			array_push(&history, table);	/* shared: the next change copies */
		if (r % 3 == 1)
			set_cell(&table, table->n / 2, 1, val_int(-r));
		if (r % 8 == 3)
			set_cell(&table, table->n - 1, 0, array_peek(header, 0));
		if (r % 9 == 5)
			array_push_full(&trash, array_steal(&table, 1));
	}
	for (uint32_t i = 0; i < table->n; i += 4) {
		struct val *row = array_dup(table, i), *cell = array_dup(row, 4);

		sum = digest(cell, sum);
		array_push_full(&row, cell);		/* the table keeps the row as it was */
		array_push_full(&trash, row);
	}
	while (history->n > 2) {
		struct val *version = array_steal(&history, 0);

		history_sum = digest(version, history_sum);
		val_unref(version);
	}
	printf("table %08x, history %08x, trash %08x\n", digest(table, sum), digest(history, history_sum), digest(trash, 0));
	printf("%ld values: %ld sunk, %s moved, %ld copied\n", values_made, sunk, moved ? "some" : "none", copied);
	val_unref(header);
	val_unref(trash);
	val_unref(table);
	val_unref(history);
	puts(values_made == values_gone ? "all gone" : "some are left");
	return 0;
}
