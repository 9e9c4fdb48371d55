/* summary: workers take sixteen references of a quota at once and hand them out of their stock, so that single references come and go without the counter, and what is left goes back in one step
 * track: own
 * build: gcc -O2 -g -Wall ref_stock.c -o OUT
 */
/*
 * Pages are charged to quotas. As a charge is frequent, each worker keeps a
 * stock of references to the quota that it charged at last.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define QUOTAS 12
#define WORKERS 3
#define BATCH 16

struct quota {
	unsigned id;
	unsigned charged, peak;
	struct quota *parent;
	long refs;
};

struct page {
	struct page *next;
	struct quota *quota;	/* owns one */
	unsigned number;
};

struct worker {
	struct quota *stocked;
	long stock;
	struct page *pages;
	unsigned hits, refills;
};

static struct worker workers[WORKERS];
static unsigned made, freed, pages_made;

struct quota *quota_get(struct quota *q)
{
	q->refs++;
	return q;
}

__attribute__((noinline)) void quota_get_many(struct quota *q, long n)
{
	q->refs += n;
}

__attribute__((noinline)) void quota_put_many(struct quota *q, long n)
{
	while (q) {
		struct quota *parent;

		q->refs -= n;
		if (q->refs)
			return;
		parent = q->parent;
		freed++;
		free(q);
		q = parent;
		n = 1;
	}
}

void quota_put(struct quota *q)
{
	quota_put_many(q, 1);
}

__attribute__((noinline)) struct quota *quota_new(struct quota *parent)
{
	struct quota *q = calloc(1, sizeof *q);

	if (!q)
		abort();
	q->id = ++made;
	q->refs = 1;
	q->parent = parent ? quota_get(parent) : NULL;
	return q;
}

/* What is left of the stock goes back. */
static void stock_drain(struct worker *w)
{
	if (w->stock)
		quota_put_many(w->stocked, w->stock);
	w->stocked = NULL;
	w->stock = 0;
}

/* One reference, out of the stock. */
static struct quota *stock_take(struct worker *w, struct quota *q)
{
	if (w->stocked != q || !w->stock) {
		stock_drain(w);
		quota_get_many(q, BATCH);
		w->stocked = q;
		w->stock = BATCH;
		w->refills++;
	} else {
		w->hits++;
	}
	w->stock--;
	return q;
}

/* One reference comes back: into the stock if it is of that quota. */
static void stock_give(struct worker *w, struct quota *q)
{
	if (w->stocked == q && w->stock < 2 * BATCH)
		w->stock++;
	else
		quota_put(q);
}

static void page_charge(struct worker *w, struct quota *q)
{
	struct page *p = malloc(sizeof *p);

	if (!p)
		abort();
	p->number = ++pages_made;
	p->quota = stock_take(w, q);
	if (++q->charged > q->peak)
		q->peak = q->charged;
	p->next = w->pages;
	w->pages = p;
}

static void page_free(struct worker *w)
{
	struct page *p = w->pages;

	if (!p)
		return;
	w->pages = p->next;
	p->quota->charged--;
	stock_give(w, p->quota);
	free(p);
}

/* The page changes its worker; its reference goes with it. */
static void page_move(struct worker *from, struct worker *to)
{
	struct page *p = from->pages;

	if (!p)
		return;
	from->pages = p->next;
	p->next = to->pages;
	to->pages = p;
}

int main(void)
{
	struct quota *quotas[QUOTAS];
	uint32_t seed = 7;
	unsigned peak = 0, hits = 0, refills = 0;

	for (int i = 0; i < QUOTAS; i++)
		quotas[i] = quota_new(i < 3 ? NULL : quotas[i % 3]);
	for (int step = 0; step < 900; step++) {
		struct worker *w = &workers[step % WORKERS];

		seed = seed * 1103515245u + 12345u;
		switch (seed >> 28) {
		case 0: case 1: case 2: case 3: case 4: case 5:
			page_free(w);
			break;
		case 6:
			page_move(w, &workers[(step + 1) % WORKERS]);
			break;
		default:
			page_charge(w, quotas[(seed >> 16) % 40 < 30 ? step / 90 : (seed >> 20) % QUOTAS]);
		}
	}
	/* The quotas are given up while pages and stocks still have references. */
	for (int i = 0; i < QUOTAS; i++) {
		peak += quotas[i]->peak;
		quota_put(quotas[i]);
	}
	printf("%u quotas, %u gone while pages are left\n", made, freed);
	for (int i = 0; i < WORKERS; i++) {
		while (workers[i].pages)
			page_free(&workers[i]);
		stock_drain(&workers[i]);
		hits += workers[i].hits;
		refills += workers[i].refills;
	}
	printf("%u pages, peak %u, %u hits, %u refills, %u gone\n", pages_made, peak, hits, refills,
	       freed);
	return made != freed;
}
