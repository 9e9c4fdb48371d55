/* summary: stopping a pair gives back its timer's reference even where the timer was not running any more
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: own
 * build: gcc -O0 -g
 */
/* Connectivity checks of a media relay: candidate pairs are probed with doubling intervals until one answers. Timers run on a
 * wheel with the agent's own clock; pairs are shared between the agent, the wheel and the selection. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHEEL_SLOTS 32
#define MAX_PAIRS 16
#define MAX_PROBES 4

struct timer {
	struct timer *next, **link;     /* link is NULL while it is not running */
	uint32_t due;
	void (*fire)(struct timer *timer, uint32_t now);
};

struct wheel {
	struct timer *slots[WHEEL_SLOTS];
	uint32_t now;
};

enum pair_state { PAIR_WAITING, PAIR_PROBING, PAIR_VALID, PAIR_FAILED };

struct agent;

struct pair {
	char local[16], remote[16];
	struct agent *agent;
	enum pair_state state;
	uint32_t priority;
	unsigned probes, answers_after; /* what the simulated path does: 0 is never */
	unsigned refcount;
	struct timer timer;
};

struct agent {
	struct wheel wheel;
	struct pair *pairs[MAX_PAIRS];
	unsigned nr_pairs;
	struct pair *selected;
	unsigned probes_sent, failed;
};

#define timer_owner(ptr) ((struct pair *)((char *)(ptr)-offsetof(struct pair, timer)))

static void timer_start(struct wheel *wheel, struct timer *timer, uint32_t delay)
{
	struct timer **slot;

	timer->due = wheel->now + delay;
	slot = &wheel->slots[timer->due % WHEEL_SLOTS];
	timer->next = *slot;
	if (timer->next)
		timer->next->link = &timer->next;
	timer->link = slot;
	*slot = timer;
}

/* true if it was running */
static bool timer_cancel(struct timer *timer)
{
	if (!timer->link)
		return false;
	*timer->link = timer->next;
	if (timer->next)
		timer->next->link = timer->link;
	timer->link = NULL;
	return true;
}

static void wheel_advance(struct wheel *wheel, uint32_t until)
{
	while (wheel->now < until) {
		struct timer *timer, *next;

		wheel->now++;
		for (timer = wheel->slots[wheel->now % WHEEL_SLOTS]; timer; timer = next) {
			next = timer->next;
			if (timer->due != wheel->now)
				continue;
			timer_cancel(timer);
			timer->fire(timer, wheel->now);
		}
	}
}

static struct pair *pair_get(struct pair *pair)
{
	pair->refcount++;
	return pair;
}

static void pair_put(struct pair *pair)
{
	if (--pair->refcount == 0)
		free(pair);
}

static void pair_fired(struct timer *timer, uint32_t now);

static struct pair *pair_new(struct agent *agent, const char *local, const char *remote, uint32_t priority)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	if (!pair)
		return NULL;
	snprintf(pair->local, sizeof(pair->local), "%s", local);
	snprintf(pair->remote, sizeof(pair->remote), "%s", remote);
	pair->agent = agent;
	pair->priority = priority;
	pair->refcount = 1;
	pair->timer.fire = pair_fired;
	return pair;
}

static void pair_arm(struct pair *pair, uint32_t delay)
{
	pair_get(pair);
	timer_start(&pair->agent->wheel, &pair->timer, delay);
}

static void agent_select(struct agent *agent, struct pair *pair)
{
	if (agent->selected && agent->selected->priority >= pair->priority)
		return;
	pair_get(pair);
	if (agent->selected)
		pair_put(agent->selected);
	agent->selected = pair;
}

static void pair_fired(struct timer *timer, uint32_t now)
{
	struct pair *pair = timer_owner(timer);
	struct agent *agent = pair->agent;

	if (pair->answers_after && pair->probes >= pair->answers_after) {
		pair->state = PAIR_VALID;
		agent_select(agent, pair);
	} else if (pair->probes == MAX_PROBES) {
		pair->state = PAIR_FAILED;
		agent->failed++;
		printf("%4u: %s - %s gives no answer\n", now, pair->local, pair->remote);
	} else {
		pair->state = PAIR_PROBING;
		pair->probes++;
		agent->probes_sent++;
		pair_arm(pair, 5u << pair->probes);
	}
	pair_put(pair);
}

