/* summary: lock-free stack: head is a tagged pointer (version in the top 16 bits), references moved in by push and out by pop through 3 threads, Arc with strong and weak counter (all strong together own one weak), bulk get/put of n with one atomic op, nodes reclaimed by hazard pointers in any thread
 * track: own
 * build: clang -O2 -g hazard_stack.c -o OUT -pthread
 */
/* Lock-free stack with hazard pointers.  The head is a tagged pointer (16 bit
 * version above 48 bit address), so no plain pointer to the top node is found
 * in memory.  Payloads are counted; push moves the caller's reference in, pop
 * moves it out.  Each payload is Arc-like: strong, and weak where all strong
 * ones together own one weak.  A retired node is freed by whichever thread
 * finds that no hazard names it.  atomic_fetch_sub(n) releases many at once.  */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct arc {
	atomic_size_t strong, weak;
	int *data;              /* dropped with the last strong one */
	int value;
};
static atomic_long arcs_live, data_live, upgrades, upgrade_failed;

static struct arc *arc_new(int v)
{
	struct arc *a = malloc(sizeof *a);
	atomic_init(&a->strong, 1);
	atomic_init(&a->weak, 1);
	a->data = malloc(sizeof(int) * 8);
	a->data[0] = a->value = v;
	atomic_fetch_add(&arcs_live, 1);
	atomic_fetch_add(&data_live, 1);
	return a;
}
static struct arc *arc_clone_n(struct arc *a, size_t n)
{
	atomic_fetch_add_explicit(&a->strong, n, memory_order_relaxed);
	return a;
}
static void arc_weak_drop(struct arc *a)
{
	if (atomic_fetch_sub_explicit(&a->weak, 1, memory_order_acq_rel) == 1) {
		atomic_fetch_sub(&arcs_live, 1);
		free(a);
	}
}
static void arc_drop_n(struct arc *a, size_t n)
{
	if (atomic_fetch_sub_explicit(&a->strong, n, memory_order_acq_rel) == n) {
		free(a->data);
		a->data = NULL;
		atomic_fetch_sub(&data_live, 1);
		arc_weak_drop(a);       /* the one of all the strong */
	}
}
static struct arc *arc_downgrade(struct arc *a)
{
	atomic_fetch_add(&a->weak, 1);
	return a;
}
static struct arc *arc_upgrade(struct arc *a)
{
	size_t n = atomic_load(&a->strong);
	while (n)
		if (atomic_compare_exchange_weak(&a->strong, &n, n + 1))
			return a;
	return NULL;
}

/* ---- the stack ---- */
struct node { struct node *next; struct arc *load; };
#define MASK ((1ull << 48) - 1)
static _Atomic uint64_t head;
#define NTHR 3
static _Atomic(struct node *) hazard[NTHR];
struct retired { struct node *n[64]; int k; };

static void push(struct arc *load)
{
	struct node *n = malloc(sizeof *n);
	n->load = load;
	uint64_t h = atomic_load(&head);
	do
		n->next = (struct node *)(uintptr_t)(h & MASK);
	while (!atomic_compare_exchange_weak(&head, &h, ((h & ~MASK) + (1ull << 48)) | (uintptr_t)n));
}
static void scan(struct retired *r)
{
	int kept = 0;
	for (int i = 0; i < r->k; i++) {
		int used = 0;
		for (int t = 0; t < NTHR; t++)
			used |= atomic_load(&hazard[t]) == r->n[i];
		if (used) r->n[kept++] = r->n[i];
		else free(r->n[i]);
	}
	r->k = kept;
}
static struct arc *pop(int me, struct retired *r)
{
	for (;;) {
		uint64_t h = atomic_load(&head);
		struct node *n = (struct node *)(uintptr_t)(h & MASK);
		if (!n) {
			atomic_store(&hazard[me], NULL);
			return NULL;
		}
		atomic_store(&hazard[me], n);
		if (atomic_load(&head) != h) continue;
		uint64_t nh = ((h & ~MASK) + (1ull << 48)) | (uintptr_t)n->next;
		if (!atomic_compare_exchange_strong(&head, &h, nh)) continue;
		atomic_store(&hazard[me], NULL);
		struct arc *a = n->load;
		r->n[r->k++] = n;
		if (r->k > 48) scan(r);
		return a;
	}
}

static struct retired left[NTHR];
static struct arc *weak_all[NTHR][64];

static void *work(void *arg)
{
	int me = (int)(intptr_t)arg;
	struct retired r = { .k = 0 };
	unsigned seed = me + 3;
	for (int i = 0; i < 3000; i++) {
		struct arc *a;
		switch (rand_r(&seed) % 4) {
		case 0: {               /* many strong ones at once */
			int n = 1 + rand_r(&seed) % 3;
			a = arc_new(i);
			arc_clone_n(a, n);
			for (int k = 0; k < n; k++) push(a);
			struct arc **w = &weak_all[me][i % 64];
			if (*w) {
				struct arc *s = arc_upgrade(*w);
				if (s) { atomic_fetch_add(&upgrades, 1); arc_drop_n(s, 1); }
				else atomic_fetch_add(&upgrade_failed, 1);
				arc_weak_drop(*w);
			}
			*w = arc_downgrade(a);
			arc_drop_n(a, 1);
			break;
		}
		case 1:                 /* hold three, release them in one go */
			if ((a = pop(me, &r))) {
				arc_clone_n(a, 2);
				if (a->data[0] != a->value) abort();
				arc_drop_n(a, 3);
			}
			break;
		case 2:                 /* move back */
			if ((a = pop(me, &r))) push(a);
			break;
		default:
			if ((a = pop(me, &r))) arc_drop_n(a, 1);
		}
		if (i % 128 == 0) sched_yield();
	}
	left[me] = r;           /* the main thread frees the rest */
	return NULL;
}

int main(void)
{
	pthread_t th[NTHR];
	struct retired last = { .k = 0 };
	struct arc *a;
	for (long i = 0; i < NTHR; i++) pthread_create(&th[i], NULL, work, (void *)i);
	for (int i = 0; i < NTHR; i++) pthread_join(th[i], NULL);
	while ((a = pop(0, &last))) arc_drop_n(a, 1);
	scan(&last);
	for (int i = 0; i < NTHR; i++) {
		scan(&left[i]);
		for (int k = 0; k < 64; k++)
			if (weak_all[i][k]) arc_weak_drop(weak_all[i][k]);
	}
	printf("arcs %ld data %ld upgraded %ld failed %ld\n", arcs_live, data_live, upgrades, upgrade_failed);
	return arcs_live || data_live;
}
