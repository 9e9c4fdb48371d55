/* summary: scanner_requeue() hands a page to the reader's queue again without a reference for the queue
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: own
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "handed to another thread without a reference on the retry path"
 */
/*
 * Pages of a scanner, which a second thread reads (a toy OCR). The main
 * thread keeps the pages of a document until all of it has been read.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 96
#define QUEUE_MAX 64

struct page {
	int number;
	int dpi;
	unsigned char pixels[PAGE_BYTES];
	atomic_int refs;
	unsigned words;
	bool unreadable;
};

static atomic_uint underflows;

struct page *page_new(int number, int dpi)
{
	struct page *p = calloc(1, sizeof *p);

	if (!p)
		abort();
	p->number = number;
	p->dpi = dpi;
	for (int i = 0; i < PAGE_BYTES; i++)
		p->pixels[i] = (unsigned char)((number * 73 + i * 41) % 251);
	atomic_init(&p->refs, 1);
	return p;
}

struct page *page_get(struct page *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void page_put(struct page *p)
{
	int old = atomic_fetch_sub_explicit(&p->refs, 1, memory_order_release);

	if (old < 1) {
		atomic_fetch_add(&underflows, 1);
		return;
	}
	if (old > 1)
		return;
	atomic_thread_fence(memory_order_acquire);
	free(p);
}

/* The queue owns a reference of every page on it. */
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct page *pages[QUEUE_MAX];
	unsigned head, tail;
	unsigned busy;
	bool closed;
};

static void queue_push(struct queue *q, struct page *p)
{
	pthread_mutex_lock(&q->lock);
	while (q->tail - q->head == QUEUE_MAX)
		pthread_cond_wait(&q->changed, &q->lock);
	q->pages[q->tail++ % QUEUE_MAX] = p;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static struct page *queue_pop(struct queue *q)
{
	struct page *p = NULL;

	pthread_mutex_lock(&q->lock);
	while (q->head == q->tail && !q->closed)
		pthread_cond_wait(&q->changed, &q->lock);
	if (q->head != q->tail) {
		p = q->pages[q->head++ % QUEUE_MAX];
		q->busy = 1;
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return p;
}

static void queue_done(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->busy = 0;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static void queue_drain(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (q->head != q->tail || q->busy)
		pthread_cond_wait(&q->changed, &q->lock);
	pthread_mutex_unlock(&q->lock);
}

static void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

/* Counts "words"; faint pages cannot be read with less than 300 dpi. */
static void read_page(struct page *p)
{
	unsigned words = 0;

	p->unreadable = p->number % 13 == 5 && p->dpi < 300;
	if (p->unreadable)
		return;
	for (int i = 1; i < PAGE_BYTES; i++)
		words += p->pixels[i - 1] < 64 && p->pixels[i] >= 64;
	p->words = words;
}

static void *reader(void *arg)
{
	struct queue *q = arg;
	struct page *p;

	while ((p = queue_pop(q))) {
		read_page(p);
		page_put(p);
		queue_done(q);
	}
	return NULL;
}

/* Documents */

struct document {
	struct page *pages[16];
	int n;
};

static void scanner_scan(struct queue *q, struct document *d, int number, int dpi)
{
	struct page *p = page_new(number, dpi);

	d->pages[d->n++] = p;
	queue_push(q, page_get(p));
}

/* Once more, with a higher resolution; there is nothing to wait for yet. */
static void scanner_requeue(struct queue *q, struct page *p)
{
	p->dpi = 600;
	for (int i = 0; i < PAGE_BYTES; i++)
		p->pixels[i] = (unsigned char)((p->pixels[i] * 3 + i) % 251);
#ifdef BUG
	queue_push(q, p);	/* GUILTY */
#else
	queue_push(q, page_get(p));
#endif
}

static unsigned document_retry(struct queue *q, struct document *d)
{
	unsigned n = 0;

	for (int i = 0; i < d->n; i++) {
		if (!d->pages[i]->unreadable)
			continue;
		d->pages[i]->unreadable = false;
		n++;
		scanner_requeue(q, d->pages[i]);	/* ACCEPTED */
	}
	return n;
}

static unsigned document_words(const struct document *d)
{
	unsigned words = 0;

	for (int i = 0; i < d->n; i++)
		words += d->pages[i]->words;
	return words;
}

/* The archive keeps the first page of some documents. */
static struct page *archive[8];
static int n_archive;

static void archive_add(struct page *p)
{
	if (n_archive < 8)
		archive[n_archive++] = page_get(p);
}

static void document_close(struct document *d)
{
	for (int i = 0; i < d->n; i++)
		page_put(d->pages[i]);
	d->n = 0;
}

int main(void)
{
	struct queue q = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	struct document doc = { .n = 0 };
	unsigned words = 0, retried = 0;
	pthread_t thread;
	int number = 0;

	if (pthread_create(&thread, NULL, reader, &q) != 0)
		return 1;
	for (int d = 0; d < 6; d++) {
		for (int i = 0; i < 6 + d % 3; i++)
			scanner_scan(&q, &doc, ++number, d == 1 ? 300 : 150);
		queue_drain(&q);
		if (d % 2 == 0)
			archive_add(doc.pages[0]);
		retried += document_retry(&q, &doc);
		queue_drain(&q);
		words += document_words(&doc);
		printf("document %d: %d pages\n", d, doc.n);
		document_close(&doc);
	}
	queue_close(&q);
	pthread_join(thread, NULL);
	printf("%d pages, %u words, %u read again\n", number, words, retried);
	for (int i = 0; i < n_archive; i++)
		page_put(archive[i]);
	if (underflows)
		fprintf(stderr, "%u underflows\n", underflows);
	return 0;
}