static int agent_add(struct agent *agent, const char *local, const char *remote, uint32_t priority, unsigned answers_after)
{
	struct pair *pair;

	for (unsigned i = 0; i < agent->nr_pairs; i++)
		if (!strcmp(agent->pairs[i]->local, local) && !strcmp(agent->pairs[i]->remote, remote))
			return -EEXIST;
	if (agent->nr_pairs == MAX_PAIRS)
		return -ENOSPC;
	pair = pair_new(agent, local, remote, priority);
	if (!pair)
		return -ENOMEM;
	pair->answers_after = answers_after;
	agent->pairs[agent->nr_pairs++] = pair;
	pair_arm(pair, 1 + 2 * agent->nr_pairs);
	return 0;
}

static void pair_stop(struct pair *pair)
{
#ifdef BUG
	timer_cancel(&pair->timer); /* ACCEPTED */
	pair_put(pair); /* GUILTY */
#else
	if (timer_cancel(&pair->timer))
		pair_put(pair);
#endif
}

static void agent_drop(struct agent *agent, unsigned index)
{
	struct pair *pair = agent->pairs[index];

	agent->pairs[index] = agent->pairs[--agent->nr_pairs];
	pair_stop(pair);
	pair_put(pair);
}

/* drops the pairs of an interface that went away */
static unsigned agent_interface_down(struct agent *agent, const char *local)
{
	unsigned dropped = 0;

	for (unsigned i = 0; i < agent->nr_pairs;) {
		if (strcmp(agent->pairs[i]->local, local)) {
			i++;
			continue;
		}
		agent_drop(agent, i);
		dropped++;
	}
	return dropped;
}

static struct pair *agent_selected(struct agent *agent)
{
	return agent->selected ? pair_get(agent->selected) : NULL;
}

static void agent_report(struct agent *agent)
{
	static const char *const names[] = { "waiting", "probing", "valid", "failed" };

	for (unsigned i = 0; i < agent->nr_pairs; i++) {
		struct pair *pair = agent->pairs[i];

		printf("%4u: %-10s - %-12s %-7s after %u probes\n", agent->wheel.now, pair->local, pair->remote, names[pair->state],
		       pair->probes);
	}
}

static void agent_close(struct agent *agent)
{
	printf("%u probes sent, %u pairs failed\n", agent->probes_sent, agent->failed);
	while (agent->nr_pairs)
		agent_drop(agent, agent->nr_pairs - 1);
	if (agent->selected)
		pair_put(agent->selected);
	agent->selected = NULL;
}

int main(void)
{
	static struct agent agent;
	struct pair *media;

	agent_add(&agent, "10.0.0.5", "192.0.2.9", 900, 2);
	agent_add(&agent, "10.0.0.5", "198.51.100.4", 700, 0);
	agent_add(&agent, "fd00::5", "2001:db8::9", 950, 3);
	agent_add(&agent, "172.17.0.1", "192.0.2.9", 300, 0);
	agent_add(&agent, "172.17.0.1", "198.51.100.4", 200, 0);
	if (agent_add(&agent, "fd00::5", "2001:db8::9", 100, 0) == -EEXIST)
		printf("   0: pair is known\n");
	wheel_advance(&agent.wheel, 20);
	agent_report(&agent);
	printf("%4u: %u pairs dropped with the bridge\n", agent.wheel.now, agent_interface_down(&agent, "172.17.0.1"));

	wheel_advance(&agent.wheel, 180);
	media = agent_selected(&agent);
	if (media)
		printf("%4u: media goes from %s to %s\n", agent.wheel.now, media->local, media->remote);
	agent_add(&agent, "10.0.0.5", "203.0.113.77", 500, 0);
	agent_add(&agent, "fd00::5", "2001:db8::77", 400, 2);
	wheel_advance(&agent.wheel, 215);
	agent_report(&agent);
	agent_close(&agent);
	if (media)
		pair_put(media);
	return 0;
}
