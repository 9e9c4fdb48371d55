/*
 * summary: the order to throttle a locked valve is refused without giving back the valve that the table handed out
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: own
 * build: gcc -O2 -g
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE 16
#define PLAN_STEPS 8

enum valve_state { VALVE_OPEN, VALVE_THROTTLED, VALVE_SHUT };

struct valve {
	struct valve *chain;
	char tag[12];
	int refs;
	enum valve_state state;
	unsigned opening; /* per cent */
	bool locked;      /* somebody works in the shaft */
	unsigned operations;
};

struct valve_table {
	struct valve *heads[TABLE_SIZE];
	unsigned count;
};

/* What is to happen when a main bursts. The steps hold their valves, so that a plan survives a rebuilt table. */
struct plan {
	const char *main;
	struct {
		struct valve *valve;
		unsigned opening;
	} steps[PLAN_STEPS];
	unsigned length;
};

static int valve_new(const char *tag, struct valve **out)
{
	struct valve *valve;

	if (strlen(tag) >= sizeof valve->tag)
		return -EINVAL;
	valve = calloc(1, sizeof *valve);
	if (!valve)
		return -ENOMEM;
	strcpy(valve->tag, tag);
	valve->refs = 1;
	valve->opening = 100;
	*out = valve;
	return 0;
}

static inline struct valve *valve_get(struct valve *valve)
{
	valve->refs++;
	return valve;
}

static inline void valve_put(struct valve *valve)
{
	if (--valve->refs == 0)
		free(valve);
}

static unsigned tag_hash(const char *tag)
{
	unsigned hash = 2166136261u;

	for (; *tag; tag++)
		hash = (hash ^ (unsigned char) *tag) * 16777619u;
	return hash % TABLE_SIZE;
}

static int valve_table_add(struct valve_table *table, const char *tag)
{
	struct valve **head = &table->heads[tag_hash(tag)];
	struct valve *valve;
	int err;

	for (valve = *head; valve; valve = valve->chain) {
		if (!strcmp(valve->tag, tag))
			return -EEXIST;
	}
	err = valve_new(tag, &valve);
	if (err)
		return err;
	valve->chain = *head;
	*head = valve;
	table->count++;
	return 0;
}

static int valve_table_find(struct valve_table *table, const char *tag, struct valve **out)
{
	struct valve *valve;

	for (valve = table->heads[tag_hash(tag)]; valve; valve = valve->chain) {
		if (!strcmp(valve->tag, tag)) {
			*out = valve_get(valve);
			return 0;
		}
	}
	return -ENOENT;
}

static int valve_table_remove(struct valve_table *table, const char *tag)
{
	struct valve **link = &table->heads[tag_hash(tag)];

	for (; *link; link = &(*link)->chain) {
		struct valve *valve = *link;

		if (strcmp(valve->tag, tag))
			continue;
		*link = valve->chain;
		valve->chain = NULL;
		table->count--;
		valve_put(valve);
		return 0;
	}
	return -ENOENT;
}

static void valve_table_clear(struct valve_table *table)
{
	for (unsigned i = 0; i < TABLE_SIZE; i++) {
		while (table->heads[i]) {
			struct valve *valve = table->heads[i];

			table->heads[i] = valve->chain;
			valve_put(valve);
		}
	}
	table->count = 0;
}

static void valve_move(struct valve *valve, unsigned opening)
{
	valve->opening = opening;
	valve->state = opening == 0 ? VALVE_SHUT : opening == 100 ? VALVE_OPEN : VALVE_THROTTLED;
	valve->operations++;
}

static int order_shut(struct valve_table *table, const char *tag)
{
	struct valve *valve;
	int err = valve_table_find(table, tag, &valve);

	if (err)
		return err;
	if (valve->state == VALVE_SHUT)
		err = -EALREADY;
	else if (valve->locked)
		err = -EBUSY;
	else
		valve_move(valve, 0);
	valve_put(valve);
	return err;
}

