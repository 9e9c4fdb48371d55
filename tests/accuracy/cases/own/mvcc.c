/* summary: cursor_clone() copies the cursor with its version pointer but takes no reference for the copy
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: own
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * mvcc - a toy multi-version table.  A version is an array of pages; a
 * commit makes a new version which shares all the pages it did not change.
 * Readers work through cursors that keep their version alive.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_ROWS  16
#define NPAGES     12
#define NROWS      (PAGE_ROWS * NPAGES)
#define KEEP       12

static unsigned long n_get, n_put;

/* Works for anything with an `int refs`. */
#define REF_INIT(o)  ((o)->refs = 1)
#define REF_GET(o)                                              \
	do {                                                    \
		assert((o)->refs > 0);                          \
		(o)->refs++;                                    \
		n_get++;                                        \
	} while (0)
#define REF_PUT(o, destroy)                                     \
	do {                                                    \
		if ((o) != NULL) {                              \
			n_put++;                                \
			if (--(o)->refs == 0)                   \
				destroy(o);                     \
		}                                               \
	} while (0)

struct row { int key, value; };

struct page {
	unsigned   lsn;         /* version that wrote it */
	int        nrows;
	struct row rows[PAGE_ROWS];
	int        refs;
};

struct version {
	unsigned     id;
	int          npages;
	struct page *pages[NPAGES];
	int          refs;
};

struct cursor {
	struct version *ver;
	int             page, slot;
	int             lo, hi; /* key range */
};

struct db {
	struct version *current;
	struct version *saved[KEEP];    /* named savepoints */
	int             nsaved;
	int             versions_made, pages_made;
	int             versions_freed, pages_freed;
};

static struct db db;

static __attribute__((noinline)) struct page *page_new(unsigned lsn)
{
	struct page *pg = calloc(1, sizeof *pg);

	if (!pg)
		abort();
	REF_INIT(pg);
	pg->lsn = lsn;
	db.pages_made++;
	return pg;
}

static void page_destroy(struct page *pg)
{
	db.pages_freed++;
	free(pg);
}

static __attribute__((noinline)) struct version *version_new(unsigned id)
{
	struct version *v = calloc(1, sizeof *v);

	if (!v)
		abort();
	REF_INIT(v);
	v->id = id;
	v->npages = NPAGES;
	db.versions_made++;
	return v;
}

static void version_destroy(struct version *v)
{
	for (int i = 0; i < v->npages; i++)
		REF_PUT(v->pages[i], page_destroy);
	db.versions_freed++;
	free(v);
}

struct change { int key, delta; };

static struct page *page_for_write(struct version *v, int idx)
{
	struct page *old = v->pages[idx], *pg;

	if (old->lsn == v->id)          /* already our own copy */
		return old;
	pg = page_new(v->id);
	pg->nrows = old->nrows;
	memcpy(pg->rows, old->rows, sizeof pg->rows);
	v->pages[idx] = pg;
	REF_PUT(old, page_destroy);
	return pg;
}

static void db_commit(const struct change *ch, int n)
{
	struct version *old = db.current, *v = version_new(old->id + 1);

	for (int i = 0; i < NPAGES; i++) {
		v->pages[i] = old->pages[i];
		REF_GET(v->pages[i]);
	}
	for (int i = 0; i < n; i++) {
		struct page *pg = page_for_write(v, ch[i].key / PAGE_ROWS);
		pg->rows[ch[i].key % PAGE_ROWS].value += ch[i].delta;
	}
	db.current = v;
	REF_PUT(old, version_destroy);
}

static void db_savepoint(void)
{
	REF_GET(db.current);
	db.saved[db.nsaved++] = db.current;
}

static struct cursor *cursor_open(struct version *v, int lo, int hi)
{
	struct cursor *c = calloc(1, sizeof *c);

	if (!c)
		abort();
	REF_GET(v);
	c->ver = v;
	c->lo = lo;
	c->hi = hi;
	c->page = lo / PAGE_ROWS;
	return c;
}

/* A second cursor at the same place. */
static struct cursor *cursor_clone(const struct cursor *src)
{
	struct cursor *c = malloc(sizeof *c);

	if (!c)
		abort();
#ifdef BUG
	*c = *src;                      /* GUILTY */
#else
	*c = *src;
	REF_GET(c->ver);
#endif
	return c;
}

static void cursor_close(struct cursor *c)
{
	REF_PUT(c->ver, version_destroy);
	free(c);
}

static const struct row *cursor_next(struct cursor *c)
{
	while (c->page < c->ver->npages) {
		const struct page *pg = c->ver->pages[c->page];

		while (c->slot < pg->nrows) {
			const struct row *r = &pg->rows[c->slot++];

			if (r->key >= c->hi)
				return NULL;
			if (r->key >= c->lo)
				return r;
		}
		c->page++;
		c->slot = 0;
	}
	return NULL;
}

static long sum_range(struct version *v, int lo, int hi)
{
	struct cursor *c = cursor_open(v, lo, hi);
	const struct row *r;
	long sum = 0;
	while ((r = cursor_next(c)) != NULL)
		sum += r->value;
	cursor_close(c);
	return sum;
}

/* Look ahead from a row: is its value seen again within the range? */
static int seen_ahead(const struct cursor *at, int value)
{
	struct cursor *ahead = cursor_clone(at);
	const struct row *r;
	int seen = 0;
	while (!seen && (r = cursor_next(ahead)) != NULL)
		seen = r->value == value;
	cursor_close(ahead);            /* ACCEPTED */
	return seen;
}

static int has_duplicates(struct version *v, int lo, int hi)
{
	struct cursor *c = cursor_open(v, lo, hi);
	const struct row *r = cursor_next(c);
	int dup = r && seen_ahead(c, r->value);
	cursor_close(c);
	return dup;
}

static int rnd(int n)
{
	static unsigned seed = 7;

	seed = seed * 69069u + 1;
	return (int)((seed >> 10) % (unsigned)n);
}

int main(void)
{
	long total = 0;
	int dups = 0;

	db.current = version_new(1);
	for (int i = 0; i < NPAGES; i++)
		db.current->pages[i] = page_new(1);
	for (int k = 0; k < NROWS; k++) {
		struct page *pg = db.current->pages[k / PAGE_ROWS];
		pg->rows[pg->nrows++] = (struct row){ k, k * 37 % 50 };
	}

	for (int t = 0; t < 80; t++) {
		struct change ch[3];

		for (int i = 0; i < 3; i++)
			ch[i] = (struct change){ rnd(NROWS), rnd(9) - 4 };
		db_commit(ch, 3);
		if (t % 8 == 3 && db.nsaved < KEEP)
			db_savepoint();
		total += sum_range(db.current, rnd(60), 60 + rnd(NROWS - 60));
	}
	for (int i = 0; i < db.nsaved; i++) {
		total += sum_range(db.saved[i], 0, NROWS);
		if (i % 3 == 1)         /* a spot check before it goes */
			dups += has_duplicates(db.saved[i], 20, 120);
		REF_PUT(db.saved[i], version_destroy);
	}
	REF_PUT(db.current, version_destroy);

	printf("total %ld, duplicates in %d savepoints\n", total, dups);
	printf("versions %d/%d, pages %d/%d, %lu gets, %lu puts\n", db.versions_freed,
	       db.versions_made, db.pages_freed, db.pages_made, n_get, n_put);
	return 0;
}
