/* summary: place_bid() gives the lot back on its way out when a bid is too low, but house_lot() had only lent it
 * kind: extra-put
 * counts: deficit
 * objects: 4
 * track: own
 * build: gcc -O2
 * exit: 0
 */
/*
 * auction_house - lots, bidders and their bids. The catalogue owns the lots;
 * a bidder's watch list and the reports of the evening own them as well.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOTS 24
#define BIDDERS 7
#define WATCHED 10

struct lot {
	unsigned long number;
	char title[24];
	long refs;
	long price, reserve;
	int leader;
	unsigned bids;
	int closed;
};

struct bidder {
	int id;
	long budget;
	int banned;
	struct lot *watched[WATCHED];
	unsigned nwatched;
	unsigned won, low, denied;
};

struct report {
	struct lot **lots;
	unsigned n, room;
	long total;
};

struct house {
	struct lot *catalogue[LOTS];
	struct bidder bidders[BIDDERS];
	struct report sold, passed;
};

int lots_live;

/* ------------------------------------------------------------------ lots */

__attribute__((noinline)) struct lot *lot_new(unsigned number, long estimate)
{
	struct lot *lot = calloc(1, sizeof *lot);

	if (!lot)
		abort();
	lot->number = number;
	lot->refs = 1;
	lot->price = estimate / 2;
	lot->reserve = estimate;
	lot->leader = -1;
	snprintf(lot->title, sizeof lot->title, "Lot %u", number);
	lots_live++;
	return lot;
}

__attribute__((noinline)) struct lot *lot_get(struct lot *lot)
{
	lot->refs++;
	return lot;
}

__attribute__((noinline)) void lot_put(struct lot *lot)
{
	if (--lot->refs == 0) {
		lots_live--;
		free(lot);
	}
}

/* --------------------------------------------------------------- reports */

static void report_add(struct report *r, struct lot *lot)
{
	if (r->n == r->room) {
		r->room = r->room ? 2 * r->room : 4;
		r->lots = realloc(r->lots, r->room * sizeof *r->lots);
		if (!r->lots)
			abort();
	}
	r->lots[r->n++] = lot_get(lot);
	r->total += lot->price;
}

static void report_clear(struct report *r)
{
	for (unsigned i = 0; i < r->n; i++)
		lot_put(r->lots[i]);
	free(r->lots);
	memset(r, 0, sizeof *r);
}

/* --------------------------------------------------------------- bidders */

/* The catalogue's lot; it stays the catalogue's. */
static struct lot *house_lot(struct house *h, unsigned number)
{
	for (unsigned i = 0; i < LOTS; i++)
		if (h->catalogue[i] && h->catalogue[i]->number == number)
			return h->catalogue[i];
	return NULL;
}

/* The lot that the bidder watches at the place, with a reference. */
static struct lot *bidder_watched(struct bidder *b, unsigned place)
{
	return place < b->nwatched ? lot_get(b->watched[place]) : NULL;
}

static int bidder_watch(struct bidder *b, struct lot *lot)
{
	for (unsigned i = 0; i < b->nwatched; i++)
		if (b->watched[i] == lot)
			return -EEXIST;
	if (b->nwatched == WATCHED)
		return -ENOSPC;
	b->watched[b->nwatched++] = lot_get(lot);
	return 0;
}

static void bidder_leave(struct bidder *b)
{
	while (b->nwatched)
		lot_put(b->watched[--b->nwatched]);
}

/* Raises a lot to the next step that the bidder can pay. */
static int raise_price(struct bidder *b, struct lot *lot, long offer)
{
	long step = lot->price < 500 ? 20 : 50;

	if (lot->closed)
		return -ESHUTDOWN;
	if (offer < lot->price + step)
		return -ERANGE;
	if (offer > b->budget)
		return -EDQUOT;
	lot->price = offer;
	lot->leader = b->id;
	lot->bids++;
	return 0;
}

/* A bid from the floor. Who bids watches. */
static int place_bid(struct house *h, struct bidder *b, unsigned number, long offer)
{
	struct lot *lot;
	int rc;

	if (b->banned) {
		rc = -EPERM;
		goto out;
	}
	lot = house_lot(h, number);		/* ACCEPTED */
	if (!lot) {
		rc = -ENOENT;
		goto out;
	}
	bidder_watch(b, lot);
	rc = raise_price(b, lot, offer);
	if (rc == -ERANGE) {
		b->low++;
#ifdef BUG
		lot_put(lot);			/* GUILTY */
#endif
		return rc;
	}
out:
	if (rc < 0)
		b->denied++;
	return rc;
}

