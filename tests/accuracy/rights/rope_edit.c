/* summary: shared immutable nodes, an undo array, a pool, freeing by a dying list, alloca, roots through a pipe to a thread, fork for checkpoints, text and history alive at the end
 * track: own
 * build: gcc -O2 -g -o OUT rope_edit.c -pthread
 */
/*
 * rope_edit: the text storage of an editor.  Text is a rope of immutable,
 * counted nodes; versions share whatever did not change, the undo history is
 * an array of roots, a thread saves versions it gets over a pipe, and crash
 * checkpoints are written by a forked child from its copy of the memory.
 */
#include <alloca.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { LEAF, SLICE, CAT };

struct node {
	atomic_uint refs;
	uint8_t kind, depth;
	size_t len;
	struct node *next;		/* free list, or list of the dying */
	union {
		struct { struct node *left, *right; } cat;
		struct { struct node *base; const char *text; } slice;
		char text[16];		/* leaves may be longer than this */
	} u;
};
#define MIN_LEAF 24			/* shorter neighbours are merged */
#define MAX_DEPTH 14

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *pool;		/* fixed-size nodes to be used again */

static struct node *
node_alloc(enum kind kind, size_t len, size_t extra)
{
	struct node *n = NULL;

	if (extra == 0) {
		pthread_mutex_lock(&pool_lock);
		if ((n = pool) != NULL)
			pool = n->next;
		pthread_mutex_unlock(&pool_lock);
	}
	if (n == NULL && (n = malloc(sizeof *n + extra)) == NULL)
		abort();
	atomic_init(&n->refs, 1);
	n->kind = kind;
	n->depth = 0;
	n->len = len;
	n->next = NULL;			/* stays so until it dies */
	return n;
}

static struct node *
node_ref(struct node *n)
{
	if (n != NULL)
		atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
	return n;
}

static int
node_dec(struct node *n)
{
	return n != NULL && atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) == 1;
}

/* Ropes get deep, so the dying are kept on a list instead of recursing. */
static void
node_unref(struct node *n)
{
	struct node *dying = node_dec(n) ? n : NULL;

	while ((n = dying) != NULL) {
		struct node *below[2] = { NULL, NULL };

		dying = n->next;
		if (n->kind == CAT) {
			below[0] = n->u.cat.left;
			below[1] = n->u.cat.right;
		} else if (n->kind == SLICE) {
			below[0] = n->u.slice.base;
		}
		for (int i = 0; i < 2; i++)
			if (node_dec(below[i])) {
				below[i]->next = dying;
				dying = below[i];
			}
		if (n->kind == LEAF && n->len > sizeof n->u.text) {
			free(n);
		} else {
			pthread_mutex_lock(&pool_lock);
			n->next = pool;
			pool = n;
			pthread_mutex_unlock(&pool_lock);
		}
	}
}

static const char *
node_text(const struct node *n)
{
	return n->kind == LEAF ? n->u.text : n->u.slice.text;
}

static struct node *
leaf_new(const char *text, size_t len)
{
	struct node *n = node_alloc(LEAF, len, len > sizeof n->u.text ? len - sizeof n->u.text : 0);

	memcpy(n->u.text, text, len);
	return n;
}

/* Both references go into the result. */
static struct node *
cat(struct node *left, struct node *right)
{
	struct node *n;

	if (left == NULL || right == NULL)
		return left ? left : right;
	if (left->kind != CAT && right->kind != CAT && left->len + right->len < MIN_LEAF) {
		char *both = alloca(left->len + right->len);

		memcpy(both, node_text(left), left->len);
		memcpy(both + left->len, node_text(right), right->len);
		n = leaf_new(both, left->len + right->len);
		node_unref(left);
		node_unref(right);
		return n;
	}
	n = node_alloc(CAT, left->len + right->len, 0);
	n->depth = (uint8_t)(1 + (left->depth > right->depth ? left->depth : right->depth));
	n->u.cat.left = left;
	n->u.cat.right = right;
	return n;
}

/* A new reference to the part [from, to); the argument is only looked at. */
static struct node *
part(struct node *n, size_t from, size_t to)
{
	if (n == NULL || from >= to)
		return NULL;
	if (from == 0 && to == n->len)
		return node_ref(n);
	if (n->kind == CAT) {
		size_t mid = n->u.cat.left->len;
		struct node *left = from < mid ? part(n->u.cat.left, from, to < mid ? to : mid) : NULL;
		struct node *right = to > mid ? part(n->u.cat.right, from > mid ? from - mid : 0, to - mid) : NULL;

		return cat(left, right);
	}
	if (to - from < 8)
		return leaf_new(node_text(n) + from, to - from);

	struct node *base = n->kind == SLICE ? n->u.slice.base : n;
	struct node *slice = node_alloc(SLICE, to - from, 0);

	slice->u.slice.base = node_ref(base);
	slice->u.slice.text = node_text(n) + from;
	return slice;
}

struct leaves { struct node **list; size_t n, size; };

static void
collect(struct leaves *all, struct node *n)
{
	for (; n->kind == CAT; n = n->u.cat.right)
		collect(all, n->u.cat.left);
	if (all->n == all->size) {
		all->size = all->size ? all->size * 2 : 16;
		all->list = realloc(all->list, all->size * sizeof *all->list);
		if (all->list == NULL)
			abort();
	}
	all->list[all->n++] = node_ref(n);
}

