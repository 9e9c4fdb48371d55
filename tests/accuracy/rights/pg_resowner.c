/* summary: PostgreSQL style: siglongjmp over puts, resource owners that release in bulk or hand over to the parent, descriptors with count -1 (not counted, die with their memory context), cache entries with count 0 alive in the cache, dead flag = freed at last pin, TopCxt freed whole
 * track: own
 * build: gcc -O0 -g pg_resowner.c -o OUT
 */
/* PostgreSQL's way: memory contexts (children die with their parents), error
 * recovery by siglongjmp, resource owners that remember counted things and
 * release them in bulk on abort, descriptors with count -1 (not counted: they
 * belong to their context and die with it), pinned cache entries with
 * count 0 which stay in the cache (dead flag: freed when the last pin goes),
 * and a counted descriptor whose memory context is reset with pins = 0.      */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory contexts ---- */
struct chunk { struct chunk *next, **pprev; };
typedef struct Mcxt { struct Mcxt *parent, *first, *sib; struct chunk *chunks; } Mcxt;
static Mcxt *TopCxt, *CurCxt;

static Mcxt *cxt_new(Mcxt *parent)
{
	Mcxt *c = calloc(1, sizeof *c);
	if ((c->parent = parent)) { c->sib = parent->first; parent->first = c; }
	return c;
}
static void *palloc(Mcxt *c, size_t n)
{
	struct chunk *k = calloc(1, sizeof *k + n);
	if ((k->next = c->chunks)) k->next->pprev = &k->next;
	k->pprev = &c->chunks;
	c->chunks = k;
	return k + 1;
}
static void pfree(void *p)
{
	struct chunk *k = (struct chunk *)p - 1;
	if ((*k->pprev = k->next)) k->next->pprev = k->pprev;
	free(k);
}
static void cxt_delete(Mcxt *c)
{
	while (c->first) cxt_delete(c->first);
	while (c->chunks) pfree(c->chunks + 1);
	if (c->parent) {
		Mcxt **p = &c->parent->first;
		while (*p != c) p = &(*p)->sib;
		*p = c->sib;
	}
	free(c);
}

/* ---- errors ---- */
static sigjmp_buf *err_stack;
static void elog_error(void) { siglongjmp(*err_stack, 1); }

/* ---- tuple descriptors: -1 is "not counted" ---- */
typedef struct { int natts; int tdrefcount; int attrs[6]; } TupleDesc;
/* ---- catalog cache entries ---- */
typedef struct Cat { struct Cat *next; int key; int refcount; char dead; int payload[4]; } Cat;

/* ---- resource owners ---- */
typedef struct Owner { struct Owner *parent; int nd, nc; TupleDesc *d[64]; Cat *c[64]; } Owner;
static Owner *CurOwner;
static int bulk_d, bulk_c, cats_live, descs_live;

static TupleDesc *desc_create(Mcxt *c, int n)
{
	TupleDesc *t = palloc(c, sizeof *t);
	t->natts = n;
	t->tdrefcount = -1;
	return t;
}
/* a counted one: starts at 0, the first pin makes it 1 */
static TupleDesc *desc_create_counted(int n)
{
	TupleDesc *t = desc_create(TopCxt, n);
	t->tdrefcount = 0;
	descs_live++;
	return t;
}
static void desc_free(TupleDesc *t) { descs_live--; pfree(t); }
static void IncrTupleDescRefCount(TupleDesc *t) { t->tdrefcount++; CurOwner->d[CurOwner->nd++] = t; }
static void desc_decr(TupleDesc *t) { if (--t->tdrefcount == 0) desc_free(t); }
static void DecrTupleDescRefCount(TupleDesc *t)
{
	Owner *o = CurOwner;
	for (int i = o->nd; i-- > 0; )
		if (o->d[i] == t) { o->d[i] = o->d[--o->nd]; break; }
	desc_decr(t);
}
#define PinTupleDesc(t) do { if ((t)->tdrefcount >= 0) IncrTupleDescRefCount(t); } while (0)
#define ReleaseTupleDesc(t) do { if ((t)->tdrefcount >= 0) DecrTupleDescRefCount(t); } while (0)

