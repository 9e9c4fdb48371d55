/* summary: piece_split() lets the second half point at the block of text without counting it
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: auto
 * build: gcc -O0 -g
 * exit: 0
 */
/*
 * Text of an editor as a list of pieces. A piece shows a part of a block;
 * blocks never change and are shared by pieces, of the text and the clipboard.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
	struct document *doc;
	size_t size;
	int refs;
	int serial;
	char text[80];
};

struct piece {
	struct piece *next;
	struct block *block;
	size_t start, len;
};

struct document {
	struct piece *pieces;
	size_t len;
	int nblocks, serials;
	int nedits;
};

struct clipboard {
	struct piece *pieces;
	size_t len;
};

/* ---- blocks ---- */

static struct block *block_new(struct document *doc, const char *text, size_t len)
{
	struct block *b = malloc(sizeof(*b));

	if (!b)
		abort();
	b->doc = doc;
	b->size = len;
	b->refs = 1;
	b->serial = ++doc->serials;
	memcpy(b->text, text, len);
	doc->nblocks++;
	return b;
}

static struct block *block_share(struct block *b)
{
	b->refs++;
	return b;
}

static void block_drop(struct block *b)
{
	b->refs--;
	if (b->refs == 0) {
		b->doc->nblocks--;
		free(b);
	}
}

/* ---- pieces ---- */

/* The piece takes over a reference to the block. */
static struct piece *piece_new(struct block *b, size_t start, size_t len)
{
	struct piece *p = malloc(sizeof(*p));

	if (!p)
		abort();
	p->next = NULL;
	p->block = b;
	p->start = start;
	p->len = len;
	return p;
}

static struct piece *piece_copy(const struct piece *p)
{
	return piece_new(block_share(p->block), p->start, p->len);
}

static void piece_free(struct piece *p)
{
	block_drop(p->block);
	free(p);
}

static void pieces_free(struct piece *p)
{
	struct piece *next;

	for (; p; p = next) {
		next = p->next;
		piece_free(p);
	}
}

/* Cuts a piece in two, both not empty. */
static void piece_split(struct piece *p, size_t at)
{
	struct piece *rest;

#ifdef BUG
	rest = piece_new(p->block, p->start + at, p->len - at);	/* GUILTY */
#else
	rest = piece_new(block_share(p->block), p->start + at, p->len - at);
#endif
	rest->next = p->next;
	p->next = rest;
	p->len = at;
}

/* ---- the text ---- */

/* Where a piece begins, or is made to begin, at the position. */
static struct piece **document_seek(struct document *doc, size_t pos)
{
	struct piece **pp = &doc->pieces;

	while (*pp && pos >= (*pp)->len) {
		pos -= (*pp)->len;
		pp = &(*pp)->next;
	}
	if (pos > 0 && *pp) {
		piece_split(*pp, pos);
		pp = &(*pp)->next;
	}
	return pp;
}

static void document_insert(struct document *doc, size_t pos, const char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		size_t n = len < sizeof(((struct block *)0)->text) ? len : sizeof(((struct block *)0)->text);
		struct piece **pp = document_seek(doc, pos);
		struct piece *p = piece_new(block_new(doc, text, n), 0, n);

		p->next = *pp;
		*pp = p;
		doc->len += n;
		pos += n;
		text += n;
		len -= n;
	}
	doc->nedits++;
}

static void document_delete(struct document *doc, size_t pos, size_t len)
{
	struct piece **from = document_seek(doc, pos), **to, *first, *last;

	if (!*from || len == 0)
		return;
	to = document_seek(doc, pos + len);
	first = *from;
	last = *to;
	if (first == last)
		return;
	*to = NULL;
	*from = last;
	doc->len -= len;
	doc->nedits++;
	pieces_free(first);
}

static void document_close(struct document *doc)
{
	pieces_free(doc->pieces);
	doc->pieces = NULL;
	doc->len = 0;
}

static unsigned document_sum(const struct document *doc)
{
	unsigned sum = 0;

	for (const struct piece *p = doc->pieces; p; p = p->next)
		for (size_t i = 0; i < p->len; i++)
			sum = sum * 31 + (unsigned char)p->block->text[p->start + i];
	return sum;
}

/* ---- clipboard ---- */

static void clipboard_clear(struct clipboard *clip)
{
	pieces_free(clip->pieces);
	clip->pieces = NULL;
	clip->len = 0;
}

/* Whole lines or words are copied in most cases; parts of a piece become
 * pieces of the clipboard, the text is not cut. */
static void clipboard_copy(struct clipboard *clip, const struct document *doc, size_t pos, size_t len)
{
	struct piece **tail = &clip->pieces;

	clipboard_clear(clip);
	for (const struct piece *p = doc->pieces; p && len > 0; p = p->next) {
		struct piece *copy;
		size_t n;

		if (pos >= p->len) {
			pos -= p->len;
			continue;
		}
		n = p->len - pos < len ? p->len - pos : len;
		copy = piece_copy(p);
		copy->start += pos;
		copy->len = n;
		*tail = copy;
		tail = &copy->next;
		clip->len += n;
		len -= n;
		pos = 0;
	}
}

static void clipboard_paste(const struct clipboard *clip, struct document *doc, size_t pos)
{
	struct piece **pp = document_seek(doc, pos);

	for (const struct piece *p = clip->pieces; p; p = p->next) {
		struct piece *copy = piece_copy(p);

		copy->next = *pp;
		*pp = copy;
		pp = &copy->next;
		doc->len += copy->len;
	}
	doc->nedits++;
}

int main(void)
{
	static const char *const lines[] = {
		"Dear customer,\n", "your order of last week is on its way to you.\n",
		"It should arrive within three days.\n", "Please keep the number of the parcel.\n",
		"With kind regards\n", "the shop\n",
	};
	struct document letter = { 0 };
	struct clipboard clip = { 0 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		document_insert(&letter, letter.len, lines[i]);
	document_insert(&letter, 5, "and honoured ");			/* customer */
	document_insert(&letter, letter.len - 5, "little ");		/* shop */
	document_insert(&letter, 0, "Order 1217\n");
	clipboard_copy(&clip, &letter, 0, 11);
	clipboard_paste(&clip, &letter, letter.len);
	document_insert(&letter, 60, "(no. 1217) ");			/* order */
	printf("%zu characters in %d blocks, %d edits, sum %x\n", letter.len, letter.nblocks, letter.nedits,
	       document_sum(&letter));
	document_delete(&letter, 0, 11);
	clipboard_clear(&clip);
	printf("%zu characters, %d edits, sum %x\n", letter.len, letter.nedits, document_sum(&letter));
	document_close(&letter);
	return 0;
}