static struct node *
build(struct node **list, size_t n)
{
	return n == 1 ? list[0] : cat(build(list, n / 2), build(list + n / 2, n - n / 2));
}

static struct node *
balance(struct node *root)
{
	struct leaves all = { 0 };

	if (root == NULL || root->depth <= MAX_DEPTH)
		return root;
	collect(&all, root);
	node_unref(root);
	root = build(all.list, all.n);
	free(all.list);
	return root;
}

static uint32_t
checksum(const struct node *n, uint32_t sum)
{
	for (; n != NULL && n->kind == CAT; n = n->u.cat.right)
		sum = checksum(n->u.cat.left, sum);
	for (size_t i = 0; n != NULL && i < n->len; i++)
		sum = (sum ^ (uint8_t)node_text(n)[i]) * 16777619u;
	return sum;
}

/* ---- the buffer and its history ------------------------------------------ */

struct buffer {
	struct node *root;
	struct node **undo;
	int n_undo, size_undo, saving;
	struct node *kill;		/* what was cut last */
};

static struct buffer current;

static void
buffer_edit(struct buffer *b, size_t from, size_t to, struct node *insert)
{
	struct node *old = b->root;
	size_t len = old ? old->len : 0;

	if (b->n_undo == 40) {		/* forget the older half */
		for (int i = 0; i < 20; i++)
			node_unref(b->undo[i]);
		memmove(b->undo, b->undo + 20, 20 * sizeof *b->undo);
		b->n_undo = 20;
	} else if (b->n_undo == b->size_undo) {
		b->size_undo += 8;
		b->undo = realloc(b->undo, (size_t)b->size_undo * sizeof *b->undo);
		if (b->undo == NULL)
			abort();
	}
	b->undo[b->n_undo++] = old;
	if (from < to)
		node_unref(b->kill), b->kill = part(old, from, to);
	b->root = balance(cat(cat(part(old, 0, from), insert), part(old, to, len)));
}

static void
buffer_undo(struct buffer *b)
{
	if (b->n_undo == 0)
		return;
	node_unref(b->root);
	b->root = b->undo[--b->n_undo];
}

/* ---- saving --------------------------------------------------------------- */

static int to_saver[2], from_saver[2];
static struct node *saved;		/* kept to tell whether the text is modified */

static void *
saver(void *arg)
{
	struct node *version;
	uint32_t *sum = arg;

	while (read(to_saver[0], &version, sizeof version) == (ssize_t)sizeof version) {
		*sum = checksum(version, *sum);
		node_unref(saved);
		saved = version;
		if (write(from_saver[1], "", 1) != 1)
			abort();
	}
	return NULL;
}

static void
save(struct buffer *b)
{
	struct node *version = node_ref(b->root);

	if (write(to_saver[1], &version, sizeof version) == (ssize_t)sizeof version)
		b->saving++;
	else
		node_unref(version);
}

/* Waits for the saver first; the child takes no locks and frees nothing. */
static uint32_t
checkpoint(struct buffer *b)
{
	uint32_t sum = 0;
	int fds[2], status;
	pid_t pid;

	for (char c; b->saving > 0 && read(from_saver[0], &c, 1) == 1; b->saving--);
	if (pipe(fds) != 0 || (pid = fork()) < 0)
		return 0;
	if (pid == 0) {
		sum = checksum(b->root, 2166136261u);
		_exit(write(fds[1], &sum, sizeof sum) != (ssize_t)sizeof sum);
	}
	close(fds[1]);
	if (read(fds[0], &sum, sizeof sum) != (ssize_t)sizeof sum)
		sum = 0;
	close(fds[0]);
	waitpid(pid, &status, 0);
	return sum;
}

int
main(void)
{
	static const char *words[] = { "the ", "quick brown ", "fox jumps over the lazy dog, ", "and ", "ran\n" };
	uint32_t saved_sum = 2166136261u, check;
	unsigned seed = 12345;
	pthread_t thread;

	if (pipe(to_saver) != 0 || pipe(from_saver) != 0 || pthread_create(&thread, NULL, saver, &saved_sum) != 0)
		return 1;
	for (int i = 0; i < 600; i++) {
		size_t len = current.root ? current.root->len : 0, at = len ? (seed >> 8) % len : 0;

		seed = seed * 1103515245u + 12345u;
		if (i % 7 == 6) {
			buffer_undo(&current);
		} else if (i % 5 == 4 && len > 60) {
			buffer_edit(&current, at / 2, at / 2 + 20, NULL);
		} else if (i % 11 == 10) {
			buffer_edit(&current, at, at, node_ref(current.kill));	/* paste */
		} else {
			const char *word = words[(seed >> 16) % 5];

			buffer_edit(&current, at, at, leaf_new(word, strlen(word)));
		}
		if (i % 50 == 49)
			save(&current);
	}
	check = checkpoint(&current);
	close(to_saver[1]);
	pthread_join(thread, NULL);
	printf("length %zu depth %s saved %08x checkpoint %s\n", current.root->len, current.root->depth <= MAX_DEPTH ? "fine" : "bad",
	    (unsigned)saved_sum, check == checksum(current.root, 2166136261u) ? "good" : "bad");
	while (current.n_undo > 10)
		buffer_undo(&current);
	printf("after undoing %zu\n", current.root->len);
	return 0;		/* text, history and pool stay: the editor is leaving */
}
