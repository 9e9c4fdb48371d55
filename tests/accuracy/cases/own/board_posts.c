/* summary: board_unwatch() only looks at the newest entry of the bucket, so that the board goes on holding a withdrawn post which has a newer one above it
 * kind: held
 * counts: surplus
 * objects: 4
 * track: auto
 * build: gcc -O0 -g
 * exit: 0
 * source: bug class "removal from a hash table does not think of collisions"
 */
/*
 * A notice board: posts are attached to by readers, by drafts and by the board's
 * watch list, which lets them go when they are too old or withdrawn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 16
#define FOREVER 1000000

struct post {
	int id;
	int born;
	int views;
	int nusers;
	char *text;
};

struct watch {
	struct watch *next;
	struct post *post;
	int until;
};

static struct watch *board[BUCKETS];
static int today;
static struct {
	int written, gone, dropped, withdrawn, read;
} stats;

static struct post *attach(struct post *p)
{
	p->nusers++;
	return p;
}

static void detach(struct post *p)
{
	if (--p->nusers == 0) {
		stats.gone++;
		free(p->text);
		free(p);
	}
}

static struct post *post_write(const char *text)
{
	struct post *p = calloc(1, sizeof *p);

	if (!p || !(p->text = malloc(strlen(text) + 12)))
		abort();
	p->id = ++stats.written;
	p->born = today;
	p->nusers = 1;
	sprintf(p->text, "%s %d", text, p->id);
	return p;
}

static void board_watch(struct post *p, int days)
{
	struct watch *w = malloc(sizeof *w);

	if (!w)
		abort();
	w->post = attach(p);	/* ACCEPTED */
	w->until = days ? today + days : FOREVER;
	w->next = board[p->id % BUCKETS];
	board[p->id % BUCKETS] = w;
}

static struct post *board_find(int id)
{
	for (struct watch *w = board[id % BUCKETS]; w; w = w->next)
		if (w->post->id == id)
			return attach(w->post);
	return NULL;
}

static void watch_drop(struct watch **where)
{
	struct watch *w = *where;

	*where = w->next;
	detach(w->post);
	free(w);
	stats.dropped++;
}

/* Its author takes it back. */
static void board_unwatch(int id)
{
	struct watch **p = &board[id % BUCKETS];

#ifndef BUG
	while (*p && (*p)->post->id != id)
		p = &(*p)->next;
#endif
	if (*p && (*p)->post->id == id)	/* GUILTY */
		watch_drop(p);
	stats.withdrawn++;
}

static void board_expire(void)
{
	for (int b = 0; b < BUCKETS; b++) {
		struct watch **p = &board[b];

		while (*p) {
			if ((*p)->until <= today)
				watch_drop(p);
			else
				p = &(*p)->next;
		}
	}
}

/* Readers have a pile of posts to read. */
struct reader {
	struct post *pile[6];
	int count;
};

static void reader_take(struct reader *r, int id)
{
	struct post *p = board_find(id);

	if (!p)
		return;
	if (r->count == 6) {
		detach(p);
		return;
	}
	r->pile[r->count++] = p;
}

static void reader_read(struct reader *r)
{
	while (r->count) {
		struct post *p = r->pile[--r->count];

		p->views++;
		stats.read++;
		detach(p);
	}
}

static void write_posts(int n, int days)
{
	for (int i = 0; i < n; i++) {
		struct post *p = post_write(days ? "meeting" : "for sale");

		board_watch(p, days);
		detach(p);
	}
}

/* A draft that nobody ever sees. */
static void write_draft(void)
{
	struct post *p = post_write("draft");

	p->views++;
	detach(p);
}

static void pass_days(int n)
{
	while (n--) {
		today++;
		board_expire();
	}
}

int main(void)
{
	struct reader readers[3];

	memset(readers, 0, sizeof readers);
	write_posts(10, 0);		/* 1 to 10, for as long as their authors like */
	write_posts(20, 9);		/* 11 to 30 */
	for (int i = 0; i < 3; i++)
		for (int k = 1; k < 8; k++)
			reader_take(&readers[i], k * (i + 2));
	pass_days(3);
	write_draft();
	reader_read(&readers[0]);
	for (int id = 2; id <= 8; id += 2)
		board_unwatch(id);
	pass_days(9);
	write_posts(11, 7);		/* 32 to 42 */
	for (int i = 0; i < 10; i++)
		write_draft();
	for (int i = 0; i < 4; i++)
		reader_take(&readers[1], 34 + i);
	pass_days(8);
	reader_read(&readers[1]);
	for (int id = 1; id <= 9; id += 2)
		board_unwatch(id);
	board_unwatch(10);
	write_posts(6, 2);
	reader_take(&readers[2], 55);
	pass_days(3);
	reader_read(&readers[2]);
	printf("day %d: %d written, %d withdrawn, %d read\n", today, stats.written,
	       stats.withdrawn, stats.read);
	return 0;
}
