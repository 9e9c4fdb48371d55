/* summary: RCU-like: lockless hash table, kref_get_unless_zero (may look at a counter that is 0), last put only queues the object for a deferred free after an epoch; slab slots at once reused by another type with its counter at the same offset
 * track: own
 * build: gcc -O2 -g kref_epoch_slab.c -o OUT -pthread
 */
/* The kernel's pattern in user space: a hash table read without the lock,
 * get-unless-zero on what was found, the remover drops the table's reference,
 * the last put only queues the object for a deferred free after an epoch, and
 * the slab gives the same memory to another type (with its counter at the
 * same offset) at once.  A reader may touch the counter of a dead object
 * (value 0): it sees 0 and walks on.                                         */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { atomic_uint refcount; } kref_t;

struct conn { struct conn *next; kref_t kref; int key; long hits; };
struct note { struct note *next; kref_t kref; char text[16]; };

/* ---- slab: 64 byte slots shared by both types, free bitmap ---- */
#define SLOTS 4096
static _Alignas(64) unsigned char slab[SLOTS][64];
static unsigned long map[SLOTS / 64];
static pthread_mutex_t slab_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned slab_used, slab_peak;

static void *slab_alloc(void)
{
	void *p = NULL;
	pthread_mutex_lock(&slab_lock);
	for (unsigned w = 0; w < SLOTS / 64 && !p; w++)
		if (~map[w]) {
			unsigned b = __builtin_ctzl(~map[w]);
			map[w] |= 1ul << b;
			p = slab[w * 64 + b];
			if (++slab_used > slab_peak) slab_peak = slab_used;
		}
	pthread_mutex_unlock(&slab_lock);
	return p;
}
static void slab_free(void *p)
{
	size_t i = (size_t)((unsigned char *)p - slab[0]) / 64;
	pthread_mutex_lock(&slab_lock);
	map[i / 64] &= ~(1ul << (i % 64));
	slab_used--;
	pthread_mutex_unlock(&slab_lock);
}

/* ---- kref ---- */
static void kref_init(kref_t *k) { atomic_store(&k->refcount, 1); }
static void kref_get(kref_t *k) { atomic_fetch_add_explicit(&k->refcount, 1, memory_order_relaxed); }
static int kref_get_unless_zero(kref_t *k)
{
	unsigned v = atomic_load(&k->refcount);
	do {
		if (v == 0) return 0;
	} while (!atomic_compare_exchange_weak(&k->refcount, &v, v + 1));
	return 1;
}
static int kref_put(kref_t *k, void (*release)(kref_t *))
{
	if (atomic_fetch_sub(&k->refcount, 1) == 1) {
		release(k);
		return 1;
	}
	return 0;
}

/* ---- epochs: readers announce themselves ---- */
#define NTHR 3
static atomic_ulong epoch = 2, active[NTHR];    /* 0: not reading */
struct dead { void *p; unsigned long when; struct dead *next; };
static struct dead *graveyard;
static pthread_mutex_t grave_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long freed, released;

static void read_lock(int me) { atomic_store(&active[me], atomic_load(&epoch)); }
static void read_unlock(int me) { atomic_store(&active[me], 0); }
static void reap(int all)
{
	unsigned long min = atomic_fetch_add(&epoch, 1);
	for (int i = 0; i < NTHR && !all; i++) {
		unsigned long a = atomic_load(&active[i]);
		if (a && a < min) min = a;
	}
	pthread_mutex_lock(&grave_lock);
	struct dead **pp = &graveyard, *d;
	while ((d = *pp))
		if (all || d->when < min) {
			*pp = d->next;
			slab_free(d->p);
			free(d);
			atomic_fetch_add(&freed, 1);
		} else
			pp = &d->next;
	pthread_mutex_unlock(&grave_lock);
}
static void conn_release(kref_t *k)
{
	struct conn *c = (struct conn *)((char *)k - offsetof(struct conn, kref));
	struct dead *d = malloc(sizeof *d);
	atomic_fetch_add(&released, 1);
	d->p = c;
	pthread_mutex_lock(&grave_lock);
	d->when = atomic_load(&epoch);
	d->next = graveyard;
	graveyard = d;
	pthread_mutex_unlock(&grave_lock);
}
static void note_release(kref_t *k)
{
	slab_free((char *)k - offsetof(struct note, kref));     /* at once */
}

/* ---- table ---- */
#define BUCKETS 16
static _Atomic(struct conn *) table[BUCKETS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static struct conn *conn_find(int me, int key)
{
	struct conn *c;
	read_lock(me);
	for (c = atomic_load(&table[key % BUCKETS]); c; c = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE))
		if (c->key == key && kref_get_unless_zero(&c->kref))
			break;
	read_unlock(me);
	return c;
}
static void conn_insert(int key)
{
	struct conn *c = slab_alloc();
	memset(c, 0, sizeof *c);
	kref_init(&c->kref);            /* the table's */
	c->key = key;
	pthread_mutex_lock(&table_lock);
	c->next = atomic_load(&table[key % BUCKETS]);
	atomic_store(&table[key % BUCKETS], c);
	pthread_mutex_unlock(&table_lock);
}
static int conn_remove(int key)
{
	struct conn *c, *prev = NULL;
	pthread_mutex_lock(&table_lock);
	for (c = atomic_load(&table[key % BUCKETS]); c && c->key != key; prev = c, c = c->next) ;
	if (c) {
		if (prev) __atomic_store_n(&prev->next, c->next, __ATOMIC_RELEASE);
		else atomic_store(&table[key % BUCKETS], c->next);
	}
	pthread_mutex_unlock(&table_lock);
	if (c) kref_put(&c->kref, conn_release);        /* c->next stays for readers */
	return c != NULL;
}

static atomic_long found, missed;
static void *reader(void *arg)
{
	int me = (int)(long)arg;
	unsigned seed = 77 + me;
	for (int i = 0; i < 6000; i++) {
		struct conn *c = conn_find(me, rand_r(&seed) % 128);
		if (!c) { atomic_fetch_add(&missed, 1); continue; }
		atomic_fetch_add(&found, 1);
		__atomic_fetch_add(&c->hits, 1, __ATOMIC_RELAXED);
		if (i % 64 == 0) sched_yield();          /* hold it for longer */
		if (i % 3 == 0) {
			struct note *n = slab_alloc();
			kref_init(&n->kref);
			snprintf(n->text, sizeof n->text, "%d", c->key);
			kref_get(&n->kref);
			kref_put(&n->kref, note_release);
			kref_put(&n->kref, note_release);
		}
		kref_put(&c->kref, conn_release);
	}
	return NULL;
}

int main(void)
{
	pthread_t th[NTHR];
	unsigned seed = 5;
	long inserted = 0;
	for (int k = 0; k < 128; k++) conn_insert(k), inserted++;
	for (long i = 0; i < NTHR; i++)
		pthread_create(&th[i], NULL, reader, (void *)i);
	for (int i = 0; i < 1500; i++) {
		int k = rand_r(&seed) % 128;
		if (conn_remove(k)) {
			sched_yield();
			conn_insert(k), inserted++;
		}
		if (i % 32 == 0) reap(0);
	}
	for (int i = 0; i < NTHR; i++) pthread_join(th[i], NULL);
	for (int k = 0; k < 128; k++) conn_remove(k);
	reap(1);
	printf("inserted %ld released %ld freed %ld found %ld missed %ld used %u\n", inserted,
	       released, freed, found, missed, slab_used);
	return inserted == freed && released == freed && slab_used == 0 ? 0 : 1;
}
