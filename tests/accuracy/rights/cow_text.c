/* summary: texts that are written to in place when they have one user and may move by realloc() with their counter; text_add() takes its caller's reference and returns another one, perhaps of the same text
 * track: own
 * build: gcc -O2 -g -Wall cow_text.c -o OUT
 */
/*
 * Texts that are copied when they are written to, for the cells of a table. The
 * counter is in front of the characters, in the same piece of memory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
	uint32_t users;
	uint32_t length, room;
	char chars[];
};

static struct {
	unsigned made, freed, grown, copied, in_place;
} stats;

__attribute__((noinline)) struct text *text_new(const char *chars)
{
	size_t n = strlen(chars);
	struct text *t = malloc(sizeof *t + n + 1);

	if (!t)
		abort();
	t->users = 1;
	t->length = t->room = (uint32_t)n;
	memcpy(t->chars, chars, n + 1);
	stats.made++;
	return t;
}

__attribute__((noinline)) struct text *text_ref(struct text *t)
{
	t->users++;
	return t;
}

__attribute__((noinline)) void text_unref(struct text *t)
{
	if (--t->users)
		return;
	stats.freed++;
	free(t);
}

/* Takes the reference; the one that comes back is to a text nobody else has. */
static struct text *text_writable(struct text *t, uint32_t room)
{
	struct text *own;

	if (t->users == 1) {
		if (room <= t->room) {
			stats.in_place++;
			return t;
		}
		room += room / 2;
		t = realloc(t, sizeof *t + room + 1);	/* the counter moves too */
		if (!t)
			abort();
		t->room = room;
		stats.grown++;
		return t;
	}
	own = malloc(sizeof *own + room + 1);
	if (!own)
		abort();
	memcpy(own, t, sizeof *own + t->length + 1);	/* all of it, the counter as well */
	own->users = 1;
	own->room = room;
	stats.made++;
	stats.copied++;
	text_unref(t);
	return own;
}

static struct text *text_add(struct text *t, const char *more)
{
	uint32_t n = (uint32_t)strlen(more);

	t = text_writable(t, t->length + n);
	memcpy(t->chars + t->length, more, n + 1);
	t->length += n;
	return t;
}

/* The empty text is always there. */
static struct { struct text t; char end; } empty = { { 1, 0, 0 }, 0 };

/* Cells */
#define ROWS 20
#define COLUMNS 5
static struct text *cells[ROWS][COLUMNS];

static void cell_set(int row, int column, struct text *t)
{
	struct text *old = cells[row][column];

	cells[row][column] = t;
	if (old)
		text_unref(old);
}

/* The cell is empty of pointers as long as its text is written to. */
static void cell_add(int row, int column, const char *more)
{
	struct text *t = cells[row][column];

	cells[row][column] = NULL;
	cells[row][column] = text_add(t, more);
}

static void fill_down(int column, int from, int to)
{
	for (int r = from + 1; r < to; r++)
		cell_set(r, column, text_ref(cells[from][column]));
}

static void swap(int row, int a, int b)
{
	struct text *t = cells[row][a];

	cells[row][a] = cells[row][b];
	cells[row][b] = t;
}

static void rows_sort(int column)
{
	for (int i = 1; i < ROWS; i++) {
		for (int k = i; k; k--) {
			struct text *keep[COLUMNS];

			if (strcmp(cells[k - 1][column]->chars, cells[k][column]->chars) <= 0)
				break;
			memcpy(keep, cells[k], sizeof keep);
			memcpy(cells[k], cells[k - 1], sizeof keep);
			memcpy(cells[k - 1], keep, sizeof keep);
		}
	}
}

int main(void)
{
	char line[32];
	size_t length = 0;

	for (int r = 0; r < ROWS; r++) {
		for (int c = 0; c < COLUMNS; c++)
			cells[r][c] = text_ref(&empty.t);
		snprintf(line, sizeof line, "row %02d", r * 7 % ROWS);
		cell_set(r, 0, text_new(line));
	}
	cell_set(0, 1, text_new("the same for all"));
	fill_down(1, 0, ROWS);
	for (int r = 0; r < ROWS; r += 4)
		cell_add(r, 1, ", nearly");
	for (int r = 0; r < ROWS; r++) {
		cell_add(r, 3, r % 2 ? "odd" : "even");
		for (int i = 0; i < r; i++)
			cell_add(r, 3, "+");
		if (r % 3 == 0)
			swap(r, 2, 3);
	}
	rows_sort(0);
	fill_down(3, 10, 14);
	for (int r = 0; r < ROWS; r++)
		for (int c = 0; c < COLUMNS; c++)
			length += cells[r][c]->length;
	printf("%s | %s | %s | %s\n", cells[12][0]->chars, cells[12][1]->chars, cells[12][2]->chars,
	       cells[12][3]->chars);
	for (int r = 0; r < ROWS; r++)
		for (int c = 0; c < COLUMNS; c++)
			cell_set(r, c, NULL);
	printf("%zu characters, %u made, %u copied, %u grown, %u in place, %u freed\n", length,
	       stats.made, stats.copied, stats.grown, stats.in_place, stats.freed);
	return stats.made != stats.freed || empty.t.users != 1;
}
