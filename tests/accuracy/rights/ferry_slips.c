/* summary: berths of a ferry port: references as 32-bit handles, taken and given back by the dozen, a counter that saturates, a freelist
 * track: own
 * build: clang -O2 -g ferry_slips.c -o OUT
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below zero the count is stuck: such a berth stays for good. */
enum { CROWDED = 500, STUCK = INT_MIN / 2 };

struct berth {
	int refs;
	int number, calls;
	struct berth *next_free;
};

static struct berth *free_list;
static int berths_made, berths_free;
static struct berth *landmark;                       /* saturated, and kept by this pointer until the end */
static struct berth sea = { .refs = STUCK, .number = 0 };        /* never made, never freed */

/* Reuses what lies on the free list: the same address, count 0 up to now. */
__attribute__((noinline)) struct berth *berth_new(int number)
{
	struct berth *berth = free_list;
	if (berth) {
		free_list = berth->next_free;
		berths_free--;
	} else {
		berth = malloc(sizeof *berth);
		if (!berth)
			abort();
		berths_made++;
	}
	*berth = (struct berth){ .refs = 1, .number = number };
	return berth;
}

struct berth *berth_get(struct berth *berth)
{
	if (berth->refs > 0 && ++berth->refs >= CROWDED)
		berth->refs = STUCK;
	return berth;
}

/* As many references as there are lorries, at once. */
void berth_get_many(struct berth *berth, int many)
{
	if (berth->refs < 0)
		return;
	berth->refs = berth->refs + many >= CROWDED ? STUCK : berth->refs + many;
}

static void berth_gone(struct berth *berth)
{
	berth->next_free = free_list;
	free_list = berth;
	berths_free++;
}

void berth_put(struct berth *berth)
{
	if (berth->refs > 0 && --berth->refs == 0)
		berth_gone(berth);
}

void berth_put_many(struct berth *berth, int many)
{
	if (berth->refs < 0 || !many)
		return;
	berth->refs -= many;
	if (berth->refs == 0)
		berth_gone(berth);
}

/* A handle is generation and place; each open handle stands for one reference. */
enum { PLACES = 16 };
struct place { struct berth *berth; uint16_t generation; };
static struct place places[PLACES];
typedef uint32_t handle;

/* Takes the caller's reference, on success alone. */
static bool handle_open(struct berth *berth, handle *out)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (!places[i].berth) {
			places[i].berth = berth;
			*out = (uint32_t)++places[i].generation << 16 | i;
			return true;
		}
	return false;
}

static struct place *place_of(handle handle)
{
	struct place *place = &places[handle & 0xffff];
	return (handle & 0xffff) < PLACES && place->berth && place->generation == handle >> 16 ? place : NULL;
}

static struct berth *handle_get(handle handle)
{
	struct place *place = place_of(handle);
	return place ? berth_get(place->berth) : NULL;
}

/* Gives the handle's reference to the caller. */
static struct berth *handle_take(handle handle)
{
	struct place *place = place_of(handle);
	if (!place)
		return NULL;
	struct berth *berth = place->berth;
	place->berth = NULL;
	return berth;
}

static void handle_close(handle handle)
{
	struct berth *berth = handle_take(handle);
	if (berth)
		berth_put(berth);
}

static bool handle_dup(handle from, handle *out)
{
	struct berth *berth = handle_get(from);
	if (!berth)
		return false;
	if (handle_open(berth, out))
		return true;
	berth_put(berth);
	return false;
}

/* A ferry: its lorries each have one of the references that it took together. */
struct lorry { struct berth *bound_for; bool aboard; };

static int load(struct berth *berth, struct lorry *lorries, int many, int room)
{
	int loaded = 0;
	berth_get_many(berth, many);
	for (int i = 0; i < many; i++) {
		if (i % 4 == 3 || loaded == room)
			continue;
		lorries[i] = (struct lorry){ berth, true };
		loaded++;
	}
	berth_put_many(berth, many - loaded);            /* for those that stay ashore */
	berth->calls++;
	return loaded;
}

