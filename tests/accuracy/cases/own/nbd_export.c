/* summary: negotiate_go() returns from the check of the client's block size without dropping the export that export_find() referenced
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: own
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * Network block server: option haggling and a few requests per connection.
 *
 * An export lives as long as the server lists it, or a client has it open.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT_RO	0x1
#define EXPORT_MULTI	0x2

#define REP_ACK		1
#define REP_INFO	3
#define REP_ERR_UNKNOWN	0x80000006u
#define REP_ERR_INVALID	0x80000003u
#define REP_ERR_POLICY	0x80000002u

struct export {
	char name[32];
	uint64_t size;
	uint32_t min_block;
	unsigned flags;
	int refcnt;
	int nclients;
	uint8_t *data;
	struct export *next;
};

struct option {
	const char *op;		/* "list", "info", "go", "abort" */
	const char *name;
	uint32_t block;		/* what the client wants, 0 for any */
	bool write;
};

struct client {
	int fd;
	struct export *exp;
	uint32_t block;
	bool write;
	uint32_t last_reply;
	unsigned nreplies;
};

struct request {
	char type;		/* 'r' or 'w' */
	uint64_t from;
	uint32_t len;
};

static struct export *exports;
static unsigned nexports_freed;

static struct export *export_new(const char *name, uint64_t size, uint32_t min_block, unsigned flags)
{
	struct export *e = calloc(1, sizeof(*e));

	if (!e)
		abort();
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->size = size;
	e->min_block = min_block;
	e->flags = flags;
	e->refcnt = 1;
	e->data = calloc(1, size);
	return e;
}

static inline struct export *export_ref(struct export *e)
{
	e->refcnt++;
	return e;
}

static inline void export_unref(struct export *e)
{
	if (--e->refcnt > 0)
		return;
	free(e->data);
	free(e);
	nexports_freed++;
}

/* The list takes over the reference of the caller. */
static void export_publish(struct export *e)
{
	e->next = exports;
	exports = e;
}

static bool export_withdraw(const char *name)
{
	struct export **pp, *e;

	for (pp = &exports; (e = *pp) != NULL; pp = &e->next) {
		if (strcmp(e->name, name) == 0) {
			*pp = e->next;
			e->next = NULL;
			export_unref(e);
			return true;
		}
	}
	return false;
}

static struct export *export_find(const char *name)
{
	for (struct export *e = exports; e; e = e->next)
		if (strcmp(e->name, name) == 0)
			return export_ref(e);
	return NULL;
}

static void client_reply(struct client *c, uint32_t code)
{
	c->last_reply = code;
	c->nreplies++;
}

static void negotiate_list(struct client *c)
{
	for (struct export *e = exports; e; e = e->next)
		client_reply(c, REP_INFO);
	client_reply(c, REP_ACK);
}

static int negotiate_info(struct client *c, const struct option *o)
{
	struct export *e = export_find(o->name);

	if (!e) {
		client_reply(c, REP_ERR_UNKNOWN);
		return -ENOENT;
	}
	client_reply(c, REP_INFO);
	client_reply(c, REP_ACK);
	export_unref(e);
	return 0;
}

/* Opens an export; the client keeps the reference. */
static int negotiate_go(struct client *c, const struct option *o)
{
	struct export *e = export_find(o->name);	/* ACCEPTED */
	int ret;

	if (!e) {
		client_reply(c, REP_ERR_UNKNOWN);
		return -ENOENT;
	}
	if (o->write && (e->flags & EXPORT_RO)) {
		client_reply(c, REP_ERR_POLICY);
		ret = -EROFS;
		goto fail;
	}
	if (e->nclients > 0 && !(e->flags & EXPORT_MULTI)) {
		client_reply(c, REP_ERR_POLICY);
		ret = -EBUSY;
		goto fail;
	}
	if (o->block && (o->block < e->min_block || (o->block & (o->block - 1)))) {
		client_reply(c, REP_ERR_INVALID);	/* ACCEPTED */
#ifdef BUG
		return -EINVAL;	/* GUILTY */
#else
		ret = -EINVAL;
		goto fail;
#endif
	}
	c->exp = e;
	c->block = o->block ? o->block : e->min_block;
	c->write = o->write;
	e->nclients++;
	client_reply(c, REP_INFO);
	client_reply(c, REP_ACK);
	return 0;
fail:
	export_unref(e);
	return ret;
}

