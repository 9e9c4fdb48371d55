/* summary: objects named by index in an mremap'ed (moving) arena; counters in a realloc'ed side table in steps of 2 with bit 0 = immortal; XOR linked list; copy on write when count is exactly one; put of n at once; arena of counted strings freed whole with counts above 0
 * track: own
 * build: gcc -O3 -g offset_arena.c -o OUT
 */
/* Objects that move.  Nodes live in an mmap'ed arena which grows by mremap()
 * (so all of them move while they are referenced), are named by 32-bit index,
 * and are linked by an XOR list (no plain neighbour address anywhere).  The
 * counters are kept in a side table (realloc'ed), not in the objects; they go
 * in steps of 2, bit 0 is the mark "immortal".  Values are copy on write when
 * the count is not exactly one.  One arena's values are freed in bulk with
 * their counts above 0 (the arena owns them all).                            */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef uint32_t ref_t;         /* index of a node; 0 is nil */
struct node { uint32_t link; int vals[6]; uint32_t gen; };

static struct node *nodes;
static uint32_t *rc;            /* side table: 2 per reference, bit 0 immortal */
static uint32_t cap, used = 1, freelist, live, moved, peak;

static void grow(void)
{
	uint32_t ncap = cap ? cap * 2 : 128;
	size_t olds = (size_t)cap * sizeof *nodes, news = (size_t)ncap * sizeof *nodes;
	void *p;
	if (!cap)
		p = mmap(NULL, news, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else {
		p = mremap(nodes, (olds + 4095) & ~4095ul, news, MREMAP_MAYMOVE);
		moved += p != (void *)nodes;
	}
	if (p == MAP_FAILED) abort();
	nodes = p;
	rc = realloc(rc, (size_t)ncap * sizeof *rc);
	memset(rc + cap, 0, (size_t)(ncap - cap) * sizeof *rc);
	cap = ncap;
}

static ref_t node_new(int v)
{
	ref_t r;
	if (freelist) {
		r = freelist;
		freelist = nodes[r].link;
	} else {
		if (used >= cap) grow();
		r = used++;
	}
	uint32_t gen = nodes[r].gen;
	memset(&nodes[r], 0, sizeof nodes[r]);
	nodes[r].gen = gen + 1;
	nodes[r].vals[0] = v;
	rc[r] = 2;
	if (++live > peak) peak = live;
	return r;
}
static ref_t node_ref(ref_t r)
{
	if (r && !(rc[r] & 1)) rc[r] += 2;
	return r;
}
static void node_unref_n(ref_t r, uint32_t n)
{
	if (!r || rc[r] & 1) return;
	if ((rc[r] -= 2 * n) == 0) {
		nodes[r].link = freelist;
		freelist = r;
		live--;
	}
}
static void node_unref(ref_t r) { node_unref_n(r, 1); }
static ref_t node_immortal(int v)
{
	ref_t r = node_new(v);
	rc[r] |= 1;             /* never counted again */
	return r;
}
/* Eats the caller's reference, gives one on a node that only he has. */
static ref_t node_own(ref_t r)
{
	if (rc[r] == 2) return r;
	ref_t c = node_new(0);
	memcpy(nodes[c].vals, nodes[r].vals, sizeof nodes[c].vals);
	node_unref(r);
	return c;
}

/* ---- XOR list of counted entries ---- */
struct xlist { ref_t first, last; };
static void xpush(struct xlist *l, ref_t r)     /* moves the reference in */
{
	nodes[r].link = l->last;                /* last ^ 0 */
	if (l->last) nodes[l->last].link ^= r;
	else l->first = r;
	l->last = r;
}
static ref_t xshift(struct xlist *l)            /* moves it out */
{
	ref_t r = l->first;
	if (!r) return 0;
	ref_t n = nodes[r].link;
	if (n) nodes[n].link ^= r;
	else l->last = 0;
	l->first = n;
	nodes[r].link = 0;
	return r;
}

/* ---- arena of counted strings: dies as a whole ---- */
struct astr { uint16_t rc; uint16_t len; char s[12]; };
struct arena { struct arena *prev; size_t n; struct astr a[32]; };
static struct arena *top;
static long strs_dead, strs_reset;
static void arena_push(void)
{
	struct arena *a = malloc(sizeof *a);
	a->prev = top;
	a->n = 0;
	top = a;
}
static struct astr *str_new(int v)
{
	struct astr *s = &top->a[top->n++];
	s->rc = 1;
	s->len = snprintf(s->s, sizeof s->s, "s%d", v);
	return s;
}
static struct astr *str_ref(struct astr *s) { s->rc++; return s; }
static void str_unref(struct astr *s) { if (--s->rc == 0) strs_dead++; }
static void arena_pop(void)
{
	struct arena *a = top;
	for (size_t i = 0; i < a->n; i++) strs_reset += a->a[i].rc > 0;
	top = a->prev;
	free(a);
}

int main(void)
{
	unsigned seed = 3;
	struct xlist l = { 0, 0 };
	ref_t zero, held[64] = { 0 };
	long sum = 0;

	grow();
	zero = node_immortal(0);
	for (int i = 0; i < 6000; i++) {
		unsigned op = rand_r(&seed) % 6, s = rand_r(&seed) % 64;
		ref_t r;
		switch (op) {
		case 0: case 1:
			xpush(&l, node_new(i));
			break;
		case 2:
			node_unref(held[s]);
			held[s] = xshift(&l);
			break;
		case 3:                         /* share, then write: a copy */
			if (!held[s]) break;
			r = node_ref(held[s]);
			r = node_own(r);
			nodes[r].vals[1] = i;
			xpush(&l, r == held[s] ? node_new(1) : r);
			break;
		case 4:                         /* three at once, back at once */
			if (!held[s] || held[s] == zero) break;
			rc[held[s]] += 6;
			sum += nodes[held[s]].vals[0];
			node_unref_n(held[s], 4);       /* and the held one */
			held[s] = 0;
			break;
		default:
			node_unref(held[s]);
			held[s] = node_ref(zero);
		}
	}
	for (int d = 0; d < 40; d++) {
		arena_push();
		struct astr *s[32];
		for (int i = 0; i < 32; i++) s[i] = str_new(i);
		for (int i = 0; i < 32; i += 2) str_ref(s[i]);
		for (int i = 0; i < 32; i += 3) str_unref(s[i]);
		if (d % 2) { arena_pop(); arena_pop(); }
	}
	ref_t r;
	while ((r = xshift(&l))) node_unref(r);
	for (int i = 0; i < 64; i++) node_unref(held[i]);
	printf("live %u (the immortal one) peak %u moved %u sum %ld strings %ld reset %ld\n", live, peak, moved, sum, strs_dead, strs_reset);
	munmap(nodes, (size_t)cap * sizeof *nodes);
	free(rc);
	return live != 1 || top;
}