static void unload(struct lorry *lorries, int many)
{
	struct berth *run = NULL;
	int length = 0;
	/* Neighbours with one destination are given back together. */
	for (int i = 0; i < many; i++) {
		if (!lorries[i].aboard)
			continue;
		lorries[i].aboard = false;
		if (lorries[i].bound_for != run) {
			if (run)
				berth_put_many(run, length);
			run = lorries[i].bound_for;
			length = 0;
		}
		length++;
	}
	if (run)
		berth_put_many(run, length);
}

static void day(void)
{
	handle handles[PLACES + 2] = { 0 };
	struct lorry deck[24];
	int refused = 0, stale = 0, loaded = 0;

	for (int i = 0; i < 6; i++) {
		struct berth *berth = berth_new(i + 1);
		if (!handle_open(berth, &handles[i]))
			berth_put(berth);
	}
	for (int i = 6; i < PLACES + 2; i++)
		if (!handle_dup(handles[i % 6], &handles[i])) {
			handles[i] = 0;
			refused++;
		}

	for (int round = 0; round < 4; round++) {
		memset(deck, 0, sizeof deck);
		for (int part = 0; part < 2; part++) {
			struct berth *berth = handle_get(handles[(round + part) % 6]);
			loaded += load(berth, deck + 12 * part, 12, 7);
			berth_put(berth);
		}
		/* The harbour is closed while the ferry is at sea: its lorries still hold the berth. */
		if (round == 3)
			for (int i = 0; i < PLACES; i++)
				if (handles[i] % 0x10000 % 2)
					handle_close(handles[i]);
		unload(deck, 24);
	}
	for (int i = 0; i < PLACES + 2; i++) {
		struct berth *berth = handles[i] ? handle_take(handles[i]) : NULL;
		if (!berth) {
			stale += handles[i] != 0;
			continue;
		}
		/* Another way round: the reference leaves as an integer, and comes back as one. */
		uint64_t ticket = (uint64_t)(uintptr_t)berth ^ 0x5a5a000000000000u;
		berth = NULL;
		berth_put((struct berth *)(uintptr_t)(ticket ^ 0x5a5a000000000000u));
	}
	printf("refused %d, stale %d, loaded %d; %d made, %d free\n", refused, stale, loaded, berths_made, berths_free);
}

/* The free list serves the youngest first: the same berth is born and dies again and again. */
static void rush(void)
{
	int same = 0;
	struct berth *previous = NULL;
	for (int i = 0; i < 12; i++) {
		struct berth *berth = berth_new(100 + i);
		same += berth == previous;
		previous = berth;                        /* compared alone, not used */
		struct berth *second = i % 3 ? NULL : berth_get(berth);
		berth_put(berth);
		if (second)
			berth_put(second);
	}
	printf("the same %d times\n", same);
}

/* So many references that the counter gives up: gets and puts do nothing any more. */
static void fame(void)
{
	landmark = berth_new(7);
	for (int i = 0; i < 30; i++)
		berth_get_many(landmark, 20);
	for (int i = 0; i < 3; i++)
		berth_get(landmark);
	for (int i = 0; i < 25; i++)
		berth_put_many(landmark, 20);
	for (int i = 0; i < 103; i++)
		berth_put(landmark);
	/* The same for one that is so from the beginning. */
	struct berth *anywhere = berth_get(&sea);
	handle open;
	if (handle_open(anywhere, &open))
		handle_close(open);
	printf("landmark %s, sea %s\n", landmark->refs < 0 ? "stays" : "counted", sea.refs == STUCK ? "stays" : "moved");
}

int main(void)
{
	day();
	rush();
	fame();
	day();
	/* What lies on the free list has no references: it is only memory. */
	while (free_list) {
		struct berth *berth = free_list;
		free_list = berth->next_free;
		free(berth);
		berths_free--;
		berths_made--;
	}
	printf("%d berth in memory\n", berths_made);
	return berths_made != 1;
}
