/* summary: gets/puts as inline assembly in macros (no functions; lock xadd/dec), two types with a counter at one offset sharing a free list (each reborn as the other), tail calls between two puts and loops, coalesced +n/-n, count-down with no get, two counters in one 64-bit word changed together, gcc -O3 clones
 * track: own
 * build: gcc -O3 -g inline_asm_clones.c -o OUT -pthread
 */
/* What optimisers and hand tuned code make of counters: gets and puts by
 * inline assembly (lock xadd / lock dec; setz), macros with no function at
 * all, static functions that are cloned (constprop, isra, part), tail calls
 * between two types' puts, recursion turned into loops, a counter that is
 * loaded once and stored back after several uses ("coalesced"), a union with
 * a generation, two types with the counter at one offset and one free list,
 * count-down ("remaining users", 0 kills, no get ever), 64-bit word holding
 * two 32-bit counters changed by one add.                                    */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- 1: inline assembly, no functions ---- */
struct buf { unsigned len; int users; struct buf *next; char data[40]; };
static int bufs_live;
#define BUF_GET(b) __asm__ __volatile__("lock; incl %0" : "+m"((b)->users) : : "memory", "cc")
#define BUF_PUT(b) do { unsigned char z_; \
	__asm__ __volatile__("lock; decl %0; setz %1" : "+m"((b)->users), "=qm"(z_) : : "memory", "cc"); \
	if (z_) { __atomic_fetch_sub(&bufs_live, 1, __ATOMIC_RELAXED); free(b); } } while (0)
static inline int buf_sub_return(struct buf *b, int n)
{
	int old = -n;
	__asm__ __volatile__("lock; xaddl %0, %1" : "+r"(old), "+m"(b->users) : : "memory", "cc");
	return old - n;
}
static struct buf *buf_new(unsigned n)
{
	struct buf *b = malloc(sizeof *b);
	b->len = n;
	b->users = 1;
	b->next = NULL;
	__atomic_fetch_add(&bufs_live, 1, __ATOMIC_RELAXED);
	return b;
}

/* ---- 2: two types, one offset, one free list, tail calls ---- */
struct obj_hdr { void *link; int count; };
struct key { struct obj_hdr h; long hash; struct val *owner; };
struct val { struct obj_hdr h; struct key *name; struct val *left, *right; };
union cell { struct obj_hdr h; struct key k; struct val v; };
static union cell *spare;
static int cells_live, cells_made;

static void *cell_get_mem(void)
{
	union cell *c = spare;
	if (c) spare = c->h.link;
	else { c = malloc(sizeof *c); cells_made++; }
	memset(c, 0, sizeof *c);
	c->h.count = 1;
	cells_live++;
	return c;
}
static void cell_put_mem(void *p)
{
	union cell *c = p;
	c->h.link = spare;
	spare = c;
	cells_live--;
}
static void val_put(struct val *v);
static void key_put(struct key *k)
{
	if (--k->h.count) return;
	struct val *o = k->owner;
	cell_put_mem(k);
	if (o) val_put(o);              /* tail call */
}
static void val_put(struct val *v)
{
	while (v && --v->h.count == 0) {
		struct val *l = v->left, *r = v->right;
		struct key *k = v->name;
		cell_put_mem(v);
		if (l) val_put(l);
		if (!r) { if (k) key_put(k); return; }  /* tail call */
		if (k) key_put(k);
		v = r;                  /* and a loop in place of a call */
	}
}
static struct key *key_new(long h, struct val *owner)
{
	struct key *k = cell_get_mem();
	k->hash = h;
	if ((k->owner = owner)) owner->h.count++;
	return k;
}
static struct val *tree(int depth, struct val *root_val)
{
	struct val *v = cell_get_mem();
	v->name = key_new(depth, root_val);
	if (depth) {
		v->left = tree(depth - 1, root_val);
		v->right = depth & 1 ? (v->left->h.count++, v->left) : tree(depth - 1, root_val);
	}
	return v;
}
static long walk(struct val *v, int n)
{
	long s = 0;
	v->h.count += n;                /* for n uses at once */
	for (int i = 0; i < n; i++) s += v->name->hash;
	if (v->left) s += walk(v->left, 2);
	v->h.count -= n;                /* never the last: the caller holds it */
	return s;
}