static Cat *cache[32];
static void cat_remove(Cat *c)
{
	Cat **p = &cache[c->key % 32];
	while (*p != c) p = &(*p)->next;
	*p = c->next;
	cats_live--;
	pfree(c);
}
static Cat *SearchCat(int key)
{
	Cat *c;
	for (c = cache[key % 32]; c; c = c->next)
		if (c->key == key && !c->dead) break;
	if (!c) {
		c = palloc(TopCxt, sizeof *c);
		c->key = key;
		c->next = cache[key % 32];
		cache[key % 32] = c;
		cats_live++;
	}
	c->refcount++;
	CurOwner->c[CurOwner->nc++] = c;
	return c;
}
static void cat_decr(Cat *c) { if (--c->refcount == 0 && c->dead) cat_remove(c); }
static void ReleaseCat(Cat *c)
{
	Owner *o = CurOwner;
	for (int i = o->nc; i-- > 0; )
		if (o->c[i] == c) { o->c[i] = o->c[--o->nc]; break; }
	cat_decr(c);
}
static void InvalidateCat(int key)
{
	for (Cat *c = cache[key % 32], *n; c; c = n) {
		n = c->next;
		if (c->key != key || c->dead) continue;
		if (c->refcount) c->dead = 1;
		else cat_remove(c);
	}
}

static Owner *owner_push(void)
{
	Owner *o = calloc(1, sizeof *o);
	o->parent = CurOwner;
	return CurOwner = o;
}
static void owner_pop(int commit)
{
	Owner *o = CurOwner;
	if (commit && o->parent)                /* hand over to the parent */
		while (o->nc) o->parent->c[o->parent->nc++] = o->c[--o->nc];
	while (o->nd) { desc_decr(o->d[--o->nd]); bulk_d++; }
	while (o->nc) { cat_decr(o->c[--o->nc]); bulk_c++; }
	CurOwner = o->parent;
	free(o);
}

static TupleDesc *shared;
static int __attribute__((noinline)) scan(int i, int depth)
{
	Cat *c = SearchCat(i % 70);
	TupleDesc *t = depth & 1 ? shared : desc_create(CurCxt, 3);
	PinTupleDesc(t);
	if (i % 9 == 4 && depth == 2) elog_error();     /* over all the puts */
	int r = c->key + t->natts;
	if (depth < 3) r += scan(i + 7, depth + 1);
	ReleaseTupleDesc(t);
	if (i % 4) ReleaseCat(c);       /* else: the owner does it at its end */
	return r;
}

int main(void)
{
	long sum = 0;
	int aborted = 0;
	TopCxt = cxt_new(NULL);
	owner_push();                           /* the session's */
	for (int i = 0; i < 400; i++) {
		sigjmp_buf here, *save = err_stack;
		if (i % 50 == 0) {
			if (shared) ReleaseTupleDesc(shared);   /* session's pin */
			shared = desc_create_counted(2 + i / 50);
			PinTupleDesc(shared);
		}
		CurCxt = cxt_new(TopCxt);
		Owner *o = owner_push();
		if (sigsetjmp(here, 0) == 0) {
			err_stack = &here;
			sum += scan(i, 0);
			owner_push();                   /* a subtransaction */
			SearchCat(i % 11);
			owner_pop(1);
			owner_pop(0);
		} else {
			while (CurOwner != o) owner_pop(0);
			owner_pop(0);
			aborted++;
		}
		err_stack = save;
		InvalidateCat(i % 70);
		cxt_delete(CurCxt);     /* uncounted descriptors die here */
	}
	owner_pop(0);
	if (descs_live) return 3;
	int still = cats_live;          /* count 0, cached, alive */
	cxt_delete(TopCxt);             /* and all of them go at once */
	printf("sum %ld aborted %d by owner: %d descs %d cats, cached %d\n", sum, aborted, bulk_d, bulk_c, still);
	return 0;
}