static int client_negotiate(struct client *c, const struct option *opts, int n)
{
	for (int i = 0; i < n; i++) {
		const struct option *o = &opts[i];

		if (strcmp(o->op, "list") == 0)
			negotiate_list(c);
		else if (strcmp(o->op, "info") == 0)
			negotiate_info(c, o);
		else if (strcmp(o->op, "go") == 0) {
			if (negotiate_go(c, o) == 0)
				return 0;
		} else
			return -ECONNABORTED;
	}
	return -ECONNRESET;
}

static int client_request(struct client *c, const struct request *r)
{
	struct export *e = c->exp;

	if (r->from % c->block || r->len % c->block || r->from + r->len > e->size)
		return -EINVAL;
	if (r->type == 'w') {
		if (!c->write)
			return -EPERM;
		memset(e->data + r->from, c->fd, r->len);
	}
	return (int)r->len;
}

static void client_close(struct client *c)
{
	if (c->exp) {
		c->exp->nclients--;
		export_unref(c->exp);
		c->exp = NULL;
	}
}

static const struct request requests[] = {
	{ 'r', 0, 4096 }, { 'w', 4096, 8192 }, { 'r', 512, 512 }, { 'w', 0, 4096 }, { 'r', 65536, 4096 },
};

static const struct option sessions[][4] = {
	{ { "list", 0, 0, 0 }, { "go", "root", 4096, true } },
	{ { "go", "iso", 0, true }, { "go", "iso", 0, false } },
	{ { "info", "scratch", 0, 0 }, { "go", "scratch", 512, true }, { "go", "scratch", 4096, true } },
	{ { "go", "nothere", 0, false }, { "abort", 0, 0, 0 } },
	{ { "go", "root", 4096, true }, { "list", 0, 0, 0 } },
	{ { "go", "iso", 3000, false }, { "go", "iso", 2048, false } },
	{ { "info", "iso", 0, 0 }, { "go", "home", 0, true } },
};

#define NSESSIONS ((int)(sizeof(sessions) / sizeof(sessions[0])))

int main(void)
{
	struct client clients[NSESSIONS];
	uint64_t moved = 0;
	int refused = 0;

	export_publish(export_new("root", 65536, 512, 0));
	export_publish(export_new("iso", 32768, 2048, EXPORT_RO | EXPORT_MULTI));
	export_publish(export_new("scratch", 16384, 4096, EXPORT_MULTI));
	export_publish(export_new("home", 65536, 512, EXPORT_MULTI));

	for (int i = 0; i < NSESSIONS; i++) {
		struct client *c = &clients[i];
		int n = 0;

		memset(c, 0, sizeof(*c));
		c->fd = 10 + i;
		while (n < 4 && sessions[i][n].op)
			n++;
		if (client_negotiate(c, sessions[i], n) < 0)
			refused++;
	}
	export_withdraw("scratch");	/* stays for those that have it open */
	for (int i = 0; i < NSESSIONS; i++) {
		for (unsigned k = 0; clients[i].exp && k < sizeof(requests) / sizeof(requests[0]); k++) {
			int ret = client_request(&clients[i], &requests[k]);

			if (ret > 0)
				moved += (uint64_t)ret;
		}
		client_close(&clients[i]);
	}
	while (exports)
		export_withdraw(exports->name);
	printf("%d refused, %llu bytes, %u exports gone\n", refused, (unsigned long long)moved, nexports_freed);
	return 0;
}
