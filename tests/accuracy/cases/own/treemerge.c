/* summary: when both sides changed an entry and theirs is newer, dir_merge() puts their node into the merged directory without a reference
 * kind: missing-get
 * counts: deficit
 * objects: 10
 * track: own
 * build: clang-14 -O2 -g
 * exit: 0
 */
/*
 * treemerge - versions of a settings tree.  Nodes never change once they are
 * published: an edit copies the directories on its way and shares all the
 * rest, a version is no more than a root.  Versions may be read from any
 * thread, so the counters are atomic.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	char name[16];
	atomic_uint refs;
	unsigned stamp;			/* when it was written */
	long value;
	unsigned short is_dir, n, cap;
	struct node **ent;		/* sorted by name, a reference each */
};

struct version {
	const char *branch;
	struct node *root;
};

#define MAX_VERSIONS 24
static struct version versions[MAX_VERSIONS];
static unsigned n_versions, now;
static struct { unsigned ours_newer, theirs_newer; } merged;
static atomic_int n_live;

/* ---- nodes ------------------------------------------------------------ */

struct node *node_new(const char *name, size_t len, int is_dir)
{
	struct node *n = calloc(1, sizeof *n);

	if (!n)
		abort();
	snprintf(n->name, sizeof n->name, "%.*s", (int)len, name);
	atomic_init(&n->refs, 1);
	n->stamp = ++now;
	n->is_dir = is_dir;
	atomic_fetch_add(&n_live, 1);
	return n;
}

static inline struct node *node_get(struct node *n)
{
	atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
	return n;
}

__attribute__((noinline)) void node_put(struct node *n)
{
	if (atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned i = 0; i < n->n; i++)
		node_put(n->ent[i]);
	free(n->ent);
	free(n);
	atomic_fetch_sub(&n_live, 1);
}

/* Takes the reference to child over. */
static void dir_insert(struct node *dir, unsigned at, struct node *child)
{
	if (dir->n == dir->cap) {
		dir->cap = dir->cap ? dir->cap * 2 : 4;
		dir->ent = realloc(dir->ent, dir->cap * sizeof *dir->ent);
		if (!dir->ent)
			abort();
	}
	memmove(dir->ent + at + 1, dir->ent + at, (dir->n - at) * sizeof *dir->ent);
	dir->ent[at] = child;
	dir->n++;
}

static int dir_find(const struct node *dir, const char *name, size_t len, unsigned *at)
{
	int cmp = 1;

	for (*at = 0; *at < dir->n; ++*at) {
		cmp = strncmp(dir->ent[*at]->name, name, len);
		if (cmp == 0 && dir->ent[*at]->name[len])
			cmp = 1;
		if (cmp >= 0)
			break;
	}
	return cmp == 0;
}

/* Gives back a directory that nobody else sees, instead of the one given. */
static struct node *dir_writable(struct node *dir)
{
	struct node *copy;

	if (atomic_load_explicit(&dir->refs, memory_order_acquire) == 1)
		return dir;
	copy = node_new(dir->name, strlen(dir->name), 1);
	for (unsigned i = 0; i < dir->n; i++)
		dir_insert(copy, i, node_get(dir->ent[i]));
	node_put(dir);
	return copy;
}

/* ---- reading and editing ----------------------------------------------- */

static long tree_read(struct node *root, const char *path)
{
	struct node *n = node_get(root), *next;
	long val = -1;
	unsigned at;

	for (;;) {
		size_t len = strcspn(path, "/");

		if (!n->is_dir || !dir_find(n, path, len, &at))
			break;
		next = node_get(n->ent[at]);
		node_put(n);
		n = next;
		if (!path[len]) {
			val = n->value;
			break;
		}
		path += len + 1;
	}
	node_put(n);
	return val;
}

/* Consumes the reference to dir and returns one to the changed directory. */
static struct node *tree_write(struct node *dir, const char *path, long val)
{
	size_t len = strcspn(path, "/");
	struct node *leaf;
	unsigned at;
	int found;

	dir = dir_writable(dir);
	found = dir_find(dir, path, len, &at);
	if (path[len]) {
		if (!found)
			dir_insert(dir, at, node_new(path, len, 1));
		dir->ent[at] = tree_write(dir->ent[at], path + len + 1, val);
		return dir;
	}
	leaf = node_new(path, len, 0);
	leaf->value = val;
	if (found) {
		node_put(dir->ent[at]);
		dir->ent[at] = leaf;
	} else {
		dir_insert(dir, at, leaf);
	}
	return dir;
}

/* ---- merging ------------------------------------------------------------ */

