/* summary: trans_cancel() stops the timer of retransmissions and does not drop the reference which a timer that was pending had
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: own
 * build: gcc -Og -g
 * exit: 0
 */
/*
 * Transactions of a telephone: requests are sent again until an answer comes.
 *
 * A transaction is referenced by the table of transactions and by each timer
 * of it that is pending.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

struct kref {
	unsigned refcount;
};

static inline void kref_init(struct kref *k) { k->refcount = 1; }
static inline void kref_get(struct kref *k) { k->refcount++; }
static inline bool kref_put(struct kref *k, void (*release)(struct kref *))
{
	if (--k->refcount)
		return false;
	release(k);
	return true;
}

#define SLOTS 16

struct timer {
	struct timer *next, **pprev;
	unsigned expires;
	void (*fn)(struct timer *);
};

static struct timer *wheel[SLOTS];
static unsigned now;

static void timer_setup(struct timer *t, void (*fn)(struct timer *))
{
	memset(t, 0, sizeof(*t));
	t->fn = fn;
}

/* This and timer_mod(): true if the timer was pending. */
static bool timer_del(struct timer *t)
{
	if (!t->pprev)
		return false;
	*t->pprev = t->next;
	if (t->next)
		t->next->pprev = t->pprev;
	t->pprev = NULL;
	return true;
}

static bool timer_mod(struct timer *t, unsigned expires)
{
	struct timer **slot = &wheel[expires % SLOTS];
	bool was = timer_del(t);

	t->expires = expires;
	t->next = *slot;
	if (t->next)
		t->next->pprev = &t->next;
	t->pprev = slot;
	*slot = t;
	return was;
}

static void timers_tick(void)
{
	struct timer *t, *next;

	now++;
	for (t = wheel[now % SLOTS]; t; t = next) {
		next = t->next;
		if (t->expires == now) {
			timer_del(t);
			t->fn(t);
		}
	}
}

enum state { CALLING, PROCEEDING, DONE };

#define T1 2
#define TRIES 4
#define BUCKETS 8
struct trans {
	struct trans *hnext;
	struct kref kref;
	uint32_t branch;
	enum state state;
	int status;
	int sent;
	char *target;
	struct timer resend;
};

struct phone {
	struct trans *table[BUCKETS];
	int completed, timed_out, cancelled, packets;
	int live;
};

static struct phone phone;

static void trans_release(struct kref *k)
{
	struct trans *t = container_of(k, struct trans, kref);

	phone.live--;
	free(t->target);
	free(t);
}

static inline void trans_get(struct trans *t) { kref_get(&t->kref); }
static inline void trans_put(struct trans *t) { kref_put(&t->kref, trans_release); }

static void trans_hash(struct trans *t)
{
	struct trans **b = &phone.table[t->branch % BUCKETS];

	trans_get(t);
	t->hnext = *b;
	*b = t;
}

static void trans_unhash(struct trans *t)
{
	struct trans **pp = &phone.table[t->branch % BUCKETS];

	for (; *pp; pp = &(*pp)->hnext) {
		if (*pp == t) {
			*pp = t->hnext;
			trans_put(t);
			return;
		}
	}
}

/* With a reference for the caller. */
static struct trans *trans_lookup(uint32_t branch)
{
	struct trans *t = phone.table[branch % BUCKETS];

	for (; t; t = t->hnext) {
		if (t->branch == branch) {
			trans_get(t);
			return t;
		}
	}
	return NULL;
}

static void trans_arm(struct trans *t, unsigned delay)
{
	if (!timer_mod(&t->resend, now + delay))
		trans_get(t);
}

static void trans_transmit(struct trans *t)
{
	t->sent++;
	phone.packets++;
}

static void trans_finish(struct trans *t, int status)
{
	t->state = DONE;
	t->status = status;
	if (timer_del(&t->resend))
		trans_put(t);
	trans_unhash(t);
}

static void trans_resend(struct timer *timer)
{
	struct trans *t = container_of(timer, struct trans, resend);

	if (t->state == CALLING && t->sent < TRIES) {
		trans_transmit(t);
		trans_arm(t, (unsigned)T1 << t->sent);
	} else if (t->state == CALLING) {
		phone.timed_out++;
		trans_finish(t, 408);
	}
	trans_put(t);	/* of this timer */
}

static struct trans *trans_new(const char *target)
{
	static uint32_t branch;
	struct trans *t = calloc(1, sizeof(*t));
	if (!t)
		abort();
	kref_init(&t->kref);
	t->branch = ++branch;
	t->target = strdup(target);
	timer_setup(&t->resend, trans_resend);
	phone.live++;
	return t;
}

static uint32_t phone_request(const char *target)
{
	struct trans *t = trans_new(target);
	uint32_t branch = t->branch;

	trans_hash(t);
	trans_transmit(t);
	trans_arm(t, T1);
	trans_put(t);
	return branch;
}

static void phone_response(uint32_t branch, int status)
{
	struct trans *t = trans_lookup(branch);

	if (!t)
		return;
	if (status < 200) {
		t->state = PROCEEDING;
		if (timer_del(&t->resend))
			trans_put(t);
	} else {
		phone.completed++;
		trans_finish(t, status);
	}
	trans_put(t);
}

/* The user hangs up before there was an answer. */
static void trans_cancel(struct trans *t)
{
	if (t->state == DONE)
		return;
	phone.cancelled++;
	t->state = DONE;
	t->status = 487;
#ifdef BUG
	timer_del(&t->resend);	/* GUILTY */
#else
	if (timer_del(&t->resend))
		trans_put(t);
#endif
	trans_unhash(t);	/* ACCEPTED */
}

static void phone_hangup(uint32_t branch)
{
	struct trans *t = trans_lookup(branch);

	if (t) {
		trans_cancel(t);
		trans_put(t);
	}
}

static const struct { int at; char what; int call; int arg; } script[] = {
	{ 1, 'r', 0, 100 }, { 2, 'r', 0, 200 }, { 3, 'h', 1, 0 }, { 4, 'r', 2, 486 }, { 5, 'r', 4, 180 },
	{ 6, 'h', 4, 0 }, { 7, 'h', 5, 0 }, { 9, 'r', 5, 487 }, { 9, 'h', 0, 0 }, { 12, 'r', 6, 200 }, { 15, 'h', 7, 0 },
};

int main(void)
{
	static const char *const people[] = { "ann", "bob", "cleo", "dan", "eve", "fay", "gus", "hal" };
	uint32_t calls[8];
	char uri[40];

	for (int i = 0; i < 8; i++) {
		snprintf(uri, sizeof(uri), "sip:%s@pbx.example", people[i]);
		calls[i] = phone_request(uri);
	}
	for (int tick = 1; tick < 80; tick++) {
		timers_tick();
		for (unsigned k = 0; k < sizeof(script) / sizeof(script[0]); k++) {
			if (script[k].at != tick)
				continue;
			if (script[k].what == 'r')
				phone_response(calls[script[k].call], script[k].arg);
			else
				phone_hangup(calls[script[k].call]);
		}
	}
	printf("%d completed, %d timed out, %d cancelled, %d packets\n",
	       phone.completed, phone.timed_out, phone.cancelled, phone.packets);
	return 0;
}
