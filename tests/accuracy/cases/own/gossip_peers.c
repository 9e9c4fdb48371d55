/* summary: on_probe_timeout() gives the reference of the probe to its peer back although probe_finish(), which it calls, does so for every outcome
 * kind: extra-put
 * counts: deficit
 * objects: 4
 * track: auto
 * packages: libuv
 * build: clang-14 -O2 -g
 * exit: 0
 */
/*
 * gossip_peers - membership of a cluster, as in SWIM: members are probed in turn, one that does not answer is suspected,
 * and declared dead the next time.  Network and clock are played; the callbacks run from an event loop.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

struct objref {
	unsigned int n;
	void (*destroy)(struct objref *);
};

static void objref_init(struct objref *r, void (*destroy)(struct objref *))
{
	r->n = 1;
	r->destroy = destroy;
}

static __attribute__((noinline)) void objref_get(struct objref *r)
{
	r->n++;
}

static __attribute__((noinline)) void objref_put(struct objref *r)
{
	if (--r->n == 0)
		r->destroy(r);
}

enum pstate { ALIVE, SUSPECT, DEAD };

struct peer {
	char addr[24];
	enum pstate state;
	unsigned incarnation, acks, misses;
	struct peer *next;
	struct objref ref;
};

struct probe {
	uv_timer_t timer;
	uv_check_t answer;
	struct peer *target;            /* a reference */
	int open, rounds;
};

#define N_PEERS 12

static uv_loop_t loop;
static struct peer *members;            /* references */
static struct peer *history[2 * N_PEERS];       /* references: what was seen to change */
static int n_history, n_probes, n_dead, n_deadline;

static void peer_destroy(struct objref *r)
{
	free(container_of(r, struct peer, ref));
}

static __attribute__((noinline)) struct peer *peer_new(int i)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (p == NULL)
		abort();
	objref_init(&p->ref, peer_destroy);
	snprintf(p->addr, sizeof(p->addr), "10.0.%d.%d:7946", i % 3, i);
	return p;
}

static struct peer *peer_get(struct peer *p)
{
	objref_get(&p->ref);
	return p;
}

static void peer_put(struct peer *p)
{
	if (p != NULL)
		objref_put(&p->ref);
}

static void note(struct peer *p)
{
	if (n_history < (int)(sizeof(history) / sizeof(history[0])))
		history[n_history++] = peer_get(p);
}

static int reachable(const struct peer *p, int round)
{
	unsigned h = 0;

	for (const char *c = p->addr; *c; c++)
		h = h * 131 + (unsigned char)*c;
	return (h + (unsigned)round * 7) % 10 > 1;
}

static void on_closed(uv_handle_t *h)
{
	struct probe *pr = h->data;

	if (--pr->open == 0)
		free(pr);
}

/* The end of a probe, whatever came of it. */
static void probe_finish(struct probe *pr, int alive)
{
	struct peer *p = pr->target;

	if (alive) {
		p->acks++;
		if (p->state == SUSPECT) {
			p->state = ALIVE;
			p->incarnation++;
			note(p);
		}
	} else {
		p->misses++;
		p->state = p->state == ALIVE ? SUSPECT : DEAD;
		note(p);
	}
	pr->target = NULL;
	peer_put(p);                    /* ACCEPTED */
	uv_close((uv_handle_t *)&pr->timer, on_closed);
	uv_close((uv_handle_t *)&pr->answer, on_closed);
}

static void on_answer(uv_check_t *h)
{
	struct probe *pr = h->data;

	if (!reachable(pr->target, pr->rounds++))
		return;                 /* maybe the next round */
	probe_finish(pr, 1);
}

static void on_probe_timeout(uv_timer_t *h)
{
	struct probe *pr = h->data;
#ifdef BUG
	struct peer *p = pr->target;
#endif

	n_deadline++;
	probe_finish(pr, 0);
#ifdef BUG
	peer_put(p);                    /* GUILTY */
#endif
}

static void probe_start(struct peer *p, int seq)
{
	struct probe *pr = calloc(1, sizeof(*pr));

	if (pr == NULL)
		abort();
	pr->target = peer_get(p);
	pr->rounds = seq;
	pr->open = 2;
	pr->timer.data = pr->answer.data = pr;
	uv_timer_init(&loop, &pr->timer);
	uv_check_init(&loop, &pr->answer);
	n_probes++;
	/* a peer behind the slow link gets no time at all */
	if (seq % 17 == 6) {
		uv_timer_start(&pr->timer, on_probe_timeout, 0, 0);
	} else {
		uv_timer_start(&pr->timer, on_probe_timeout, 5000, 0);
		uv_check_start(&pr->answer, on_answer);
	}
}

static void bury_the_dead(void)
{
	struct peer **pp = &members, *p;

	while ((p = *pp) != NULL) {
		if (p->state != DEAD) {
			pp = &p->next;
			continue;
		}
		*pp = p->next;
		n_dead++;
		peer_put(p);
	}
}

/* Keeps the loop from waiting while probes are open. */
static void on_idle(uv_idle_t *h)
{
	(void)h;
}

int main(void)
{
	uv_idle_t idle;
	struct peer *p;
	unsigned acks = 0;

	uv_loop_init(&loop);
	uv_idle_init(&loop, &idle);
	uv_idle_start(&idle, on_idle);
	uv_unref((uv_handle_t *)&idle);
	for (int i = N_PEERS; i > 0; i--) {
		p = peer_new(i);
		p->next = members;
		members = p;
	}
	for (int round = 0, seq = 0; round < 5; round++) {
		for (p = members; p != NULL; p = p->next)
			probe_start(p, seq++);
		uv_run(&loop, UV_RUN_DEFAULT);
		bury_the_dead();
	}
	for (p = members; p != NULL; p = p->next)
		acks += p->acks;
	printf("%d probes, %d deadlines, %d dead, %d changes, %u acks\n", n_probes, n_deadline, n_dead, n_history, acks);
	while (n_history > 0)
		peer_put(history[--n_history]);
	while ((p = members) != NULL) {
		members = p->next;
		peer_put(p);
	}
	uv_close((uv_handle_t *)&idle, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop) != 0;
}