/* Returns a new directory with the entries of both. */
static struct node *dir_merge(const struct node *a, const struct node *b)
{
	struct node *dir = node_new(a->name, strlen(a->name), 1);
	unsigned i = 0, j = 0;

	while (i < a->n || j < b->n) {
		struct node *x = i < a->n ? a->ent[i] : NULL;
		struct node *y = j < b->n ? b->ent[j] : NULL;
		struct node *pick;
		int cmp = !x ? 1 : !y ? -1 : strcmp(x->name, y->name);

		if (cmp < 0 || x == y) {
			pick = node_get(x);
		} else if (cmp > 0) {
			pick = node_get(y);
		} else if (x->is_dir && y->is_dir) {
			pick = dir_merge(x, y);
		} else if (x->stamp >= y->stamp) {
			merged.ours_newer++;
			pick = node_get(x);
		} else {
			merged.theirs_newer++;
#ifdef BUG
			pick = y;				/* GUILTY */
#else
			pick = node_get(y);
#endif
		}
		i += cmp <= 0;
		j += cmp >= 0;
		dir_insert(dir, dir->n, pick);			/* ACCEPTED */
	}
	return dir;
}

/* ---- versions ----------------------------------------------------------- */

/* Takes the reference to root over. */
static struct node *publish(const char *branch, struct node *root)
{
	if (n_versions == MAX_VERSIONS)
		abort();
	versions[n_versions].branch = branch;
	versions[n_versions].root = root;
	n_versions++;
	return root;
}

/* The newest version of a branch, with a reference. */
static struct node *checkout(const char *branch)
{
	for (unsigned i = n_versions; i-- > 0;)
		if (strcmp(versions[i].branch, branch) == 0)
			return node_get(versions[i].root);
	return NULL;
}

static void fork_branch(const char *from, const char *to)
{
	publish(to, checkout(from));
}

static void merge_branch(const char *ours, const char *theirs)
{
	struct node *a = checkout(ours), *b = checkout(theirs);

	publish(ours, dir_merge(a, b));
	node_put(a);
	node_put(b);
}

static void edit(const char *branch, const char *const *paths, unsigned n, long val)
{
	struct node *root = checkout(branch);

	for (unsigned i = 0; i < n; i++)
		root = tree_write(root, paths[i], val + i);
	/* a negative value anywhere is refused as a whole */
	if (tree_read(root, paths[n - 1]) < 0)
		node_put(root);
	else
		publish(branch, root);
}

#define EDIT(branch, val, ...) do {					\
		static const char *const paths[] = { __VA_ARGS__ };	\
		edit(branch, paths, sizeof paths / sizeof *paths, val);	\
	} while (0)

int main(void)
{
	static const char *const dirs[] = { "net", "disk", "users", "time", "print", "mail" };
	long sum = 0;
	char path[48];

	struct node *root = node_new("", 0, 1);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(path, sizeof path, "%s/%s%u", dirs[i % 6], i % 3 ? "opt" : "limits/max", i);
		root = tree_write(root, path, i * 10);
	}
	publish("main", root);

	fork_branch("main", "lab");
	EDIT("main", 100, "net/opt1", "net/opt7", "users/opt2", "lang");
	EDIT("lab", 200, "net/opt7", "disk/opt31", "users/opt2", "shell");
	merge_branch("main", "lab");
	EDIT("lab", 300, "time/limits/max3", "users/opt8", "mail/opt11");
	EDIT("lab", -1, "users/opt8");
	EDIT("main", 400, "users/opt8", "mail/opt17");
	fork_branch("main", "site");
	EDIT("site", 500, "print/opt4", "net/limits/max0", "net/gateway", "mail/opt5");
	EDIT("main", 600, "net/limits/max0", "print/opt10");
	EDIT("main", -7, "net/a", "disk/b", "c");
	merge_branch("site", "main");
	merge_branch("main", "lab");
	EDIT("site", 700, "print/duplex", "lang");
	merge_branch("main", "site");

	for (unsigned v = 0; v < n_versions; v++)
		for (unsigned i = 0; i < 40; i += 3) {
			snprintf(path, sizeof path, "%s/%s%u", dirs[i % 6], i % 3 ? "opt" : "limits/max", i);
			sum = sum * 7 + tree_read(versions[v].root, path);
		}
	printf("%u versions, conflicts: ours won %u times, theirs %u; sum %lx\n",
	       n_versions, merged.ours_newer, merged.theirs_newer, sum);
	for (unsigned v = 0; v < n_versions; v++)
		node_put(versions[v].root);
	printf("%d nodes left\n", atomic_load(&n_live));
	return 0;
}
