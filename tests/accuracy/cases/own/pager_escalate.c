/* summary: acknowledging an alert puts the timer's reference although the timer has already run out and given it back
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: own
 * build: clang -O2 -g
 */
/* On-call pager: alerts escalate from person to person until somebody acknowledges them. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 8
#define MAX_TIMERS 16
#define ESCALATION_MINUTES 10

static const char *const rota[] = { "primary", "secondary", "team-lead" };
#define ROTA_SIZE (sizeof rota / sizeof *rota)

struct alert {
	struct alert *chain;       /* in the table of open alerts */
	uint32_t id;
	unsigned level;
	char service[32];
	int refcount;
	unsigned pages_sent;
	unsigned opened_at, acked_at;
	char acked_by[16];
	char detail[72];
};

typedef unsigned timer_fn(struct alert *alert, unsigned now);

struct timer {
	unsigned due;
	timer_fn *fire;
	struct alert *alert;
};

struct pager {
	struct alert *open[BUCKETS];
	struct timer timers[MAX_TIMERS];
	unsigned timer_count;
	struct alert **history;
	size_t history_len, history_cap;
	unsigned now;
	uint32_t next_id;
};

struct alert *alert_ref(struct alert *alert)
{
	alert->refcount++;
	return alert;
}

void alert_unref(struct alert *alert)
{
	if (--alert->refcount == 0)
		free(alert);
}

struct alert *alert_open(uint32_t id, const char *service, const char *detail, unsigned now)
{
	struct alert *alert = calloc(1, sizeof *alert);

	if (!alert)
		return NULL;
	alert->refcount = 1;
	alert->id = id;
	alert->opened_at = now;
	snprintf(alert->service, sizeof alert->service, "%s", service);
	snprintf(alert->detail, sizeof alert->detail, "%s", detail);
	return alert;
}

static int timers_arm(struct pager *pager, struct alert *alert, unsigned minutes, timer_fn *fire)
{
	struct timer *timer;

	if (pager->timer_count == MAX_TIMERS)
		return -ENOSPC;
	timer = &pager->timers[pager->timer_count++];
	timer->due = pager->now + minutes;
	timer->fire = fire;
	timer->alert = alert_ref(alert);
	return 0;
}

/* True if there was a timer: its reference is the caller's then. */
static int timers_disarm(struct pager *pager, struct alert *alert)
{
	for (unsigned i = 0; i < pager->timer_count; i++) {
		if (pager->timers[i].alert != alert)
			continue;
		pager->timers[i] = pager->timers[--pager->timer_count];
		return 1;
	}
	return 0;
}

static void timers_run(struct pager *pager)
{
	unsigned i = 0;

	while (i < pager->timer_count) {
		struct timer *timer = &pager->timers[i];
		struct alert *alert = timer->alert;
		unsigned again;

		if (timer->due > pager->now) {
			i++;
			continue;
		}
		again = timer->fire(alert, pager->now);
		if (again) {
			timer->due = pager->now + again;
			i++;
			continue;
		}
		*timer = pager->timers[--pager->timer_count];
		alert_unref(alert);
	}
}

static void page(struct alert *alert, unsigned now)
{
	printf("%3u min: page %-9s #%u %s: %s\n", now, rota[alert->level], (unsigned)alert->id, alert->service, alert->detail);
	alert->pages_sent++;
}

/* Returns the minutes until the next step, 0 at the end of the rota. */
static unsigned escalate(struct alert *alert, unsigned now)
{
	if (alert->level + 1 >= ROTA_SIZE)
		return 0;
	alert->level++;
	page(alert, now);
	return alert->level + 1 < ROTA_SIZE ? ESCALATION_MINUTES : 0;
}

static int history_add(struct pager *pager, struct alert *alert)
{
	if (pager->history_len == pager->history_cap) {
		size_t cap = pager->history_cap ? pager->history_cap * 2 : 32;
		struct alert **grown = realloc(pager->history, cap * sizeof *grown);

		if (!grown)
			return -ENOMEM;
		pager->history = grown;
		pager->history_cap = cap;
	}
	pager->history[pager->history_len++] = alert_ref(alert);
	return 0;
}

