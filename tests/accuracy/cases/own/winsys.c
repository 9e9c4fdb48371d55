/* summary: on a depth mismatch window_set_background() puts a pixmap it was only lent; the request handler puts it again on its way out
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: own
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * winsys - the resource side of a little window server.  Requests go through
 * a table of handlers; windows, pixmaps and fonts share one counted header
 * and are told apart by their table of operations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned XID;

enum status { Success, BadWindow, BadPixmap, BadMatch, BadIDChoice };

struct object;

struct objops { void (*destroy)(struct object *); };

struct object {
    const struct objops *ops;
    XID                  id;
    int                  client;
    int                  refs;
};

struct pixmap {
    struct object  obj;
    int            depth;
    unsigned char *bits;
};

struct window {
    struct object  obj;
    struct window *parent;          /* not counted: the parent outlives us */
    struct window *first, *sibling; /* children; each is counted once here */
    struct pixmap *background;
    int            depth;
    int            damaged;
};

static struct { int births, gets, puts, deaths; } obj_log;

static void object_init(struct object *o, const struct objops *ops, XID id)
{
    o->ops = ops;
    o->id = id;
    o->client = 1;
    o->refs = 1;
    obj_log.births++;
}

__attribute__((noinline)) void *object_get(struct object *o)
{
    if (o->refs <= 0)
        fprintf(stderr, "winsys: get of dead object %#x\n", o->id);
    o->refs++;
    obj_log.gets++;
    return o;
}

__attribute__((noinline)) void object_put(struct object *o)
{
    if (!o)
        return;
    obj_log.puts++;
    if (--o->refs == 0) {
        obj_log.deaths++;
        o->ops->destroy(o);
    }
}

static void pixmap_destroy(struct object *o)
{
    struct pixmap *p = (struct pixmap *)o;
    free(p->bits);
    free(p);
}

static void window_destroy(struct object *o)
{
    struct window *w = (struct window *)o;
    if (w->background)
        object_put(&w->background->obj);
    free(w);
}

static const struct objops pixmap_ops = { pixmap_destroy };
static const struct objops window_ops = { window_destroy };

__attribute__((noinline)) static struct pixmap *pixmap_create(XID id, int width, int height, int depth)
{
    struct pixmap *p = calloc(1, sizeof *p);

    if (!p || !(p->bits = malloc(width * height * depth / 8)))
        abort();
    object_init(&p->obj, &pixmap_ops, id);
    p->depth = depth;
    memset(p->bits, (int)id, width * height * depth / 8);
    return p;
}

__attribute__((noinline)) static struct window *window_create(XID id, struct window *parent, int depth)
{
    struct window *w = calloc(1, sizeof *w);

    if (!w)
        abort();
    object_init(&w->obj, &window_ops, id);
    w->depth = depth;
    w->parent = parent;
    if (parent) {
        w->sibling = parent->first;
        parent->first = object_get(&w->obj);
    }
    return w;
}

#define NRES 256

struct client {
    struct object *res[NRES];
    struct window *root;
    int            errors[BadIDChoice + 1];
};

static int add_resource(struct client *c, struct object *o)
{
    if (o->id >= NRES || c->res[o->id])
        return BadIDChoice;
    c->res[o->id] = o;              /* takes over the birth reference */
    return Success;
}

static void *lookup(struct client *c, XID id, const struct objops *ops)
{
    struct object *o = id < NRES ? c->res[id] : NULL;
    if (!o || o->ops != ops)
        return NULL;
    return object_get(o);
}

enum opcode { OpCreateWindow, OpCreatePixmap, OpFreePixmap, OpDestroyWindow,
              OpChangeBackground, OpCount };

struct request { enum opcode op; XID a, b; int n; };

/* Make p the window's background; the window takes a reference of its own. */
static int window_set_background(struct window *w, struct pixmap *p)
{
    if (w->depth != p->depth) {
#ifdef BUG
        object_put(&p->obj);        /* GUILTY */
        return BadMatch;
#else
        return BadMatch;
#endif
    }
    object_get(&p->obj);
    if (w->background)
        object_put(&w->background->obj);
    w->background = p;
    return Success;
}

