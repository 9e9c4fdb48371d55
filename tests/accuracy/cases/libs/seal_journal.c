/* summary: journal_write() frees only the base64 filter when a record is refused, and the reference to the sink that the chain had is lost
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: openssl
 * packages: openssl
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "BIO_free instead of BIO_free_all in an error path"
 */
/*
 * Journals of sealed records: every record is a line of base64 with a digest.
 * A journal's sink is a BIO that the journal shares with the filters of the
 * record that is being written, and with the spool that sends it away.
 */
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOURNALS 14
#define MAX_RECORD 96

struct journal {
	char name[16];
	BIO *sink;		/* owned */
	unsigned records, refused;
};

struct spool {
	BIO *sinks[2 * JOURNALS];	/* owned */
	unsigned n;
};

static struct journal *journal_open(const char *stem, int i)
{
	struct journal *j = calloc(1, sizeof *j);

	if (!j)
		abort();
	snprintf(j->name, sizeof j->name, "%s%02d", stem, i);
	j->sink = BIO_new(BIO_s_mem());
	return j;
}

static void journal_close(struct journal *j)
{
	BIO_free(j->sink);
	free(j);
}

/* SHA-256 of the record, the first bytes of which seal it. */
static int digest_of(const void *data, size_t len, unsigned char out[EVP_MAX_MD_SIZE])
{
	BIO *md = BIO_new(BIO_f_md());
	BIO *chain = BIO_push(md, BIO_new(BIO_s_null()));
	int n = -1;

	BIO_set_md(md, EVP_sha256());
	if (BIO_write(chain, data, (int)len) == (int)len)
		n = BIO_gets(md, (char *)out, EVP_MAX_MD_SIZE);
	BIO_free_all(chain);
	return n;
}

/* Record: digest (8 bytes), length, text. */
static int put_record(BIO *out, const char *text, size_t len)
{
	unsigned char md[EVP_MAX_MD_SIZE], head[10];

	if (len > MAX_RECORD || digest_of(text, len, md) < 8)
		return 0;
	memcpy(head, md, 8);
	head[8] = (unsigned char)(len >> 8);
	head[9] = (unsigned char)len;
	if (BIO_write(out, head, sizeof head) != (int)sizeof head)
		return 0;
	if (BIO_write(out, text, (int)len) != (int)len)
		return 0;
	return BIO_flush(out) == 1;
}

static int journal_write(struct journal *j, const char *text)
{
	BIO *b64 = BIO_new(BIO_f_base64());
	BIO *chain;

	if (!b64)
		return 0;
	BIO_set_flags(b64, BIO_FLAGS_BASE64_NO_NL);
	BIO_up_ref(j->sink);	/* ACCEPTED */
	chain = BIO_push(b64, j->sink);
	if (!put_record(chain, text, strlen(text))) {
		j->refused++;
#ifdef BUG
		BIO_free(chain);	/* GUILTY */
#else
		BIO_free_all(chain);
#endif
		return 0;
	}
	BIO_puts(j->sink, "\n");
	j->records++;
	BIO_free_all(chain);
	return 1;
}

static void journal_note(struct journal *j, const char *fmt, int value)
{
	char line[MAX_RECORD];

	snprintf(line, sizeof line, fmt, value);
	journal_write(j, line);
}

/* The spool keeps a sink even after its journal was closed. */
static void spool_add(struct spool *s, struct journal *j)
{
	BIO_up_ref(j->sink);
	s->sinks[s->n++] = j->sink;
}

/* Reads lines back and checks the seals. */
static int verify_line(const char *line, int len)
{
	BIO *b64 = BIO_new(BIO_f_base64());
	BIO *chain = BIO_push(b64, BIO_new_mem_buf(line, len));
	unsigned char raw[MAX_RECORD + 10], md[EVP_MAX_MD_SIZE];
	int n, ok = 0;

	BIO_set_flags(b64, BIO_FLAGS_BASE64_NO_NL);
	n = BIO_read(chain, raw, sizeof raw);
	if (n >= 10) {
		size_t size = (size_t)raw[8] << 8 | raw[9];

		ok = size == (size_t)n - 10 && digest_of(raw + 10, size, md) >= 8 &&
		     memcmp(md, raw, 8) == 0;
	}
	BIO_free_all(chain);
	return ok;
}

static void spool_send(struct spool *s, unsigned *good, unsigned *bad, unsigned long *bytes)
{
	for (unsigned i = 0; i < s->n; i++) {
		char line[512];
		int len;

		while ((len = BIO_gets(s->sinks[i], line, sizeof line)) > 0) {
			*bytes += (unsigned long)len;
			if (line[len - 1] == '\n')
				len--;
			if (verify_line(line, len))
				++*good;
			else
				++*bad;
		}
		BIO_free(s->sinks[i]);
	}
	s->n = 0;
}

static void till_day(struct journal *j, int till)
{
	char item[160];

	journal_note(j, "open %d", till);
	for (int i = 0; i < 12; i++) {
		journal_note(j, "sale %d", 100 + i * till);
		if (i % 5 == 4)
			journal_note(j, "void %d", i);
	}
	if (till % 5 == 2) {	/* somebody typed a novel into the remark */
		memset(item, 'x', sizeof item - 1);
		item[sizeof item - 1] = '\0';
		journal_write(j, item);
	}
	journal_note(j, "close %d", till);
}

int main(void)
{
	struct journal *journals[JOURNALS];
	struct spool spool = { .n = 0 };
	unsigned good = 0, bad = 0, records = 0, refused = 0;
	unsigned long bytes = 0;

	for (int i = 0; i < JOURNALS; i++) {
		journals[i] = journal_open(i % 2 ? "bar" : "shop", i);
		till_day(journals[i], i);
	}
	for (int i = 0; i < JOURNALS; i++) {
		if (i % 3 != 1)
			spool_add(&spool, journals[i]);
		records += journals[i]->records;
		refused += journals[i]->refused;
	}
	for (int i = 0; i < JOURNALS; i += 2)
		journal_close(journals[i]);
	spool_send(&spool, &good, &bad, &bytes);
	for (int i = 1; i < JOURNALS; i += 2)
		journal_close(journals[i]);
	printf("%u records, %u refused\n", records, refused);
	printf("sent %u good, %u bad, %lu bytes\n", good, bad, bytes);
	return bad ? 1 : 0;
}
