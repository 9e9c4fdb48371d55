/* summary: weighted references (copy splits the handle's weight without touching the object; drop takes off the handle's weight; buying weight), per-thread biased counts (TLS parts that go negative, merged at thread exit), percpu_ref (bias 2^40, slots folded by kill)
 * track: own
 * build: gcc -O2 -g -flto weighted_biased.c -o OUT -pthread
 */
/* Three schemes where gets and puts do not come in pairs of +1 and -1:
 *  1. weighted references: a birth gives weight 2^16 to one handle; a copy
 *     splits the weight between two handles and does not touch the object;
 *     a drop takes the handle's weight off; 0 is death.  A handle of weight 1
 *     that is copied first buys more weight.
 *  2. biased counts: each thread counts for itself (plain, in TLS, may become
 *     negative in one thread), the merge at thread exit gives the sum; the
 *     shared part is biased until all threads have merged.
 *  3. percpu_ref: counter biased by a big number while "live" and gets/puts
 *     go to slots; kill() folds the slots and takes the bias off.            */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- 1 ---- */
struct wobj { atomic_long total; int val; };
struct handle { struct wobj *o; long w; };
static atomic_int wobj_live;
#define FULL (1l << 16)

static struct handle w_new(int v)
{
	struct wobj *o = malloc(sizeof *o);
	o->total = FULL;
	o->val = v;
	wobj_live++;
	return (struct handle){ o, FULL };
}
static struct handle w_copy(struct handle *h)
{
	if (h->w == 1) {                /* poor: buy weight */
		atomic_fetch_add(&h->o->total, FULL);
		h->w += FULL;
	}
	struct handle n = { h->o, h->w / 2 };
	h->w -= n.w;
	return n;
}
static void w_drop(struct handle *h)
{
	if (h->o && atomic_fetch_sub(&h->o->total, h->w) == h->w) {
		wobj_live--;
		free(h->o);
	}
	h->o = NULL;
}

/* ---- 2: biased by thread ---- */
#define NB 16
#define BIAS (1l << 40)
struct bobj { atomic_long shared; int id; char *name; };
static _Thread_local long local[NB];    /* my share of the count of object i */
static struct bobj *bobjs[NB];
static atomic_int bobj_live;

static void b_new(int i)
{
	struct bobj *b = malloc(sizeof *b);
	b->shared = BIAS + 1;           /* the table's */
	b->id = i;
	b->name = malloc(16);
	snprintf(b->name, 16, "b%d", i);
	bobjs[i] = b;
	bobj_live++;
}
static struct bobj *b_get(struct bobj *b) { local[b->id]++; return b; }
static void b_put(struct bobj *b) { local[b->id]--; }           /* may go below 0 */
static void b_add(struct bobj *b, long n)
{
	if (atomic_fetch_add(&b->shared, n) + n == 0) {
		free(b->name);
		free(b);
		bobj_live--;
	}
}
static void b_merge(void)               /* at thread exit */
{
	for (int i = 0; i < NB; i++)
		if (local[i]) {
			long n = local[i];
			local[i] = 0;
			b_add(bobjs[i], n);
		}
}

/* ---- 3: percpu_ref ---- */
#define SLOTS 4
struct pref { atomic_long count; atomic_int dying; atomic_long slot[SLOTS]; int *data; };
static pthread_rwlock_t mode = PTHREAD_RWLOCK_INITIALIZER; /* like the kernel's RCU */
static atomic_int pref_live;

static struct pref *p_new(int v)
{
	struct pref *p = calloc(1, sizeof *p);
	p->count = BIAS + 1;
	p->data = malloc(sizeof(int));
	*p->data = v;
	pref_live++;
	return p;
}
static void p_free(struct pref *p)
{
	free(p->data);
	free(p);
	pref_live--;
}
static void p_count(struct pref *p, int me, long n)
{
	int last = 0;
	pthread_rwlock_rdlock(&mode);
	if (!p->dying) p->slot[me] += n;
	else last = atomic_fetch_add(&p->count, n) + n == 0;
	pthread_rwlock_unlock(&mode);
	if (last) p_free(p);
}
static void p_get(struct pref *p, int me) { p_count(p, me, 1); }
static void p_put(struct pref *p, int me) { p_count(p, me, -1); }
static void p_kill(struct pref *p)      /* and drops the first reference */
{
	long sum = -BIAS - 1;
	int last;
	pthread_rwlock_wrlock(&mode);
	p->dying = 1;
	for (int i = 0; i < SLOTS; i++) sum += atomic_exchange(&p->slot[i], 0);
	last = atomic_fetch_add(&p->count, sum) + sum == 0;
	pthread_rwlock_unlock(&mode);
	if (last) p_free(p);
}

#define NTHR 3
#define Q 256
static struct { pthread_mutex_t m; struct bobj *b[Q]; struct handle h[Q]; int nb, nh; } box = { .m = PTHREAD_MUTEX_INITIALIZER };
static struct pref *pref_now;
static long wsum[NTHR];

static void *work(void *arg)
{
	int me = (int)(long)arg;
	unsigned seed = 11 * me + 1;
	struct pref *mine = pref_now;   /* got for us by the main thread */
	for (int i = 0; i < 2500; i++) {
		struct bobj *b = NULL;
		struct handle h = { 0 };
		pthread_mutex_lock(&box.m);
		if (rand_r(&seed) & 1) {        /* give */
			if (box.nb < Q) box.b[box.nb++] = b_get(bobjs[rand_r(&seed) % NB]);
			if (box.nh && box.nh < Q) { box.h[box.nh] = w_copy(&box.h[rand_r(&seed) % box.nh]); box.nh++; }
		} else {                        /* take: another thread's count */
			if (box.nb) b = box.b[--box.nb];
			if (box.nh > 1) {
				int k = rand_r(&seed) % box.nh;
				h = box.h[k];
				box.h[k] = box.h[--box.nh];
			}
		}
		pthread_mutex_unlock(&box.m);
		if (b) b_put(b);
		if (h.o) { wsum[me] += h.o->val; w_drop(&h); }
		p_get(mine, me);
		if (i % 500 == 7 && me == 0) sched_yield();
		p_put(mine, me);
	}
	p_put(mine, me);                /* ours, moved in by the main thread */
	b_merge();
	return NULL;
}

int main(void)
{
	pthread_t th[NTHR];
	for (int i = 0; i < NB; i++) b_new(i);
	for (int r = 0; r < 8; r++) {
		for (int k = 0; k < 5; k++) box.h[box.nh++] = w_new(r * 5 + k);
		pref_now = p_new(r);
		for (long i = 0; i < NTHR; i++) p_get(pref_now, 3);     /* slot 3: main's */
		for (long i = 0; i < NTHR; i++) pthread_create(&th[i], NULL, work, (void *)i);
		p_kill(pref_now);       /* the threads still use it */
		for (int i = 0; i < NTHR; i++) pthread_join(th[i], NULL);
		while (box.nh) w_drop(&box.h[--box.nh]);
		while (box.nb) b_put(box.b[--box.nb]);
		b_merge();
	}
	for (int i = 0; i < NB; i++) {
		b_add(bobjs[i], -BIAS); /* no thread counts for itself any more */
		b_add(bobjs[i], -1);
	}
	printf("weighted %d biased %d percpu %d\n", wobj_live, bobj_live, pref_live);
	return wobj_live || bobj_live || pref_live;
}
