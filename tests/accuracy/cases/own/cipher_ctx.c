/* summary: conn_close() frees the context for a pending rekey as well, although rekey_run() has freed that reference when the rekey was done
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: auto
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "a flag that is not cleared makes the teardown put again"
 */
/*
 * Connections with cipher contexts. Contexts are shared between the connections
 * to the same peer, and a rekey that waits in a queue holds one as well.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEERS 14
#define CONNS 40

typedef struct cipher_ctx {
	uint8_t schedule[176];
	uint32_t rounds;
	uint32_t peer;
	uint64_t bytes;
	uint32_t refcnt;
} cipher_ctx;

typedef struct {
	cipher_ctx *ctx;
	int rekey_waits;
	unsigned sent;
} conn;

typedef struct rekey {
	struct rekey *next;
	cipher_ctx *ctx;
	conn *conn;
} rekey;

static rekey *rekeys, **rekeys_end = &rekeys;
static struct {
	unsigned made, wiped, rekeyed, cancelled;
	uint64_t bytes;
} stats;

static void ctx_schedule(cipher_ctx *c, uint32_t key)
{
	for (size_t i = 0; i < sizeof c->schedule; i++) {
		key = key * 1664525u + 1013904223u;
		c->schedule[i] = (uint8_t)(key >> 24);
	}
}

static cipher_ctx *ctx_new(uint32_t peer)
{
	cipher_ctx *c = malloc(sizeof *c);

	if (!c)
		abort();
	ctx_schedule(c, peer);
	c->rounds = 10;
	c->peer = peer;
	c->bytes = 0;
	c->refcnt = 1;
	stats.made++;
	return c;
}

static cipher_ctx *ctx_addref(cipher_ctx *c)
{
	__atomic_add_fetch(&c->refcnt, 1, __ATOMIC_RELAXED);
	return c;
}

static void ctx_free(cipher_ctx *c)
{
	if (!c || __atomic_sub_fetch(&c->refcnt, 1, __ATOMIC_ACQ_REL))
		return;
	stats.bytes += c->bytes;
	memset(c->schedule, 0, sizeof c->schedule);
	stats.wiped++;
	free(c);
}

static uint32_t ctx_encrypt(cipher_ctx *c, const uint8_t *data, size_t size)
{
	uint32_t sum = c->rounds;

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + (data[i] ^ c->schedule[(c->bytes + i) % sizeof c->schedule]);
	c->bytes += size;
	return sum;
}

/* Rekeys */
static void rekey_queue(conn *cn)
{
	rekey *r = malloc(sizeof *r);

	if (!r)
		abort();
	r->next = NULL;
	r->conn = cn;
	r->ctx = ctx_addref(cn->ctx);
	cn->rekey_waits = 1;
	*rekeys_end = r;
	rekeys_end = &r->next;
}

static void rekey_run(unsigned most)
{
	rekey *r;

	while (most-- && (r = rekeys)) {
		rekeys = r->next;
		if (!rekeys)
			rekeys_end = &rekeys;
		ctx_schedule(r->ctx, r->ctx->peer + ++stats.rekeyed);
#ifndef BUG
		r->conn->rekey_waits = 0;
#endif
		ctx_free(r->ctx);	/* ACCEPTED */
		free(r);
	}
}

static void rekey_forget(conn *cn)
{
	for (rekey **p = &rekeys; *p;) {
		rekey *r = *p;

		if (r->conn != cn) {
			p = &r->next;
			continue;
		}
		*p = r->next;
		if (!*p)
			rekeys_end = p;
		stats.cancelled++;
		free(r);
	}
}

static void conn_close(conn *cn)
{
	if (cn->rekey_waits) {
		rekey_forget(cn);
		ctx_free(cn->ctx);	/* GUILTY */
		cn->rekey_waits = 0;
	}
	ctx_free(cn->ctx);
	cn->ctx = NULL;
}

/* Peers have a context while they are known. */
static cipher_ctx *peers[PEERS];
static conn conns[CONNS];

static void conn_open(conn *cn, unsigned peer)
{
	if (!peers[peer])
		peers[peer] = ctx_new(peer * 77 + 5);
	cn->ctx = ctx_addref(peers[peer]);
	cn->rekey_waits = 0;
}

static uint32_t conn_send(conn *cn, const char *text)
{
	cipher_ctx *c = ctx_addref(cn->ctx);
	uint32_t sum = ctx_encrypt(c, (const uint8_t *)text, strlen(text));

	cn->sent++;
	ctx_free(c);
	return sum;
}

int main(void)
{
	uint32_t sum = 0;
	unsigned sent = 0;

	for (unsigned i = 0; i < CONNS; i++)
		conn_open(&conns[i], i % PEERS);
	for (unsigned i = 0; i < CONNS; i++)
		for (unsigned k = 0; k <= i % 3; k++)
			sum ^= conn_send(&conns[i], k ? "the next packet" : "a first packet");
	rekey_queue(&conns[3]);
	rekey_queue(&conns[8]);
	rekey_run(4);
	rekey_queue(&conns[20]);	/* this one is closed before its turn */
	for (unsigned i = 0; i < CONNS; i += 2)
		sum += conn_send(&conns[i], "after the rekey");
	for (unsigned i = 0; i < CONNS; i++) {
		sent += conns[i].sent;
		conn_close(&conns[i]);
	}
	rekey_run(4);
	for (unsigned i = 0; i < PEERS; i++)
		ctx_free(peers[i]);
	printf("%u sent, %llu bytes, sum %08x\n", sent, (unsigned long long)stats.bytes,
	       (unsigned)sum);
	printf("%u contexts, %u wiped, %u rekeys, %u cancelled\n", stats.made, stats.wiped,
	       stats.rekeyed, stats.cancelled);
	return 0;
}
