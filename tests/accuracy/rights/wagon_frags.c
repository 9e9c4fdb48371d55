/* summary: page fragments in the manner of Linux' page_frag: a page takes 64 references at once and a plain bias beside it says how many of them are not handed out, a drained page gets its count set by hand for its next use, fragments are put by their inner address from other threads, the last batch is given back by one subtraction
 * track: own
 * build: gcc -O3 -g -Wall -pthread -o OUT wagon_frags.c
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096
#define BIAS 64

struct page {
	atomic_int refs;
	unsigned uses;
	struct page *free_next;
	char *end;
	char bytes[];
};

/* one per producer: hands out pieces of its page from the end to the start */
struct frag_cache {
	struct page *page;
	unsigned offset;
	int bias;               /* references on the page that are not handed out */
};

struct wagon {
	unsigned len;
	unsigned train;
	char load[];
};

#define RING 32
struct ring {
	pthread_mutex_t lock;
	pthread_cond_t more, room;
	void *slot[RING];       /* addresses inside of pages, each one reference */
	unsigned head, tail;
	bool closed;
};

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static struct page *free_pages;         /* with count 0 */
static int free_len;
static atomic_long pages_made, pages_gone, reused;

static struct page *page_of(void *va)
{
	return (struct page *)((uintptr_t)va & ~(uintptr_t)(PAGE_BYTES - 1));
}

static inline void page_set_count(struct page *p, int n)
{
	atomic_store_explicit(&p->refs, n, memory_order_release);
}

static inline void page_ref_add(struct page *p, int n)
{
	atomic_fetch_add_explicit(&p->refs, n, memory_order_relaxed);
}

static inline bool page_ref_sub_and_test(struct page *p, int n)
{
	return atomic_fetch_sub_explicit(&p->refs, n, memory_order_acq_rel) == n;
}

static inline void page_get(struct page *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

static struct page *page_alloc(void)
{
	struct page *p = NULL;
	pthread_mutex_lock(&free_lock);
	if (free_pages) {
		p = free_pages;
		free_pages = p->free_next;
		free_len--;
	}
	pthread_mutex_unlock(&free_lock);
	if (!p) {
		p = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
		p->uses = 0;
		atomic_fetch_add(&pages_made, 1);
	}
	p->end = (char *)p + PAGE_BYTES;
	p->free_next = NULL;
	page_set_count(p, 1);
	return p;
}

static void page_free(struct page *p)
{
	pthread_mutex_lock(&free_lock);
	if (free_len < 4) {
		p->free_next = free_pages;
		free_pages = p;
		free_len++;
		p = NULL;
	}
	pthread_mutex_unlock(&free_lock);
	if (p) {
		free(p);
		atomic_fetch_add(&pages_gone, 1);
	}
}

static inline void page_put(struct page *p)
{
	if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1)
		page_free(p);
}

static void frag_free(void *va)
{
	page_put(page_of(va));
}

/* The reference of the fragment was taken long ago, together with 63 others. */
static void *frag_alloc(struct frag_cache *fc, unsigned len)
{
	len = (len + 15) & ~15u;
	for (;;) {
		if (!fc->page) {
			fc->page = page_alloc();
			page_ref_add(fc->page, BIAS);
			fc->bias = BIAS + 1;
			fc->offset = PAGE_BYTES;
		}
		if (fc->offset >= sizeof(struct page) + len && fc->bias > 1)
			break;
		/* full: it is ours again if everything handed out has come back */
		if (page_ref_sub_and_test(fc->page, fc->bias)) {
			page_set_count(fc->page, BIAS + 1);
			fc->page->uses++;
			fc->bias = BIAS + 1;
			fc->offset = PAGE_BYTES;
			atomic_fetch_add(&reused, 1);
		} else {
			fc->page = NULL;        /* the last fragment frees it */
		}
	}
	fc->bias--;
	fc->offset -= len;
	return (char *)fc->page + fc->offset;
}

static void frag_cache_drain(struct frag_cache *fc)
{
	if (fc->page && page_ref_sub_and_test(fc->page, fc->bias))
		page_free(fc->page);
	fc->page = NULL;
}

static void ring_send(struct ring *r, void *va)
{
	pthread_mutex_lock(&r->lock);
	while (r->head - r->tail == RING)
		pthread_cond_wait(&r->room, &r->lock);
	r->slot[r->head++ % RING] = va;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
}

static void *ring_receive(struct ring *r)
{
	void *va = NULL;
	pthread_mutex_lock(&r->lock);
	while (r->head == r->tail && !r->closed)
		pthread_cond_wait(&r->more, &r->lock);
	if (r->head != r->tail)
		va = r->slot[r->tail++ % RING];
	pthread_cond_signal(&r->room);
	pthread_mutex_unlock(&r->lock);
	return va;
}

static struct ring ring = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER };
static void *last_seen;         /* the newest wagon: kept until the end of the program and beyond */
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;

static void *yard(void *arg)
{
	struct wagon *w;
	unsigned long sum = 0;
	while ((w = ring_receive(&ring))) {
		for (unsigned i = 0; i < w->len; i++)
			sum += (unsigned char)w->load[i];
		if (w->train % 50 == 7) {       /* a second holder of the same page */
			page_get(page_of(w));
			pthread_mutex_lock(&seen_lock);
			void *old = last_seen;
			last_seen = w;
			pthread_mutex_unlock(&seen_lock);
			if (old)
				frag_free(old);
		}
		frag_free(w);
	}
	*(unsigned long *)arg = sum;
	return NULL;
}

static void *loader(void *arg)
{
	struct frag_cache fc = { 0 };
	unsigned seed = (unsigned)(uintptr_t)arg;
	for (unsigned i = 0; i < 400; i++) {
		unsigned len = 40 + (seed * 31 + i * 17) % 300;
		struct wagon *w = frag_alloc(&fc, sizeof *w + len);
		w->len = len;
		w->train = i;
		memset(w->load, (int)(i & 0x7f), len);
		if (i % 9 == 0)
			frag_free(w);           /* an empty run */
		else
			ring_send(&ring, w);
	}
	/* alone with its page: it is used again and again without leaving the cache */
	for (int i = 0; i < 200; i++)
		frag_free(frag_alloc(&fc, 500));
	frag_cache_drain(&fc);
	return NULL;
}

int main(void)
{
	pthread_t in[2], out[2];
	unsigned long sum[2];
	for (int i = 0; i < 2; i++) {
		pthread_create(&out[i], NULL, yard, &sum[i]);
		pthread_create(&in[i], NULL, loader, (void *)(uintptr_t)(i + 1));
	}
	for (int i = 0; i < 2; i++)
		pthread_join(in[i], NULL);
	pthread_mutex_lock(&ring.lock);
	ring.closed = true;
	pthread_cond_broadcast(&ring.more);
	pthread_mutex_unlock(&ring.lock);
	for (int i = 0; i < 2; i++)
		pthread_join(out[i], NULL);
	for (struct page *p; (p = free_pages);) {
		free_pages = p->free_next;
		free(p);
		atomic_fetch_add(&pages_gone, 1);
	}
	printf("sum %lu, pages left %ld, reused %d\n", sum[0] + sum[1],
	       atomic_load(&pages_made) - atomic_load(&pages_gone), atomic_load(&reused) > 0);
	return 0;
}
