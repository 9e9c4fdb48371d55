/* summary: saturating 6-bit counter above two flag bits in one byte: who is counted 63 times is never freed, gets and puts then leave it alone; symbols are found by 32-bit compressed pointers into an arena, reborn in place from free lists, kept in a global table at exit
 * track: own
 * build: gcc -O3 -g -Wall sym_saturate.c -o OUT
 */
/*
 * sym_saturate - word statistics with interned symbols.
 *
 * Symbols must be small, so the counter has six bits.  A symbol that had 63
 * owners once is a common word, and stays for good (it is "sticky").  All
 * symbols lie in one arena; a reference is the 32-bit distance from its base,
 * in units of eight bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define F_UPPER 1
#define F_SEEN  2
#define ONE     4
#define STICKY  63

struct sym {
	uint8_t word;           /* count << 2 | flags */
	uint8_t length;
	uint16_t hash;
	uint32_t next;          /* in its bucket, or in the list of free ones */
	char text[];
};

typedef uint32_t symref;        /* compressed pointer; 0 is none */

#define BUCKETS 64
static unsigned char *arena;
static uint32_t arena_used = 1, arena_units = 8192;
static symref buckets[BUCKETS], free_syms[8];   /* by size, in units */
static long born, reused, died, sticky;

static struct sym *sym_at(symref r)
{
	return (struct sym *)(arena + (size_t)r * 8);
}

static symref sym_ref(const struct sym *s)
{
	return (symref)(((const unsigned char *)s - arena) / 8);
}

static uint32_t units_of(size_t length)
{
	return (uint32_t)((sizeof(struct sym) + length + 1 + 7) / 8);
}

static uint16_t hash_of(const char *s, size_t n)
{
	unsigned h = 5381;
	while (n--)
		h = h * 33 ^ (unsigned char)*s++;
	return (uint16_t)h;
}

__attribute__((noinline)) static struct sym *sym_new(const char *text, size_t length, uint16_t hash)
{
	uint32_t units = units_of(length);
	struct sym *s;

	if (free_syms[units]) {
		s = sym_at(free_syms[units]);
		free_syms[units] = s->next;
		reused++;
	} else {
		if (arena_used + units > arena_units)
			abort();
		s = sym_at(arena_used);
		arena_used += units;
	}
	s->word = ONE | (text[0] >= 'A' && text[0] <= 'Z' ? F_UPPER : 0);
	s->length = (uint8_t)length;
	s->hash = hash;
	memcpy(s->text, text, length);
	s->text[length] = 0;
	s->next = buckets[hash % BUCKETS];
	buckets[hash % BUCKETS] = sym_ref(s);
	born++;
	return s;
}

__attribute__((noinline)) static struct sym *sym_get(struct sym *s)
{
	if (s->word >> 2 < STICKY && ((s->word += ONE) >> 2) == STICKY)
		sticky++;
	return s;
}

static void sym_free(struct sym *s)
{
	symref *link = &buckets[s->hash % BUCKETS];
	while (sym_at(*link) != s)
		link = &sym_at(*link)->next;
	*link = s->next;
	uint32_t units = units_of(s->length);
	s->next = free_syms[units];
	free_syms[units] = sym_ref(s);
	died++;
}

__attribute__((noinline)) static void sym_put(struct sym *s)
{
	if (s->word >> 2 == STICKY)
		return;
	s->word -= ONE;
	if (s->word < ONE)
		sym_free(s);
}

/* A reference to the symbol with this text. */
static symref intern(const char *text, size_t length)
{
	uint16_t hash = hash_of(text, length);

	for (symref r = buckets[hash % BUCKETS]; r; r = sym_at(r)->next) {
		struct sym *s = sym_at(r);
		if (s->hash == hash && s->length == length && !memcmp(s->text, text, length)) {
			s->word |= F_SEEN;
			return sym_ref(sym_get(s));
		}
	}
	return sym_ref(sym_new(text, length, hash));
}

/* ---- documents ---------------------------------------------------------- */

struct doc {
	int count;
	symref words[400];
};

static void doc_read(struct doc *d, unsigned *seed)
{
	static const char *const common[] = { "the", "of", "and", "to", "in" };
	static const char *const rare[] = { "Quince", "otter", "lagoon", "Brass", "violet", "sextant", "meadow" };

	d->count = 0;
	for (int i = 0; i < 320; i++) {
		char word[40];
		int r = rand_r(seed) % 10;
		if (r < 5)
			snprintf(word, sizeof word, "%s", common[rand_r(seed) % 5 * (rand_r(seed) % 2)]);
		else if (r < 9)
			snprintf(word, sizeof word, "%s", rare[rand_r(seed) % 7]);
		else
			snprintf(word, sizeof word, "n%d", rand_r(seed) % 400);
		d->words[d->count++] = intern(word, strlen(word));
	}
}

/* Doubles are dropped: a document keeps each word once. */
static void doc_squeeze(struct doc *d)
{
	int kept = 0;
	for (int i = 0; i < d->count; i++) {
		int known = 0;
		for (int k = 0; k < kept && !known; k++)
			known = d->words[k] == d->words[i];
		if (known)
			sym_put(sym_at(d->words[i]));
		else
			d->words[kept++] = d->words[i];
	}
	d->count = kept;
}

static void doc_drop(struct doc *d)
{
	while (d->count)
		sym_put(sym_at(d->words[--d->count]));
}

int main(void)
{
	struct doc docs[6] = { { 0 } };
	unsigned seed = 11;

	arena = aligned_alloc(16, (size_t)arena_units * 8);
	for (int round = 0; round < 30; round++) {
		struct doc *d = &docs[rand_r(&seed) % 6];
		doc_drop(d);
		doc_read(d, &seed);
		if (round % 3)
			doc_squeeze(d);
		if (round % 7 == 6) {   /* moved with everything it owns */
			struct doc *to = &docs[(d - docs + 1) % 6];
			doc_drop(to);
			memcpy(to, d, sizeof *to);
			d->count = 0;
		}
	}
	for (int i = 0; i < 6; i++)
		doc_drop(&docs[i]);

	int left = 0, not_sticky = 0;
	for (int b = 0; b < BUCKETS; b++)
		for (symref r = buckets[b]; r; r = sym_at(r)->next) {
			left++;
			not_sticky += sym_at(r)->word >> 2 != STICKY;
		}
	printf("%ld born (%ld in old places), %ld died, %ld sticky, %d left\n", born, reused, died, sticky, left);
	return left != sticky || not_sticky || born - died != left;
}
