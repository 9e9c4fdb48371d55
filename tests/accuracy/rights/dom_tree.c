/* summary: parent links that do not count, a document with two counters, weak handles, interned atoms that take themselves off, tagged pointers in child arrays, listeners removed while they run
 * track: own
 * build: gcc -O2 -g -o OUT dom_tree.c
 */
/*
 * dom_tree: a document tree in the manner of a browser engine.  Parents own
 * children but not the other way; text nobody looked at is a tagged string.
 * A document counts its owners and its nodes: without owners it is torn down,
 * but its memory stays while nodes point to it.
 */
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* ---- atoms: interned strings, the table itself does not own -------------- */

struct atom {
	unsigned refs, hash;
	struct atom *next;
	char text[];
};

static struct atom *atom_table[64];
static unsigned n_atoms, n_live;

static struct atom *
atom_intern(const char *text)
{
	unsigned hash = 5381;
	struct atom *a;

	for (const char *p = text; *p != '\0'; p++)
		hash = hash * 33 + (unsigned char)*p;
	for (a = atom_table[hash % 64]; a != NULL; a = a->next)
		if (strcmp(a->text, text) == 0)
			return a->refs++, a;
	a = malloc(sizeof *a + strlen(text) + 1);
	a->refs = 1, a->hash = hash;
	strcpy(a->text, text);
	a->next = atom_table[hash % 64];
	atom_table[hash % 64] = a;
	n_atoms++;
	return a;
}

static void
atom_put(struct atom *a)
{
	struct atom **p;

	if (a == NULL || --a->refs > 0)
		return;
	for (p = &atom_table[a->hash % 64]; *p != a; p = &(*p)->next);
	*p = a->next;
	n_atoms--;
	free(a);
}

/* ---- nodes ----------------------------------------------------------------- */

struct node;
typedef void handler_fn(struct node *current, struct node *target, void *data);

struct listener {
	unsigned refs;
	struct atom *type;
	handler_fn *fn;
	void *data;
};

struct weak {			/* outlives its node; one per node */
	unsigned refs;
	struct node *node;
};

struct node {
	unsigned refs;
	unsigned n_kids, n_listeners;
	struct atom *name, *value;	/* elements have a name, texts a value */
	struct node *parent;		/* not counted */
	struct document *doc;		/* by its node count */
	struct weak *weak;
	uintptr_t *kids;		/* struct node *, or struct atom * | 1 */
	struct listener **listeners;
};

struct document {
	struct node node;		/* node.refs are the owners */
	unsigned n_nodes;
	const char *url;
};

static void node_put(struct node *n);

static void
document_drop_node(struct document *doc)
{
	if (--doc->n_nodes == 0 && doc->node.refs == 0)
		free(doc), n_live--;
}

static struct node *
node_get(struct node *n) { n->refs++; return n; }

static struct node *
node_new(struct document *doc, struct atom *name, struct atom *value)
{
	struct node *n = malloc(sizeof *n);

	*n = (struct node){ .refs = 1, .name = name, .value = value, .doc = doc };
	doc->n_nodes++;
	n_live++;
	return n;
}

static void
listener_put(struct listener *l)
{
	if (--l->refs > 0)
		return;
	atom_put(l->type);
	free(l);
}

static void
node_clear(struct node *n)
{
	while (n->n_kids > 0) {
		uintptr_t kid = n->kids[--n->n_kids];

		if (kid & 1) {
			atom_put((struct atom *)(kid & ~(uintptr_t)1));
		} else {
			((struct node *)kid)->parent = NULL;
			node_put((struct node *)kid);
		}
	}
	while (n->n_listeners > 0)
		listener_put(n->listeners[--n->n_listeners]);
	free(n->kids);
	free(n->listeners);
	n->kids = NULL;
}

static void
weak_put(struct weak *w) { if (--w->refs == 0) free(w); }

static void
node_put(struct node *n)
{
	struct document *doc = n->doc;

	if (--n->refs > 0)
		return;
	if (n->weak != NULL) {
		n->weak->node = NULL;
		weak_put(n->weak);
	}
	node_clear(n);
	atom_put(n->name);
	atom_put(n->value);
	if (n != &doc->node)
		free(n), n_live--;
	document_drop_node(doc);	/* a document counts itself as well */
}

static struct document *
document_new(const char *url)
{
	struct document *doc = malloc(sizeof *doc);

	*doc = (struct document){ { .refs = 1, .doc = doc, .name = atom_intern("#document") }, 1, url };
	n_live++;
	return doc;
}

static struct weak *
node_weak(struct node *n)
{
	if (n->weak == NULL) {
		n->weak = malloc(sizeof *n->weak);
		*n->weak = (struct weak){ 1, n };	/* the node's own */
	}
	n->weak->refs++;
	return n->weak;
}

static struct node *
weak_lock(struct weak *w) { return w->node ? node_get(w->node) : NULL; }

static void
add_kid(struct node *parent, uintptr_t kid)
{
	if ((parent->n_kids & (parent->n_kids - 1)) == 0)
		parent->kids = realloc(parent->kids, (parent->n_kids ? 2 * parent->n_kids : 1) * sizeof kid);
	parent->kids[parent->n_kids++] = kid;
}