/* ---- 3: count-down: `remaining` readers, nobody ever gets ---- */
struct bcast { int remaining; int v; };
static int bcasts_live;
static int bcast_done(struct bcast *b)
{
	int v = b->v;
	if (__atomic_sub_fetch(&b->remaining, 1, __ATOMIC_ACQ_REL) == 0) {
		free(b);
		__atomic_fetch_sub(&bcasts_live, 1, __ATOMIC_RELAXED);
	}
	return v;
}

/* ---- 4: two counters in one word, changed together ---- */
struct duo { uint64_t both; int *res; };        /* low: users, high: pins */
#define USER 1ull
#define PIN (1ull << 32)
static int duos_live;
static void duo_add(struct duo *d, uint64_t x) { __atomic_fetch_add(&d->both, x, __ATOMIC_RELAXED); }
static void duo_sub(struct duo *d, uint64_t x)
{
	uint64_t now = __atomic_sub_fetch(&d->both, x, __ATOMIC_ACQ_REL);
	if (now == 0) {                 /* neither users nor pins */
		free(d->res);
		free(d);
		__atomic_fetch_sub(&duos_live, 1, __ATOMIC_RELAXED);
	}
}

#define NTHR 3
#define NB 200
static struct bcast *bc[NB];
static struct duo *duo[32];
static struct buf *chain[NB];
static long sums[NTHR];
static void *work(void *arg)
{
	int me = (int)(long)arg;
	long s = 0;
	for (int i = 0; i < NB; i++) {
		s += bcast_done(bc[i]);
		struct duo *d = duo[(i * 7 + me) % 32];
		duo_add(d, PIN + USER);         /* both in one go */
		s += d->res[0];
		duo_sub(d, USER);
		duo_sub(d, PIN);
		struct buf *b = chain[i];       /* ours is one of its users */
		s += b->len;
		BUF_GET(b);
		BUF_GET(b);
		if (buf_sub_return(b, 2) <= 0) abort();
		BUF_PUT(b);
	}
	for (int i = 0; i < 32; i++) duo_sub(duo[i], PIN);      /* given by main */
	sums[me] = s;
	return NULL;
}

int main(void)
{
	pthread_t th[NTHR];
	long sum = 0;
	for (int i = 0; i < NB; i++) {
		bc[i] = malloc(sizeof **bc);
		*bc[i] = (struct bcast){ NTHR, i };
		bcasts_live++;
		chain[i] = buf_new(i);
		for (int k = 0; k < NTHR; k++) BUF_GET(chain[i]);
	}
	for (int i = 0; i < 32; i++) {
		duo[i] = malloc(sizeof *duo[i]);
		duo[i]->both = USER + NTHR * PIN;
		duo[i]->res = calloc(4, sizeof(int));
		duos_live++;
	}
	for (long i = 0; i < NTHR; i++) pthread_create(&th[i], NULL, work, (void *)i);
	for (int i = 0; i < NB; i++) BUF_PUT(chain[i]);
	for (int r = 0; r < 60; r++) {
		struct val *owner = cell_get_mem();
		struct val *t = tree(5, owner);
		val_put(owner);         /* lives by its keys now */
		sum += walk(t, 3);
		val_put(t);
	}
	for (int i = 0; i < NTHR; i++) { pthread_join(th[i], NULL); sum += sums[i]; }
	for (int i = 0; i < 32; i++) duo_sub(duo[i], USER);
	while (spare) { union cell *c = spare; spare = c->h.link; free(c); }
	printf("sum %ld bufs %d cells %d of %d bcasts %d duos %d\n", sum, bufs_live, cells_live, cells_made, bcasts_live, duos_live);
	return bufs_live || cells_live || bcasts_live || duos_live;
}
