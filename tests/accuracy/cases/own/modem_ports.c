/*
 * summary: the hang-up work gives back its reference, which may be the last, before it unlocks the mutex inside the port
 * kind: use-after-put
 * counts: none
 * objects: 2
 * track: own
 * build: gcc -O2 -g
 * libs: -pthread
 */
/* Serial ports of a modem bank: the interrupt side queues work, a worker thread does it, and a port can be
 * pulled out while work of it is pending. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS = 8, BUFFER = 64 };

struct port;

struct work {
	struct work *next;
	void (*fn)(struct work *w);
	struct port *port;
	bool pending; /* under the lock of the queue */
};

struct port {
	struct port *next;
	int line;
	char rx[BUFFER];
	size_t rx_len;
	bool open;
	struct work rx_work, hangup_work;
	void (*on_line)(void *user, int line, const char *text);
	void *user;
	pthread_mutex_t lock;
	atomic_uint refcount;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t more, idle;
	struct work *first, **last;
	bool busy, stop, frozen;
	pthread_t thread;
};

static struct queue wq = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER, .last = &wq.first };
static pthread_mutex_t bank_lock = PTHREAD_MUTEX_INITIALIZER;
static struct port *bank;
static void rx_work(struct work *w);
static void hangup_work(struct work *w);
static struct port *port_alloc(int line)
{
	struct port *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->line = line;
	p->rx_work = (struct work){ .fn = rx_work, .port = p };
	p->hangup_work = (struct work){ .fn = hangup_work, .port = p };
	pthread_mutex_init(&p->lock, NULL);
	atomic_init(&p->refcount, 1);
	return p;
}

static struct port *port_get(struct port *p)
{
	atomic_fetch_add_explicit(&p->refcount, 1, memory_order_relaxed);
	return p;
}

static void port_put(struct port *p)
{
	if (atomic_fetch_sub_explicit(&p->refcount, 1, memory_order_acq_rel) == 1)
		free(p);
}

static struct port *port_find(int line)
{
	struct port *p;

	pthread_mutex_lock(&bank_lock);
	for (p = bank; p && p->line != line;)
		p = p->next;
	if (p)
		port_get(p);
	pthread_mutex_unlock(&bank_lock);
	return p;
}

static bool queue_work(struct work *w)
{
	bool queued = false;

	pthread_mutex_lock(&wq.lock);
	if (!w->pending && !wq.stop) {
		w->pending = queued = true;
		w->next = NULL;
		*wq.last = w;
		wq.last = &w->next;
		pthread_cond_signal(&wq.more);
	}
	pthread_mutex_unlock(&wq.lock);
	return queued;
}

/* Work of a port has a reference on it while it is pending. */
static void port_queue(struct port *p, struct work *w)
{
	port_get(p);
	if (!queue_work(w))
		port_put(p);
}

static void *queue_thread(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&wq.lock);
	for (;;) {
		struct work *w;

		while ((!wq.first || wq.frozen) && !wq.stop)
			pthread_cond_wait(&wq.more, &wq.lock);
		w = wq.first;
		if (!w)
			break;
		wq.first = w->next;
		if (!wq.first)
			wq.last = &wq.first;
		w->pending = false;
		wq.busy = true;
		pthread_mutex_unlock(&wq.lock);
		w->fn(w);
		pthread_mutex_lock(&wq.lock);
		wq.busy = false;
		if (!wq.first)
			pthread_cond_broadcast(&wq.idle);
	}
	pthread_mutex_unlock(&wq.lock);
	return NULL;
}

static void queue_freeze(bool frozen)
{
	pthread_mutex_lock(&wq.lock);
	wq.frozen = frozen;
	pthread_cond_signal(&wq.more);
	while (!frozen && (wq.first || wq.busy))
		pthread_cond_wait(&wq.idle, &wq.lock);
	pthread_mutex_unlock(&wq.lock);
}

static void queue_stop(void)
{
	pthread_mutex_lock(&wq.lock);
	wq.stop = true;
	pthread_cond_signal(&wq.more);
	pthread_mutex_unlock(&wq.lock);
	pthread_join(wq.thread, NULL);
}

static void rx_work(struct work *w)
{
	struct port *p = w->port;
	char *end;

	pthread_mutex_lock(&p->lock);
	while ((end = memchr(p->rx, '\n', p->rx_len))) {
		*end++ = 0;
		if (p->open)
			p->on_line(p->user, p->line, p->rx);
		p->rx_len -= (size_t)(end - p->rx);
		memmove(p->rx, end, p->rx_len);
	}
	pthread_mutex_unlock(&p->lock);
	port_put(p);
}

static void hangup_work(struct work *w)
{
	struct port *p = w->port;

	pthread_mutex_lock(&p->lock);
	p->open = false;
	p->rx_len = 0;
#ifdef BUG
	port_put(p); /* ACCEPTED */
	pthread_mutex_unlock(&p->lock); /* GUILTY */
#else
	pthread_mutex_unlock(&p->lock);
	port_put(p);
#endif
}

static int port_plug(int line, void (*on_line)(void *, int, const char *), void *user)
{
	struct port *p = port_alloc(line);

	if (!p)
		return -ENOMEM;
	p->on_line = on_line;
	p->user = user;
	p->open = true;
	p->next = bank;
	bank = p;
	return 0;
}

static int port_pull(int line)
{
	struct port **at = &bank, *p;

	pthread_mutex_lock(&bank_lock);
	while ((p = *at) && p->line != line)
		at = &p->next;
	if (p)
		*at = p->next;
	pthread_mutex_unlock(&bank_lock);
	if (!p)
		return -ENODEV;
	port_queue(p, &p->hangup_work);
	port_put(p);
	return 0;
}

static int port_interrupt(int line, const char *bytes, bool carrier)
{
	struct port *p = port_find(line);
	size_t n = strlen(bytes);

	if (!p)
		return -ENODEV;
	pthread_mutex_lock(&p->lock);
	n = n < BUFFER - p->rx_len ? n : BUFFER - p->rx_len;
	memcpy(p->rx + p->rx_len, bytes, n);
	p->rx_len += n;
	pthread_mutex_unlock(&p->lock);
	port_queue(p, carrier ? &p->rx_work : &p->hangup_work);
	port_put(p);
	return 0;
}

static int bank_clear(void)
{
	int left = 0;

	for (struct port *p; (p = bank); left++) {
		bank = p->next;
		port_put(p);
	}
	return left;
}

static void count_line(void *user, int line, const char *text)
{
	++*(unsigned *)user;
	printf("line %d: %s\n", line, text);
}

int main(void)
{
	unsigned lines = 0;
	int errors = 0;

	for (int i = 1; i <= PORTS; i++)
		errors += port_plug(i, count_line, &lines) != 0;
	if (pthread_create(&wq.thread, NULL, queue_thread, NULL))
		return 1;
	port_interrupt(1, "CONNECT 9600\nlog", true);
	port_interrupt(2, "RING\n", true);
	port_interrupt(1, "in: guest\n", true);
	queue_freeze(false);
	queue_freeze(true);
	port_interrupt(4, "OK\nBUSY\n", true);
	port_pull(4);
	port_pull(6);
	errors += port_pull(6) != -ENODEV;
	for (int i = 1; i <= PORTS; i++)
		errors += port_interrupt(i, "+++", false) != (i == 4 || i == 6 ? -ENODEV : 0);
	queue_freeze(false);
	queue_stop();
	errors += bank_clear() != PORTS - 2;
	printf("%u lines\n", lines);
	return errors || lines != 5 ? 1 : 0;
}