static void
node_remove(struct node *n)
{
	struct node *parent = n->parent;
	unsigned i = 0;

	if (parent == NULL)
		return;
	while (parent->kids[i] != (uintptr_t)n)
		i++;
	memmove(&parent->kids[i], &parent->kids[i + 1], (--parent->n_kids - i) * sizeof *parent->kids);
	n->parent = NULL;
	node_put(n);			/* the parent's reference: maybe the last */
}

static void
adopt(struct node *n, struct document *doc)
{
	struct document *old = n->doc;

	for (unsigned i = 0; i < n->n_kids; i++)
		if (!(n->kids[i] & 1))
			adopt((struct node *)n->kids[i], doc);
	doc->n_nodes++;
	n->doc = doc;
	document_drop_node(old);
}

static void
node_append(struct node *parent, struct node *n)
{
	node_get(n);			/* becomes the parent's reference */
	node_remove(n);
	if (n->doc != parent->doc)
		adopt(n, parent->doc);
	add_kid(parent, (uintptr_t)n);
	n->parent = parent;
}

/* Borrowed.  Makes a node of a tagged string when it is first asked for. */
static struct node *
node_kid(struct node *parent, unsigned i)
{
	if (parent->kids[i] & 1) {
		struct node *text = node_new(parent->doc, NULL, (struct atom *)(parent->kids[i] & ~(uintptr_t)1));

		text->parent = parent;
		parent->kids[i] = (uintptr_t)text;
	}
	return (struct node *)parent->kids[i];
}

/* ---- events ----------------------------------------------------------------- */

static void
listen(struct node *n, const char *type, handler_fn *fn, void *data)
{
	struct listener *l = malloc(sizeof *l);

	*l = (struct listener){ 1, atom_intern(type), fn, data };
	n->listeners = realloc(n->listeners, (n->n_listeners + 1) * sizeof l);
	n->listeners[n->n_listeners++] = l;
}

static void
dispatch(struct node *target, const char *type)
{
	struct atom *name = atom_intern(type);
	unsigned depth = 0;
	struct node **path;

	for (struct node *n = target; n != NULL; n = n->parent)
		depth++;
	path = alloca(depth * sizeof *path);
	depth = 0;
	for (struct node *n = target; n != NULL; n = n->parent)
		path[depth++] = node_get(n);	/* handlers may take the tree apart */
	for (unsigned d = 0; d < depth; d++) {
		unsigned n_run = path[d]->n_listeners;
		struct listener **run = malloc((n_run + 1) * sizeof *run);

		for (unsigned i = 0; i < n_run; i++)
			(run[i] = path[d]->listeners[i])->refs++;
		for (unsigned i = 0; i < n_run; i++) {
			if (run[i]->type == name)
				run[i]->fn(path[d], target, run[i]->data);
			listener_put(run[i]);
		}
		free(run);
	}
	while (depth > 0)
		node_put(path[--depth]);
	atom_put(name);
}

/* Drops the very listener that is running, too. */
static void
on_close(struct node *current, struct node *target, void *data) { node_remove(current); }

static void
on_count(struct node *current, struct node *target, void *data) { ++*(unsigned *)data; }

/* Borrowed: the parent owns the new element. */
static struct node *
element(struct node *parent, const char *name, const char *text)
{
	struct node *n = node_new(parent->doc, atom_intern(name), NULL);

	node_append(parent, n);
	if (text != NULL)
		add_kid(n, (uintptr_t)atom_intern(text) | 1);
	node_put(n);
	return n;
}

int
main(void)
{
	unsigned clicks = 0, total = 0;
	struct document *doc = document_new("about:one"), *other = document_new("about:two");
	struct node *html = node_get(element(&doc->node, "html", NULL)), *ul, *text, *bye;
	struct weak *weak[2];

	element(html, "p", "hello");
	ul = node_get(element(html, "ul", NULL));
	for (int i = 0; i < 3; i++)
		listen(element(ul, "li", i == 1 ? "two" : "one"), "click", on_close, NULL);
	element(html, "p", "bye");
	listen(html, "click", on_count, &clicks);
	listen(html, "click", on_count, &total);
	text = node_kid(node_kid(ul, 1), 0);
	weak[0] = node_weak(text);
	weak[1] = node_weak(ul);
	dispatch(text, "click");		/* bubbles; closes the second item and frees it */
	dispatch(node_kid(ul, 0), "click");
	text = weak_lock(weak[0]);
	printf("clicks %u/%u, items %u, text %s\n", clicks, total, ul->n_kids, text ? "there" : "gone");
	node_append(&other->node, ul);		/* into another document */
	bye = node_get(node_kid(node_kid(html, 1), 0));
	node_put(html);
	node_put(&doc->node);			/* torn down, but bye still points to it */
	printf("bye says '%s' in %s, parent %s\n", bye->value->text, bye->doc->url, bye->parent ? "set" : "none");
	node_append(ul, bye);			/* and now the first document goes */
	node_put(bye);
	node_put(ul);
	ul = weak_lock(weak[1]);
	printf("list has %u items, last '%s', %u nodes live\n", ul->n_kids, node_kid(ul, 1)->value->text, n_live);
	node_put(ul);
	node_put(&other->node);
	printf("list %s, %u nodes and %u atoms live\n", weak[1]->node ? "there" : "gone", n_live, n_atoms);
	weak_put(weak[0]);
	weak_put(weak[1]);
	return 0;
}
