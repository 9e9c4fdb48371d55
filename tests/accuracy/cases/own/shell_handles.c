/* summary: the command "stat" puts an object that table_peek() only lent, as the other commands do with what table_take() gave them
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: auto
 * build: clang -O2 -g
 * exit: 0
 * source: bug class "put of a borrowed reference after a lookup"
 */
/*
 * The handles of a small command interpreter: text, counters and pipes, each
 * with a table of operations, in slots that can be duplicated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct obj;

struct obj_ops {
	const char *kind;
	long (*size)(const struct obj *o);
	int (*write)(struct obj *o, const char *word);
	void (*release)(struct obj *o);
};

struct obj {
	const struct obj_ops *ops;
	void *aux;
	int refcnt;
};

static int late_puts;

static void obj_init(struct obj *o, const struct obj_ops *ops)
{
	o->ops = ops;
	o->aux = NULL;
	o->refcnt = 1;
}

static struct obj *obj_get(struct obj *o)
{
	o->refcnt++;
	return o;
}

static void obj_put(struct obj *o)
{
	if (o->refcnt < 1) {
		late_puts++;
		return;
	}
	if (--o->refcnt == 0)
		o->ops->release(o);
}

/* Text */
struct text {
	struct obj obj;
	size_t len;
	char data[200];
};

static long text_size(const struct obj *o)
{
	return (long)((const struct text *)o)->len;
}

static int text_write(struct obj *o, const char *word)
{
	struct text *t = (struct text *)o;
	size_t n = strlen(word);

	if (t->len + n >= sizeof t->data)
		return -1;
	memcpy(t->data + t->len, word, n);
	t->len += n;
	return (int)n;
}

static void text_release(struct obj *o)
{
	free(o);
}

static const struct obj_ops text_ops = { "text", text_size, text_write, text_release };

/* Counter */
struct counter {
	struct obj obj;
	long value;
	long step;
};

static long counter_size(const struct obj *o)
{
	return ((const struct counter *)o)->value;
}

static int counter_write(struct obj *o, const char *word)
{
	struct counter *c = (struct counter *)o;

	c->value += word[0] == '-' ? -c->step : c->step;
	return 1;
}

static void counter_release(struct obj *o)
{
	free(o);
}

static const struct obj_ops counter_ops = { "counter", counter_size, counter_write, counter_release };

/* Pipe: what is written goes to another object, which it owns a reference of. */

struct pipe {
	struct obj obj;
	struct obj *target;
	long passed;
};

static long pipe_size(const struct obj *o)
{
	return ((const struct pipe *)o)->passed;
}

static int pipe_write(struct obj *o, const char *word)
{
	struct pipe *p = (struct pipe *)o;
	int n = p->target->ops->write(p->target, word);

	if (n > 0)
		p->passed += n;
	return n;
}

static void pipe_release(struct obj *o)
{
	struct pipe *p = (struct pipe *)o;

	obj_put(p->target);
	free(p);
}

static const struct obj_ops pipe_ops = { "pipe", pipe_size, pipe_write, pipe_release };

/* Handles */
#define SLOTS 80

static struct obj *slots[SLOTS];

static int table_install(struct obj *o)
{
	for (int i = 0; i < SLOTS; i++) {
		if (!slots[i]) {
			slots[i] = o;
			return i;
		}
	}
	obj_put(o);
	return -1;
}

/* Lent by the table. */
static struct obj *table_peek(int h)
{
	return h >= 0 && h < SLOTS ? slots[h] : NULL;
}

/* A reference for the caller. */
static struct obj *table_take(int h)
{
	struct obj *o = table_peek(h);

	return o ? obj_get(o) : NULL;
}

static void table_close(int h)
{
	struct obj *o = table_peek(h);

	if (!o)
		return;
	slots[h] = NULL;
	obj_put(o);
}

/* Commands */

static int cmd_new(char kind, int target)
{
	struct obj *o, *to;

	switch (kind) {
	case 't':
		o = calloc(1, sizeof(struct text));
		obj_init(o, &text_ops);
		return table_install(o);
	case 'c':
		o = calloc(1, sizeof(struct counter));
		obj_init(o, &counter_ops);
		((struct counter *)o)->step = 1 + target % 5;
		return table_install(o);
	case 'p':
		to = table_take(target);
		if (!to)
			return -1;
		o = calloc(1, sizeof(struct pipe));
		obj_init(o, &pipe_ops);
		((struct pipe *)o)->target = to;
		return table_install(o);
	}
	return -1;
}

static int cmd_dup(int h)
{
	struct obj *o = table_take(h);

	return o ? table_install(o) : -1;
}

static int cmd_write(int h, const char *word)
{
	struct obj *o = table_take(h);
	int n;

	if (!o)
		return -1;
	n = o->ops->write(o, word);
	obj_put(o);
	return n;
}

static long cmd_stat(int h)
{
	struct obj *o = table_peek(h);	/* ACCEPTED */
	long size;

	if (!o)
		return -1;
	size = o->ops->size(o);
	printf("%d: %s %ld\n", h, o->ops->kind, size);
#ifdef BUG
	obj_put(o);	/* GUILTY */
#endif
	return size;
}

int main(void)
{
	static const char *const words[] = { "alpha", "-beta", "gamma", "-delta", "eps" };
	int written = 0, failed = 0;
	long total = 0;

	for (int i = 0; i < 45; i++)
		cmd_new(i % 5 == 4 ? 'p' : i % 2 ? 'c' : 't', i % 5 == 4 ? i - 3 : i);
	for (int i = 0; i < 45; i += 3)
		cmd_dup(i);
	for (int i = 0; i < 200; i++) {
		if (cmd_write(i * 7 % 60, words[i % 5]) > 0)
			written++;
		else
			failed++;
	}
	for (int i = 30; i < 36; i++)
		table_close(i);
	total += cmd_stat(0);
	total += cmd_stat(21);
	total += cmd_stat(24);
	printf("%d written, %d failed, total %ld\n", written, failed, total);
	for (int i = 0; i < SLOTS; i++)
		table_close(i);
	if (late_puts)
		fprintf(stderr, "%d late puts\n", late_puts);
	return 0;
}