static int do_create_window(struct client *c, const struct request *r)
{
    struct window *parent = lookup(c, r->b, &window_ops), *w;
    int rc;

    if (r->b && !parent)
        return BadWindow;
    w = window_create(r->a, parent ? parent : c->root, r->n);
    rc = add_resource(c, &w->obj);
    if (parent)
        object_put(&parent->obj);
    return rc;
}

static int do_create_pixmap(struct client *c, const struct request *r)
{
    struct pixmap *p = pixmap_create(r->a, 8, 8, r->n);
    int rc = add_resource(c, &p->obj);
    if (rc)
        object_put(&p->obj);
    return rc;
}

static int do_free_pixmap(struct client *c, const struct request *r)
{
    struct pixmap *p = lookup(c, r->a, &pixmap_ops);

    if (!p)
        return BadPixmap;
    c->res[r->a] = NULL;
    object_put(&p->obj);            /* the table's */
    object_put(&p->obj);
    return Success;
}

static int do_destroy_window(struct client *c, const struct request *r)
{
    struct window *w = lookup(c, r->a, &window_ops), **pp;

    if (!w)
        return BadWindow;
    while (w->first) {
        struct request child = { OpDestroyWindow, w->first->obj.id, 0, 0 };
        do_destroy_window(c, &child);
    }
    for (pp = &w->parent->first; *pp != w; pp = &(*pp)->sibling)
        ;
    *pp = w->sibling;
    object_put(&w->obj);            /* the parent's */
    c->res[r->a] = NULL;
    object_put(&w->obj);            /* the table's */
    object_put(&w->obj);            /* our own */
    return Success;
}

static int do_change_background(struct client *c, const struct request *r)
{
    struct pixmap *p = NULL;
    struct window *w;
    int rc;

    w = lookup(c, r->a, &window_ops);
    if (!w)
        return BadWindow;
    rc = BadPixmap;
    p = lookup(c, r->b, &pixmap_ops);
    if (!p)
        goto out;
    rc = window_set_background(w, p);
    w->damaged |= rc == Success;
out:
    object_put(p ? &p->obj : NULL); /* ACCEPTED */
    object_put(&w->obj);
    return rc;
}

static int (*const handlers[OpCount])(struct client *, const struct request *) = {
    do_create_window, do_create_pixmap, do_free_pixmap,
    do_destroy_window, do_change_background,
};

static void dispatch(struct client *c, enum opcode op, XID a, XID b, int n)
{
    struct request r = { op, a, b, n };
    c->errors[handlers[op](c, &r)]++;
}

int main(void)
{
    static struct client c;
    const XID win = 1, pix = 128;

    c.root = window_create(0, NULL, 24);
    for (int i = 0; i < 60; i++)    /* every fifth window is a 32 bit one */
        dispatch(&c, OpCreateWindow, win + i, i < 6 ? 0 : win + i % 6, i % 5 ? 24 : 32);
    for (int i = 0; i < 40; i++)
        dispatch(&c, OpCreatePixmap, pix + i, 0, i % 5 ? 24 : 32);
    for (int i = 0; i < 60; i++)
        dispatch(&c, OpChangeBackground, win + i, pix + i % 40, 0);
    for (int i = 0; i < 40; i += 3) /* a theme switch that gets some wrong */
        dispatch(&c, OpChangeBackground, win + (i + 20 + i % 2) % 60, pix + i, 0);
    dispatch(&c, OpChangeBackground, win + 3, 250, 0);
    for (int i = 0; i < 40; i++)
        dispatch(&c, OpFreePixmap, pix + i, 0, 0);
    for (int i = 0; i < 6; i++)     /* children go with their parents */
        dispatch(&c, OpDestroyWindow, win + i, 0, 0);
    object_put(&c.root->obj);

    printf("%d requests ok, %d BadMatch, %d BadPixmap, %d BadWindow\n",
           c.errors[Success], c.errors[BadMatch], c.errors[BadPixmap], c.errors[BadWindow]);
    printf("objects: %d made, %d destroyed\n", obj_log.births, obj_log.deaths);
    return 0;
}