static uint32_t pager_raise(struct pager *pager, const char *service, const char *detail)
{
	struct alert *alert = alert_open(++pager->next_id, service, detail, pager->now);
	unsigned bucket;

	if (!alert)
		return 0;
	bucket = alert->id % BUCKETS;
	if (timers_arm(pager, alert, ESCALATION_MINUTES, escalate)) {
		alert_unref(alert);
		return 0;
	}
	alert->chain = pager->open[bucket];
	pager->open[bucket] = alert;
	history_add(pager, alert);
	page(alert, pager->now);
	return alert->id;
}

/* Takes the alert out of the table; what the table held is the caller's. */
static struct alert *pager_remove(struct pager *pager, uint32_t id)
{
	struct alert **at = &pager->open[id % BUCKETS];

	while (*at && (*at)->id != id)
		at = &(*at)->chain;
	if (!*at)
		return NULL;
	struct alert *alert = *at;
	*at = alert->chain;
	alert->chain = NULL;
	return alert;
}

static int pager_acknowledge(struct pager *pager, uint32_t id, const char *who)
{
	struct alert *alert = pager_remove(pager, id);

	if (!alert)
		return -ENOENT;
	alert->acked_at = pager->now;
	snprintf(alert->acked_by, sizeof alert->acked_by, "%s", who);
#ifdef BUG
	timers_disarm(pager, alert);
	alert_unref(alert); /* GUILTY */
#else
	if (timers_disarm(pager, alert))
		alert_unref(alert);
#endif
	alert_unref(alert);
	return 0;
}

static void pager_wait(struct pager *pager, unsigned minutes)
{
	while (minutes--) {
		pager->now++;
		timers_run(pager);
	}
}

static void pager_report(struct pager *pager)
{
	unsigned pages = 0;

	for (size_t i = 0; i < pager->history_len; i++) {
		struct alert *alert = pager->history[i];

		pages += alert->pages_sent;
		printf("#%u %-10s open %u min, level %u, %s\n", (unsigned)alert->id, alert->service,
		       (alert->acked_by[0] ? alert->acked_at : pager->now) - alert->opened_at, alert->level,
		       alert->acked_by[0] ? alert->acked_by : "not acknowledged");
	}
	printf("%u pages\n", pages);
}

static void pager_close(struct pager *pager)
{
	while (pager->timer_count)
		alert_unref(pager->timers[--pager->timer_count].alert);
	for (unsigned b = 0; b < BUCKETS; b++)
		while (pager->open[b])
			alert_unref(pager_remove(pager, pager->open[b]->id));
	for (size_t i = 0; i < pager->history_len; i++)
		alert_unref(pager->history[i]);
	free(pager->history);
}

int main(void)
{
	struct pager pager = { 0 };
	uint32_t disk, dns, mail, shop, cert, backup;

	disk = pager_raise(&pager, "storage-2", "disk 92 % full");
	dns = pager_raise(&pager, "resolver", "SERVFAIL rate above 5 %");
	pager_wait(&pager, 4);
	mail = pager_raise(&pager, "mx1", "queue longer than 4000");
	pager_acknowledge(&pager, dns, "primary");
	pager_wait(&pager, 12);
	shop = pager_raise(&pager, "checkout", "p99 above 3 s");
	pager_acknowledge(&pager, mail, "secondary");
	pager_wait(&pager, 5);
	cert = pager_raise(&pager, "edge", "certificate ends in 6 days");
	backup = pager_raise(&pager, "backup", "no run since 26 h");
	pager_acknowledge(&pager, shop, "primary");
	if (pager_acknowledge(&pager, disk, "team-lead") || pager_acknowledge(&pager, 77, "nobody") != -ENOENT)
		return 1;
	pager_wait(&pager, 3);
	pager_acknowledge(&pager, cert, "primary");
	pager_report(&pager);
	printf("still open: #%u\n", (unsigned)backup);
	pager_close(&pager);
	return 0;
}
