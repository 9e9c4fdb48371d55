/* summary: sieve_apply() goes on to the next rule when the folder is over its quota, without giving back the folder that it borrowed from the store
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: own
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * mailsieve: sort a day's mail into folders.
 *
 * Every rule names a folder; the store lends it out (folder_borrow) and wants
 * it back (folder_giveback).  A folder that the user removes disappears from
 * the store at once, and for good when the last borrower is through with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORE_SLOTS 17

typedef struct folder {
	char name[24];
	struct folder *chain;
	unsigned borrowed;	/* the store's own one included */
	unsigned messages, bytes, quota;
} folder;

typedef struct {
	const char *header, *needle, *folder;
	enum { FILE_INTO, COPY_INTO, DISCARD } action;
} rule;

typedef struct {
	char from[16], subject[32], list[16];
	unsigned bytes;
} mail;

static folder *store[STORE_SLOTS];
static unsigned overquota, filed, discarded, inboxed;

static unsigned
slot(const char *s)
{
	unsigned h = 5381;
	while (*s)
		h = h * 33 ^ (unsigned char)*s++;
	return h % STORE_SLOTS;
}

__attribute__((noinline)) static folder *
folder_create(const char *name, unsigned quota)
{
	folder *f = calloc(1, sizeof *f);
	unsigned h = slot(name);

	if (f == NULL)
		exit(2);
	snprintf(f->name, sizeof f->name, "%s", name);
	f->quota = quota;
	f->borrowed = 1;
	f->chain = store[h];
	store[h] = f;
	return f;
}

__attribute__((noinline)) static void
folder_giveback(folder *f)
{
	if (f != NULL && --f->borrowed == 0)
		free(f);
}

__attribute__((noinline)) static folder *
folder_borrow(const char *name)
{
	folder *f;

	for (f = store[slot(name)]; f != NULL; f = f->chain)
		if (strcmp(f->name, name) == 0) {
			f->borrowed++;
			break;
		}
	return f;
}

static int
folder_remove(const char *name)
{
	folder **pp = &store[slot(name)], *f;

	while ((f = *pp) != NULL && strcmp(f->name, name) != 0)
		pp = &f->chain;
	if (f == NULL)
		return -1;
	*pp = f->chain;
	folder_giveback(f);
	return 0;
}

static int
matches(const rule *r, const mail *m)
{
	const char *where = r->header[0] == 'f' ? m->from
	    : r->header[0] == 's' ? m->subject : m->list;
	return strstr(where, r->needle) != NULL;
}

/* Returns the number of folders that the mail went into. */
static int
sieve_apply(const rule *rules, size_t n, const mail *m)
{
	int into = 0;

	for (const rule *r = rules; r < rules + n; r++) {
		folder *f;

		if (!matches(r, m))
			continue;
		if (r->action == DISCARD) {
			discarded++;
			return into;
		}
		f = folder_borrow(r->folder);	/* ACCEPTED */
		if (f == NULL)
			continue;		/* removed meanwhile */
		if (f->bytes + m->bytes > f->quota) {
			overquota++;
#ifdef BUG
			continue;		/* GUILTY */
#else
			folder_giveback(f);
			continue;
#endif
		}
		f->messages++;
		f->bytes += m->bytes;
		filed++;
		into++;
		folder_giveback(f);
		if (r->action == FILE_INTO)
			break;
	}
	return into;
}

static const rule rules[] = {
	{ "subject", "[SPAM]", NULL, DISCARD },
	{ "list", "kernel", "lists/kernel", FILE_INTO },
	{ "list", "postfix", "lists/postfix", FILE_INTO },
	{ "from", "boss", "urgent", COPY_INTO },
	{ "from", "boss", "work", FILE_INTO },
	{ "from", "shop", "receipts", FILE_INTO },
	{ "subject", "invoice", "receipts", COPY_INTO },
	{ "subject", "build", "ci", FILE_INTO },
};

static unsigned seed = 20;

static unsigned
rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 12) % n;
}

static void
receive(mail *m)
{
	static const char *from[] = { "boss@work", "shop@mail", "ann@home", "list@host" };
	static const char *list[] = { "", "", "kernel", "postfix" };
	static const char *subject[] = { "hello", "invoice 12", "build failed", "[SPAM] win", "Re: hello" };

	memset(m, 0, sizeof *m);
	strcpy(m->from, from[rnd(4)]);
	strcpy(m->list, list[rnd(4)]);
	strcpy(m->subject, subject[rnd(5)]);
	m->bytes = 200 + rnd(3000);
}

int
main(void)
{
	static const char *all[] = { "urgent", "work", "receipts", "ci", "lists/kernel", "lists/postfix" };
	static const unsigned quota[] = { 20000, 400000, 30000, 400000, 60000, 900000 };
	mail m;

	for (size_t i = 0; i < 6; i++)
		folder_create(all[i], quota[i]);
	for (int day = 0; day < 200; day++) {
		receive(&m);
		if (sieve_apply(rules, sizeof rules / sizeof rules[0], &m) == 0)
			inboxed++;
		if (day == 150)
			folder_remove("ci");
	}
	for (size_t i = 0; i < 6; i++) {
		folder *f = folder_borrow(all[i]);
		if (f == NULL)
			continue;
		printf("%-14s %3u mails %6u bytes\n", f->name, f->messages, f->bytes);
		folder_giveback(f);
		folder_remove(all[i]);
	}
	printf("filed %u, over quota %u, discarded %u, inbox %u\n", filed, overquota, discarded, inboxed);
	return 0;
}
