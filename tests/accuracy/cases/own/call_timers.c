/* summary: call_hangup() drops the timer's reference without looking at whether timer_cancel() found it pending; a timer that had fired has dropped it already
 * kind: extra-put
 * counts: deficit
 * objects: 4
 * track: own
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "if (del_timer()) put(): the return value is ignored"
 */
/*
 * Calls of a telephone exchange. A call is on the table of its line and can
 * have a timer (no answer, or maximal length), which holds a reference.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

struct kref {
	int count;
};

static void kref_init(struct kref *k)
{
	k->count = 1;
}

static void kref_get(struct kref *k)
{
	k->count++;
}

static int kref_put(struct kref *k, void (*release)(struct kref *k))
{
	if (k->count <= 0) {
		fprintf(stderr, "kref: underflow\n");
		return 0;
	}
	if (--k->count > 0)
		return 0;
	release(k);
	return 1;
}

/* Timers: a list in the order of their time. */
struct timer {
	struct timer *next;
	unsigned long when;
	bool pending;
	void (*fire)(struct timer *t);
};

static struct timer *timers;
static unsigned long now;

static void timer_add(struct timer *t, unsigned long when)
{
	struct timer **p = &timers;

	while (*p && (*p)->when <= when)
		p = &(*p)->next;
	t->when = when;
	t->pending = true;
	t->next = *p;
	*p = t;
}

/* True when it was pending, so that it will not fire any more. */
static bool timer_cancel(struct timer *t)
{
	if (!t->pending)
		return false;
	for (struct timer **p = &timers; *p; p = &(*p)->next) {
		if (*p == t) {
			*p = t->next;
			break;
		}
	}
	t->pending = false;
	return true;
}

static void timers_run(unsigned long until)
{
	struct timer *t;

	now = until;
	while ((t = timers) && t->when <= now) {
		timers = t->next;
		t->pending = false;
		t->fire(t);
	}
}

/* Calls */
enum call_state { CALL_RINGING, CALL_TALKING, CALL_UNANSWERED };

struct call {
	struct timer timer;
	unsigned long began;
	unsigned id;
	enum call_state state;
	struct kref ref;
};

#define LINES 40
static struct call *lines[LINES];
static struct {
	unsigned made, unanswered, cut, hung_up, released;
	unsigned long length;
} stats;

static __attribute__((noinline)) void call_release(struct kref *k)
{
	stats.released++;
	free(container_of(k, struct call, ref));
}

struct call *call_get(struct call *c)
{
	kref_get(&c->ref);
	return c;
}

void call_put(struct call *c)
{
	kref_put(&c->ref, call_release);
}

struct call *call_new(void)
{
	struct call *c = calloc(1, sizeof *c);

	if (!c)
		abort();
	kref_init(&c->ref);
	c->id = ++stats.made;
	return c;
}

static void on_no_answer(struct timer *t)
{
	struct call *c = container_of(t, struct call, timer);

	if (c->state == CALL_RINGING) {
		c->state = CALL_UNANSWERED;
		stats.unanswered++;
	}
	call_put(c);	/* the timer's */
}

static void on_too_long(struct timer *t)
{
	struct call *c = container_of(t, struct call, timer);

	stats.cut++;
	stats.length += now - c->began;
	c->began = now;
	call_put(c);	/* the timer's */
}

static void call_arm(struct call *c, unsigned long span, void (*fire)(struct timer *t))
{
	c->timer.fire = fire;
	call_get(c);
	timer_add(&c->timer, now + span);
}

static void call_disarm(struct call *c)
{
	if (timer_cancel(&c->timer))
		call_put(c);
}

static void call_start(int line)
{
	lines[line] = call_new();
	call_arm(lines[line], 30, on_no_answer);
}

static void call_answer(int line, bool prepaid)
{
	struct call *c = lines[line];

	if (!c || c->state != CALL_RINGING)
		return;
	call_disarm(c);
	c->state = CALL_TALKING;
	c->began = now;
	if (prepaid)
		call_arm(c, 100, on_too_long);
}

static void call_hangup(int line)
{
	struct call *c = lines[line];

	if (!c)
		return;
	lines[line] = NULL;
	if (c->state == CALL_TALKING)
		stats.length += now - c->began;
	stats.hung_up++;
#ifdef BUG
	timer_cancel(&c->timer);	/* ACCEPTED */
	if (c->timer.fire)
		call_put(c);	/* GUILTY */
#else
	if (timer_cancel(&c->timer))
		call_put(c);
#endif
	call_put(c);	/* the line's */
}

/* A line that is taken out of service. */
static void line_clear(int line)
{
	struct call *c = lines[line];

	if (!c)
		return;
	lines[line] = NULL;
	call_disarm(c);
	call_put(c);
}

/* Somebody listens in: an own reference for as long as it takes. */
static unsigned supervise(void)
{
	struct call *list[LINES];
	unsigned n = 0, talking = 0;

	for (int i = 0; i < LINES; i++)
		if (lines[i] && lines[i]->id % 3 == 0)
			list[n++] = call_get(lines[i]);
	for (unsigned i = 0; i < n; i++) {
		talking += list[i]->state == CALL_TALKING;
		call_put(list[i]);
	}
	return talking;
}

int main(void)
{
	unsigned talking;

	for (int i = 0; i < LINES; i++)
		call_start(i);
	timers_run(10);
	for (int i = 1; i < 20; i += 5)	/* given up before anybody answered */
		call_hangup(i);
	for (int i = 0; i < LINES; i++)
		if (i % 20 != 17)	/* nobody is at home on 17 and 37 */
			call_answer(i, i % 20 == 13);
	timers_run(60);
	talking = supervise();
	for (int i = 0; i < LINES; i++)
		if (i % 20 != 17 && i % 20 != 13)
			line_clear(i);
	for (int i = 0; i < 10; i++) {
		call_start(i);
		call_answer(i, true);
	}
	timers_run(100);
	for (int i = 0; i < 10; i++)	/* before their time is over */
		line_clear(i);
	timers_run(400);		/* 13 and 33 are cut */
	talking += supervise();
	for (int i = 10; i < 13; i++)
		call_start(i);
	for (int i = 0; i < LINES; i++)
		call_hangup(i);
	timers_run(1000);
	printf("%u calls, %u hung up, %u unanswered, %u cut\n", stats.made, stats.hung_up,
	       stats.unanswered, stats.cut);
	printf("%lu seconds, %u talking when looked at\n", stats.length, talking);
	return 0;
}
