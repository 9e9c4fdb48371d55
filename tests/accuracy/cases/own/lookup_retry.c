/* summary: lookup_again() puts the lookup into the queue for a second try without the reference that the queue has of each entry
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * Names are looked up by two threads. A lookup is referenced by whoever asked
 * for it, and by the queue as long as it is in there or being worked on.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NTHREADS 2
#define MAXTRIES 2
#define MAXADDRS 4

enum result { PENDING, FOUND, NOT_FOUND, TIMED_OUT };

struct lookup {
	struct lookup *next;		/* in the queue */
	unsigned id;
	char host[64];
	enum result result;
	int tries;
	int refs;
	int naddrs;
	uint32_t addrs[MAXADDRS];
	bool want_all;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t more, idle;
	struct lookup *head, **tail;
	int busy;			/* entries not yet done with */
	bool closing;
};

struct zone {
	const char *host;
	int first_fails;		/* the server does not answer at once */
	uint32_t addrs[MAXADDRS];
};

static const struct zone zones[] = {
	{ "www.example.org", 0, { 0x0a000001, 0x0a000002 } },
	{ "mail.example.org", 1, { 0x0a000019 } },
	{ "ftp.example.org", 0, { 0x0a000015 } },
	{ "db.example.net", 1, { 0x0a010001, 0x0a010002, 0x0a010003 } },
	{ "git.example.net", 0, { 0x0a010016 } },
	{ "slow.example.com", 1, { 0x0a020001 } },
	{ "dead.example.com", 9, { 0 } },
};

static struct queue queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER,
};

/* ---- lookups ---- */

static struct lookup *lookup_create(const char *host, bool want_all)
{
	static unsigned ids;
	struct lookup *l = calloc(1, sizeof(*l));

	if (!l)
		abort();
	l->id = ++ids;
	snprintf(l->host, sizeof(l->host), "%s", host);
	l->want_all = want_all;
	__atomic_store_n(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

static struct lookup *lookup_get(struct lookup *l)
{
	__atomic_add_fetch(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

static void lookup_put(struct lookup *l)
{
	if (__atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(l);
}

/* ---- queue ---- */

/* Both take over the reference, and give it. */
static void queue_push(struct queue *q, struct lookup *l)
{
	pthread_mutex_lock(&q->lock);
	l->next = NULL;
	*q->tail = l;
	q->tail = &l->next;
	q->busy++;
	pthread_cond_signal(&q->more);
	pthread_mutex_unlock(&q->lock);
}

static struct lookup *queue_pop(struct queue *q)
{
	struct lookup *l;

	pthread_mutex_lock(&q->lock);
	while (!q->head && !q->closing)
		pthread_cond_wait(&q->more, &q->lock);
	l = q->head;
	if (l) {
		q->head = l->next;
		if (!q->head)
			q->tail = &q->head;
		l->next = NULL;
	}
	pthread_mutex_unlock(&q->lock);
	return l;
}

static void queue_done(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	if (--q->busy == 0)
		pthread_cond_broadcast(&q->idle);
	pthread_mutex_unlock(&q->lock);
}

static void queue_wait_idle(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (q->busy)
		pthread_cond_wait(&q->idle, &q->lock);
	pthread_mutex_unlock(&q->lock);
}

static void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closing = true;
	pthread_cond_broadcast(&q->more);
	pthread_mutex_unlock(&q->lock);
}

/* ---- resolver ---- */

static void lookup_start(struct lookup *l)
{
	queue_push(&queue, lookup_get(l));
}

static bool lookup_again(struct lookup *l)
{
	if (l->tries >= MAXTRIES)
		return false;
#ifdef BUG
	queue_push(&queue, l);	/* GUILTY */
#else
	queue_push(&queue, lookup_get(l));
#endif
	return true;
}

static enum result ask_server(struct lookup *l)
{
	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		const struct zone *z = &zones[i];

		if (strcmp(z->host, l->host) != 0)
			continue;
		if (l->tries <= z->first_fails)
			return TIMED_OUT;
		for (int k = 0; k < MAXADDRS && z->addrs[k]; k++) {
			l->addrs[l->naddrs++] = z->addrs[k];
			if (!l->want_all)
				break;
		}
		return FOUND;
	}
	return NOT_FOUND;
}

static void *resolver_main(void *arg)
{
	struct queue *q = arg;
	struct lookup *l;

	while ((l = queue_pop(q)) != NULL) {
		enum result r;

		l->tries++;
		r = ask_server(l);
		if (r != TIMED_OUT || !lookup_again(l))
			l->result = r;
		lookup_put(l);	/* ACCEPTED */
		queue_done(q);
	}
	return NULL;
}

int main(void)
{
	static const char *const hosts[] = {
		"www.example.org", "mail.example.org", "nowhere.example.org", "ftp.example.org",
		"db.example.net", "git.example.net", "slow.example.com",
	};
	enum { N = sizeof(hosts) / sizeof(hosts[0]) };
	pthread_t threads[NTHREADS];
	struct lookup *lookups[N];
	int count[4] = { 0 }, addrs = 0;

	queue.tail = &queue.head;
	for (int i = 0; i < NTHREADS; i++)
		pthread_create(&threads[i], NULL, resolver_main, &queue);

	for (int i = 0; i < N; i++) {
		lookups[i] = lookup_create(hosts[i], i % 2 == 0);
		lookup_start(lookups[i]);
	}
	queue_wait_idle(&queue);
	for (int i = 0; i < N; i++) {
		count[lookups[i]->result]++;
		addrs += lookups[i]->naddrs;
	}
	for (int i = 0; i < N; i++)
		lookup_put(lookups[i]);

	queue_close(&queue);
	for (int i = 0; i < NTHREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d found, %d not found, %d timed out, %d addresses\n",
	       count[FOUND], count[NOT_FOUND], count[TIMED_OUT], addrs);
	return 0;
}