/* Somebody who watches a lot goes a little higher at the end. */
static int last_call(struct bidder *b, unsigned place)
{
	struct lot *lot = bidder_watched(b, place);
	int rc;

	if (!lot)
		return -ENOENT;
	if (lot->leader == b->id) {
		lot_put(lot);
		return 0;
	}
	rc = raise_price(b, lot, lot->price + lot->price / 10 + 50);
	if (rc < 0)
		b->denied++;
	lot_put(lot);
	return rc;
}

/* ----------------------------------------------------------------- house */

static void house_open(struct house *h, unsigned evening)
{
	memset(h, 0, sizeof *h);
	for (unsigned i = 0; i < LOTS; i++)
		h->catalogue[i] = lot_new(evening * 100 + i, 100 + (long)(i * 53 % 17) * 40);
	for (int i = 0; i < BIDDERS; i++) {
		h->bidders[i].id = i;
		h->bidders[i].budget = 700 + 200 * i;
		h->bidders[i].banned = i == 5 && evening == 1;
	}
}

static void house_hammer(struct house *h, unsigned at)
{
	struct lot *lot = h->catalogue[at];

	if (lot->closed)
		return;
	lot->closed = 1;
	if (lot->leader >= 0 && lot->price >= lot->reserve) {
		h->bidders[lot->leader].won++;
		report_add(&h->sold, lot);
	} else if (lot->bids > 1) {
		report_add(&h->passed, lot);
	}
}

static void house_close(struct house *h)
{
	report_clear(&h->passed);
	report_clear(&h->sold);
	for (unsigned i = 0; i < BIDDERS; i++)
		bidder_leave(&h->bidders[i]);
	for (unsigned i = 0; i < LOTS; i++)
		lot_put(h->catalogue[i]);
}

int main(void)
{
	static struct house h;

	for (unsigned evening = 0; evening < 2; evening++) {
		unsigned low = 0, denied = 0, won = 0;

		house_open(&h, evening);
		for (unsigned turn = 0; turn < 60; turn++) {
			unsigned at = (turn * 5 + evening) % (LOTS + 1);
			struct lot *now = at < LOTS ? h.catalogue[at] : NULL;
			long offer = now ? now->price + 60 + (long)(turn % 4) * 30 : 100;

			if (turn % 23 == 17)
				offer -= 80 + (long)(turn % 4) * 30;	/* misheard */
			place_bid(&h, &h.bidders[(turn * 3 + evening) % BIDDERS], evening * 100 + at, offer);
		}
		for (unsigned i = 0; i < BIDDERS; i++)
			for (unsigned place = 0; place < 9; place += 2)
				last_call(&h.bidders[i], place);
		for (unsigned i = 0; i < LOTS; i++)
			house_hammer(&h, i);
		for (unsigned i = 0; i < BIDDERS; i++) {
			low += h.bidders[i].low;
			denied += h.bidders[i].denied;
			won += h.bidders[i].won;
		}
		printf("evening %u: %u sold for %ld, %u passed, %u too low, %u denied, %u won\n", evening, h.sold.n,
		       h.sold.total, h.passed.n, low, denied, won);
#ifdef TRUTH
		for (unsigned i = 0; i < LOTS; i++) {
			struct lot *l = h.catalogue[i];
			long due = 1;

			for (unsigned j = 0; j < BIDDERS; j++)
				for (unsigned k = 0; k < h.bidders[j].nwatched; k++)
					due += h.bidders[j].watched[k] == l;
			for (unsigned j = 0; j < h.sold.n; j++)
				due += h.sold.lots[j] == l;
			for (unsigned j = 0; j < h.passed.n; j++)
				due += h.passed.lots[j] == l;
			if (due != l->refs)
				printf("%s: %ld, due %ld\n", l->title, l->refs, due);
		}
#endif
		house_close(&h);
	}
#ifdef TRUTH
	printf("left: %d\n", lots_live);
#endif
	return 0;
}
