/* summary: fork: one child puts its copies of the private objects, the other leaves by _exit with unbalanced copies; objects in MAP_SHARED memory named by 32-bit offsets, made by the parent and put by the child; exit() called in a thread while another one still holds a reference and a cache still holds docs; atexit flush. (valgrind: only glibc's own dtv of the threads still running is "possibly lost")
 * track: own
 * build: gcc -O2 -g -flto fork_shm_exit.c -o OUT -pthread
 */
/* Counted objects over fork(): private ones, whose copies the child puts for
 * itself (or leaves and _exit()s), and shared ones in a MAP_SHARED segment,
 * named by 32-bit offsets, whose count is the sum over both processes; a child
 * may put what the parent got.  The parent ends by exit() in a second thread
 * while a third one still runs and holds references; an atexit handler flushes
 * the cache.                                                                 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- private objects ---- */
struct doc { atomic_int nref; int id; char *text; };
static atomic_int docs_live;

static struct doc *doc_new(int id)
{
	struct doc *d = malloc(sizeof *d);
	char t[32];
	d->nref = 1;
	d->id = id;
	snprintf(t, sizeof t, "document %d", id);
	d->text = strdup(t);
	docs_live++;
	return d;
}
static struct doc *doc_ref(struct doc *d) { d->nref++; return d; }
static void doc_unref(struct doc *d)
{
	if (d && atomic_fetch_sub(&d->nref, 1) == 1) {
		free(d->text);
		free(d);
		docs_live--;
	}
}

/* ---- shared objects: offsets, 0 is none ---- */
typedef uint32_t off_;
struct sobj { atomic_int cnt; off_ next; int val; int pad; };
struct seg {
	atomic_int made, freed;
	atomic_flag lock;
	off_ freelist, brk;
	off_ ring[64];
	atomic_uint rd, wr;
};
#define SEG (1 << 16)
static struct seg *seg;
static struct sobj *at(off_ o) { return (struct sobj *)((char *)seg + o); }
static void lock(void) { while (atomic_flag_test_and_set(&seg->lock)) sched_yield(); }
static void unlock(void) { atomic_flag_clear(&seg->lock); }

static off_ sobj_new(int v)
{
	off_ o;
	lock();
	if ((o = seg->freelist)) seg->freelist = at(o)->next;
	else { o = seg->brk; seg->brk += sizeof(struct sobj); }
	unlock();
	at(o)->cnt = 1;
	at(o)->next = 0;
	at(o)->val = v;
	seg->made++;
	return o;
}
static off_ sobj_get(off_ o) { atomic_fetch_add(&at(o)->cnt, 1); return o; }
static void sobj_put(off_ o)
{
	if (atomic_fetch_sub(&at(o)->cnt, 1) == 1) {
		lock();
		at(o)->next = seg->freelist;
		seg->freelist = o;
		unlock();
		seg->freed++;
	}
}
static void ring_put(off_ o)            /* moves the reference to the reader */
{
	while (seg->wr - seg->rd >= 64) sched_yield();
	seg->ring[seg->wr % 64] = o;
	seg->wr++;
}
static off_ ring_get(void)
{
	while (seg->rd == seg->wr) sched_yield();
	off_ o = seg->ring[seg->rd % 64];
	seg->rd++;
	return o;
}

/* ---- cache flushed at exit ---- */
static struct doc *cache[16];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct doc *cache_find(int id)
{
	pthread_mutex_lock(&cache_lock);
	struct doc **s = &cache[id % 16];
	if (!*s || (*s)->id != id) {
		doc_unref(*s);
		*s = doc_new(id);
	}
	struct doc *d = doc_ref(*s);
	pthread_mutex_unlock(&cache_lock);
	return d;
}
static pid_t main_pid;
static void flush(void)
{
	if (getpid() != main_pid) return;
	pthread_mutex_lock(&cache_lock);
	for (int i = 0; i < 16; i++) {
		doc_unref(cache[i]);
		cache[i] = NULL;
	}
	pthread_mutex_unlock(&cache_lock);
	printf("shared made %d freed %d, documents left to the running thread %s\n",
	       seg->made, seg->freed, docs_live <= 1 ? "ok" : "?");
}

static atomic_int rounds;
static void *forever(void *arg)         /* runs until the process goes */
{
	(void)arg;
	for (int i = 0;; i++) {
		struct doc *d = cache_find(i % 40);
		rounds++;
		usleep(100);
		doc_unref(d);
	}
	return NULL;
}
static void *ender(void *arg)
{
	struct doc *d = arg;            /* moved to us */
	doc_unref(d);
	while (rounds < 60) usleep(200);
	exit(seg->made == seg->freed ? 0 : 1);
}

int main(void)
{
	struct doc *mine[30];
	main_pid = getpid();
	setvbuf(stdout, NULL, _IOLBF, 0);
	seg = mmap(NULL, SEG, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seg == MAP_FAILED) return 2;
	seg->brk = (sizeof *seg + 63) & ~63u;
	atexit(flush);
	for (int i = 0; i < 30; i++) mine[i] = doc_new(1000 + i);

	pid_t a = fork();
	if (a == 0) {                   /* a good child: frees its copies */
		off_ o;
		long sum = 0;
		while (at(o = ring_get())->val != -1) {
			sum += at(o)->val;
			sobj_put(o);
		}
		sobj_put(o);
		for (int i = 0; i < 30; i++) doc_unref(mine[i]);
		_exit(docs_live != 0 || sum <= 0);
	}
	pid_t b = fork();
	if (b == 0) {                   /* this one just goes, as after exec */
		doc_ref(mine[3]);
		doc_unref(mine[5]);
		_exit(0);
	}
	for (int i = 1; i <= 400; i++) {
		off_ o = sobj_new(i);
		if (i % 4 == 0) {       /* both of us use it */
			sobj_get(o);
			ring_put(o);
			sobj_put(o);
		} else
			ring_put(o);
	}
	ring_put(sobj_new(-1));
	int st, bad = 0;
	waitpid(a, &st, 0);
	bad |= st;
	waitpid(b, &st, 0);
	bad |= st;
	for (int i = 1; i < 30; i++) doc_unref(mine[i]);
	if (bad) return 3;

	pthread_t t1, t2;
	pthread_create(&t1, NULL, forever, NULL);
	pthread_create(&t2, NULL, ender, mine[0]);
	pthread_join(t2, NULL);         /* never returns: exit() runs there */
	return 4;
}