static int order_throttle(struct valve_table *table, const char *tag, unsigned opening)
{
	struct valve *valve;
	int err;

	if (opening > 100)
		return -ERANGE;
	err = valve_table_find(table, tag, &valve);
	if (err)
		return err;
	if (valve->opening == opening) {
		valve_put(valve);
		return 0;
	}
	if (valve->locked) {
#ifndef BUG
		valve_put(valve);
#endif
		return -EBUSY; /* GUILTY */
	}
	valve_move(valve, opening);
	valve_put(valve);
	return 0;
}

static int order_lock(struct valve_table *table, const char *tag, bool locked)
{
	struct valve *valve;

	if (valve_table_find(table, tag, &valve))
		return -ENOENT;
	valve->locked = locked;
	valve_put(valve);
	return 0;
}

static int plan_add(struct plan *plan, struct valve_table *table, const char *tag, unsigned opening)
{
	struct valve *valve;
	int err;

	if (plan->length == PLAN_STEPS)
		return -ENOSPC;
	err = valve_table_find(table, tag, &valve);
	if (err)
		return err;
	for (unsigned i = 0; i < plan->length; i++) {
		if (plan->steps[i].valve == valve) {
			plan->steps[i].opening = opening;
			valve_put(valve);
			return 0;
		}
	}
	plan->steps[plan->length].valve = valve;
	plan->steps[plan->length++].opening = opening;
	return 0;
}

static unsigned plan_run(struct plan *plan)
{
	unsigned left = 0;

	for (unsigned i = 0; i < plan->length; i++) {
		if (plan->steps[i].valve->locked)
			left++;
		else
			valve_move(plan->steps[i].valve, plan->steps[i].opening);
	}
	return left;
}

static void plan_discard(struct plan *plan)
{
	while (plan->length > 0)
		valve_put(plan->steps[--plan->length].valve);
}

int main(void)
{
	static const char *const tags[] = { "N-101", "N-102", "N-117", "E-204", "E-205", "S-301", "S-309", "W-400" };
	static const struct { char order; const char *tag; unsigned opening; } shift[] = {
		{ 'l', "E-204", 0 }, { 't', "N-101", 60 }, { 't', "E-204", 40 }, { 's', "S-301", 0 }, { 's', "S-301", 0 },
		{ 't', "X-999", 10 }, { 'l', "N-117", 0 }, { 's', "N-117", 0 }, { 't', "N-102", 140 }, { 't', "N-102", 100 },
		{ 't', "N-117", 25 }, { 'u', "E-204", 0 }, { 't', "E-204", 40 }, { 's', "W-400", 0 }, { 't', "E-205", 75 },
	};
	struct valve_table table = { .count = 0 };
	struct plan plan = { .main = "DN400 Nordring" };
	unsigned done = 0, left;

	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
		valve_table_add(&table, tags[i]);
	plan_add(&plan, &table, "N-101", 0);
	plan_add(&plan, &table, "N-102", 0);
	plan_add(&plan, &table, "S-309", 30);
	plan_add(&plan, &table, "N-101", 10);

	for (size_t i = 0; i < sizeof shift / sizeof *shift; i++) {
		int err = shift[i].order == 's' ? order_shut(&table, shift[i].tag)
			: shift[i].order == 't' ? order_throttle(&table, shift[i].tag, shift[i].opening)
			: order_lock(&table, shift[i].tag, shift[i].order == 'l');
		if (err)
			printf("%c %s: %s\n", shift[i].order, shift[i].tag, strerror(-err));
		else
			done++;
	}

	valve_table_remove(&table, "S-309");
	left = plan_run(&plan);
	printf("%s: %u steps, %u left; %u orders done, %u valves\n", plan.main, plan.length, left, done, table.count);
	plan_discard(&plan);
	valve_table_clear(&table);
	return 0;
}
