/* summary: channel_shut() drops the channel before it adds up what the channel transferred and calls its closed function
 * kind: use-after-put
 * counts: none
 * objects: 3
 * track: own
 * build: clang-14 -O0 -g
 * exit: 0
 */
/*
 * Links to headphones and car radios: a session per device, with channels for
 * control and browsing, and requests that wait for their answers.
 *
 * A session holds its channels. A channel holds its session, and a request
 * the channel that it went out on.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session;
struct channel;

typedef void (*closed_fn)(struct channel *chan, void *user_data);

struct channel {
	struct channel *next;
	struct session *session;
	int ref;
	int psm;
	uint8_t next_label;
	unsigned rx, tx;
	closed_fn closed;
	void *user_data;
};

struct session {
	char address[18];
	int ref;
	struct channel *channels;
	unsigned rx, tx, nclosed;
};

struct request {
	struct request *next;
	struct channel *chan;
	uint8_t label;
	uint8_t operation;
	int ticks;		/* until it times out */
};

#define PSM_CONTROL 23
#define PSM_BROWSING 27

static struct request *requests;
static unsigned answered, timed_out;

static struct session *session_new(const char *address)
{
	struct session *s = calloc(1, sizeof(*s));
	if (!s)
		abort();
	s->ref = 1;
	snprintf(s->address, sizeof(s->address), "%s", address);
	return s;
}

static struct session *session_ref(struct session *s)
{
	s->ref++;
	return s;
}

static void session_unref(struct session *s)
{
	if (--s->ref > 0)
		return;
	free(s);
}

static struct channel *channel_new(struct session *s, int psm)
{
	struct channel *c = calloc(1, sizeof(*c));
	if (!c)
		abort();
	c->ref = 1;
	c->session = session_ref(s);
	c->psm = psm;
	return c;
}

static struct channel *channel_ref(struct channel *c)
{
	c->ref++;
	return c;
}

static void channel_unref(struct channel *c)
{
	if (--c->ref > 0)
		return;
	session_unref(c->session);
	free(c);
}

static void channel_unlink(struct channel *c)
{
	struct channel **pp = &c->session->channels;

	while (*pp && *pp != c)
		pp = &(*pp)->next;
	if (*pp)
		*pp = c->next;
	c->next = NULL;
}

/* Takes a channel out of its session, which held it. */
static void channel_shut(struct channel *c)
{
	struct session *s = c->session;

	channel_unlink(c);
#ifdef BUG
	channel_unref(c);	/* GUILTY */
#endif
	s->rx += c->rx;		/* ACCEPTED */
	s->tx += c->tx;		/* ACCEPTED */
	s->nclosed++;
	if (c->closed)		/* ACCEPTED */
		c->closed(c, c->user_data);	/* ACCEPTED */
#ifndef BUG
	channel_unref(c);
#endif
}

static struct channel *session_open(struct session *s, int psm, closed_fn closed, void *user_data)
{
	struct channel *c = channel_new(s, psm);

	c->closed = closed;
	c->user_data = user_data;
	c->next = s->channels;
	s->channels = c;
	return c;
}

static struct channel *session_channel(struct session *s, int psm)
{
	struct channel *c = s->channels;

	while (c && c->psm != psm)
		c = c->next;
	return c;
}

static void session_disconnect(struct session *s)
{
	while (s->channels)
		channel_shut(s->channels);
}

static void request_send(struct channel *c, uint8_t operation, unsigned len)
{
	struct request *r = calloc(1, sizeof(*r)), **pp = &requests;

	r->chan = channel_ref(c);
	r->label = c->next_label++ & 15;
	r->operation = operation;
	r->ticks = 5;
	while (*pp)
		pp = &(*pp)->next;
	*pp = r;
	c->tx += len + 3;
}

static void request_free(struct request *r)
{
	channel_unref(r->chan);
	free(r);
}

static bool channel_receive(struct channel *c, uint8_t label, unsigned len)
{
	struct request **pp, *r;

	c->rx += len + 3;
	for (pp = &requests; (r = *pp) != NULL; pp = &r->next) {
		if (r->chan == c && r->label == label) {
			*pp = r->next;
			answered++;
			request_free(r);
			return true;
		}
	}
	return false;
}

static void requests_tick(void)
{
	struct request **pp = &requests, *r;

	while ((r = *pp) != NULL) {
		if (--r->ticks > 0) {
			pp = &r->next;
			continue;
		}
		*pp = r->next;
		timed_out++;
		request_free(r);
	}
}

struct player {
	const char *name;
	struct session *session;
	bool can_browse;
	int lost;
};

static void player_lost(struct channel *c, void *user_data)
{
	struct player *p = user_data;

	p->lost++;
	if (c->psm == PSM_BROWSING)
		p->can_browse = false;
}

static void player_connect(struct player *p, const char *address, bool browsing)
{
	p->session = session_new(address);
	session_open(p->session, PSM_CONTROL, player_lost, p);
	if (browsing) {
		session_open(p->session, PSM_BROWSING, player_lost, p);
		p->can_browse = true;
	}
}

static void player_press(struct player *p, uint8_t key)
{
	struct channel *c = session_channel(p->session, PSM_CONTROL);

	if (c)
		request_send(c, key, 2);
}

static void player_list(struct player *p, unsigned items)
{
	struct channel *c = session_channel(p->session, PSM_BROWSING);

	if (c)
		request_send(c, 0x71, 8 + items);
}

static void player_remove(struct player *p)
{
	session_disconnect(p->session);
	printf("%s: %u in, %u out, %u closed, %d lost\n", p->name, p->session->rx, p->session->tx,
	       p->session->nclosed, p->lost);
	session_unref(p->session);
	p->session = NULL;
}

int main(void)
{
	struct player car = { .name = "car" }, buds = { .name = "buds" };
	struct channel *c;

	player_connect(&car, "00:1B:DC:0F:02:11", true);
	player_connect(&buds, "04:52:C7:33:90:A0", true);
	for (int i = 0; i < 6; i++) {
		player_press(&car, (uint8_t)(0x44 + i));
		if (i % 2)
			player_press(&buds, 0x46);
		if (car.can_browse)
			player_list(&car, 10u + (unsigned)i);
		c = session_channel(car.session, PSM_CONTROL);
		channel_receive(c, (uint8_t)i, 2);
		if (i != 5) {
			c = session_channel(car.session, PSM_BROWSING);
			channel_receive(c, (uint8_t)i, 120);
		}
		c = session_channel(buds.session, PSM_CONTROL);
		if (i % 2)
			channel_receive(c, (uint8_t)(i / 2), 2);
		requests_tick();
	}
	player_list(&buds, 3);
	channel_shut(session_channel(buds.session, PSM_CONTROL));
	for (int i = 0; i < 6; i++)
		requests_tick();
	player_remove(&buds);
	player_list(&car, 4);	/* has no answer any more */
	player_remove(&car);
	while (requests)
		requests_tick();
	printf("%u answered, %u timed out\n", answered, timed_out);
	return 0;
}
