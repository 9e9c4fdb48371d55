/* summary: a file cache of folios: references by any of a folio's pages, puts that wait in a thread's batch, descriptors used again at once, arrays of references that move
 * track: own
 * build: gcc -O3 -g -pthread quay_folios.c -o OUT
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 256, SLOTS = 48, BATCH = 15, WRITERS = 3 };

/* The count belongs to the folio; each of its pages knows the folio only. */
struct folio {
	uint16_t order;
	uint16_t first;
	atomic_int refs;
	struct folio *next_free;
	unsigned index, dirty;
};

struct page {
	struct folio *folio;
};

static struct folio *folios;            /* mmap'ed, never given back before the end */
static struct page pages[PAGES];
static unsigned char *memory;
static struct folio *free_folios[4];
static pthread_mutex_t zone_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned carved_pages, carved_folios;
static atomic_int live_folios;

struct folio *folio_alloc(unsigned order)
{
	pthread_mutex_lock(&zone_lock);
	struct folio *folio = free_folios[order];
	if (folio)
		free_folios[order] = folio->next_free;
	else if (carved_pages + (1u << order) <= PAGES) {
		folio = &folios[carved_folios++];
		folio->first = carved_pages;
		folio->order = order;
		for (unsigned i = 0; i < 1u << order; i++)
			pages[carved_pages++].folio = folio;
	}
	pthread_mutex_unlock(&zone_lock);
	if (!folio)
		return NULL;
	folio->next_free = NULL;
	folio->index = folio->dirty = 0;
	atomic_store_explicit(&folio->refs, 1, memory_order_release);
	atomic_fetch_add(&live_folios, 1);
	return folio;
}

static void folio_release(struct folio *folio)
{
	atomic_fetch_sub(&live_folios, 1);
	pthread_mutex_lock(&zone_lock);
	folio->next_free = free_folios[folio->order];
	free_folios[folio->order] = folio;
	pthread_mutex_unlock(&zone_lock);
}

void folio_get(struct folio *folio)
{
	atomic_fetch_add_explicit(&folio->refs, 1, memory_order_relaxed);
}

/* A lookup may meet a folio that is on its way out, or one that is another's by now. */
bool folio_try_get(struct folio *folio)
{
	int seen = atomic_load_explicit(&folio->refs, memory_order_relaxed);
	do {
		if (seen == 0)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&folio->refs, &seen, seen + 1, memory_order_acquire, memory_order_relaxed));
	return true;
}

void folio_put(struct folio *folio)
{
	if (atomic_fetch_sub_explicit(&folio->refs, 1, memory_order_acq_rel) == 1)
		folio_release(folio);
}

static inline struct page *page_get(struct page *page)
{
	folio_get(page->folio);
	return page;
}

/* Puts are cheap: they go to a batch of the thread and count when it is full, or when the thread ends. */
struct batch {
	unsigned used;
	struct folio *folios[BATCH];
};

static pthread_key_t batch_key;
static __thread struct batch *my_batch;

static void batch_drain(struct batch *batch)
{
	while (batch->used)
		folio_put(batch->folios[--batch->used]);
}

static void batch_end(void *data)
{
	batch_drain(data);
	free(data);
}

static void put_later(struct page *page)
{
	if (!my_batch) {
		my_batch = calloc(1, sizeof *my_batch);
		pthread_setspecific(batch_key, my_batch);
	}
	my_batch->folios[my_batch->used++] = page->folio;
	if (my_batch->used == BATCH)
		batch_drain(my_batch);
}

/* The cache: a slot holds a reference, lookups go without the lock. */
static _Atomic(struct folio *) cache[SLOTS];

static struct folio *cache_lookup(unsigned index)
{
	for (;;) {
		struct folio *folio = atomic_load(&cache[index]);
		if (!folio)
			return NULL;
		if (!folio_try_get(folio))
			continue;
		if (atomic_load(&cache[index]) == folio)
			return folio;
		folio_put(folio);                       /* another one's by now */
	}
}

static void cache_set(unsigned index, struct folio *folio)
{
	if (folio)
		folio->index = index;
	struct folio *old = atomic_exchange(&cache[index], folio);
	if (old)
		folio_put(old);
}

/* A request has references to single pages, several to the same folio, in an array that grows and is cut in two. */
struct request {
	unsigned used, room;
	struct page **list;
};

static void request_add(struct request *request, struct page *page)
{
	if (request->used == request->room) {
		request->room = request->room ? request->room * 2 : 4;
		request->list = realloc(request->list, request->room * sizeof *request->list);
	}
	request->list[request->used++] = page;
}

static struct request request_split(struct request *request)
{
	struct request rest = { 0 };
	unsigned half = request->used / 2;
	rest.used = rest.room = request->used - half;
	rest.list = malloc(rest.room * sizeof *rest.list + 1);
	memcpy(rest.list, request->list + half, rest.used * sizeof *rest.list);
	request->used = half;
	return rest;
}

static unsigned long request_write(struct request *request)
{
	unsigned long sum = 0;
	for (unsigned i = 0; i < request->used; i++) {
		sum += memory[(request->list[i] - pages) * PAGE];
		put_later(request->list[i]);
	}
	free(request->list);
	return sum;
}

static void *writer(void *data)
{
	unsigned seed = (unsigned)(uintptr_t)data;
	unsigned long sum = 0;
	for (unsigned round = 0; round < 60; round++) {
		struct request request = { 0 };
		for (unsigned i = 0; i < 6; i++) {
			struct folio *folio = cache_lookup(rand_r(&seed) % SLOTS);
			if (!folio)
				continue;
			/* One for each page but the first; the lookup's own goes to that. */
			for (unsigned p = 1; p < 1u << folio->order; p++)
				request_add(&request, page_get(&pages[folio->first + p]));
			request_add(&request, &pages[folio->first]);
		}
		struct request rest = request_split(&request);
		sum += request_write(&rest) + request_write(&request);
		struct folio *fresh = folio_alloc(round % 3);
		if (fresh) {
			memory[fresh->first * PAGE] = round;
			cache_set(rand_r(&seed) % SLOTS, fresh);  /* its reference goes to the slot */
		}
	}
	return (void *)(uintptr_t)sum;
}

int main(void)
{
	folios = mmap(NULL, PAGES * sizeof *folios, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (folios == MAP_FAILED || memory == MAP_FAILED)
		return 1;
	pthread_key_create(&batch_key, batch_end);
	for (unsigned i = 0; i < SLOTS; i += 2)
		cache_set(i, folio_alloc(i % 3));
	pthread_t threads[WRITERS];
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, writer, (void *)(i + 7));
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < SLOTS; i++)
		cache_set(i, NULL);
	printf("%u folios carved, %d live\n", carved_folios, atomic_load(&live_folios));
	int bad = atomic_load(&live_folios) != 0;
	munmap(folios, PAGES * sizeof *folios);
	munmap(memory, PAGES * PAGE);
	return bad;
}
