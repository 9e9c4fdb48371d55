/* summary: merging a brush stroke into the newest undo step replaces the step's picture without giving the old one back
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: own
 * build: gcc -O2 -g
 */

/* Undo and redo for the sketch editor. A layer's picture is an immutable raster; steps of the history share the
 * rasters with the layers, with each other and with the copy that was saved last. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS 5
#define DEPTH 4
#define SIDE 16
#define MERGE_MS 400

struct raster {
    unsigned id;
    unsigned checksum;
    int refs;
    size_t len;
    unsigned char px[];
};

enum step_kind { STEP_BRUSH, STEP_FILL, STEP_COPY };

struct step {
    enum step_kind kind;
    int layer;
    long at;
    struct raster *before;
    struct raster *after;
};

struct stack {
    struct step steps[DEPTH];
    int used;
};

struct sketch {
    struct raster *layer[LAYERS];
    struct raster *saved[LAYERS];
    struct stack undo;
    struct stack redo;
    int merged, trimmed, rejected;
};

static unsigned next_id = 1;

static struct raster *raster_new(const unsigned char *px, size_t len)
{
    struct raster *r = malloc(sizeof *r + len);

    if (!r)
        abort();
    r->id = next_id++;
    r->refs = 1;
    r->len = len;
    r->checksum = 5381;
    for (size_t i = 0; i < len; i++) {
        r->px[i] = px ? px[i] : 0;
        r->checksum = r->checksum * 33 + r->px[i];
    }
    return r;
}

static struct raster *raster_ref(struct raster *r)
{
    r->refs++;
    return r;
}

static void raster_unref(struct raster *r)
{
    if (r && --r->refs == 0)
        free(r);
}

static void step_drop(struct step *s)
{
    raster_unref(s->before);
    raster_unref(s->after);
    memset(s, 0, sizeof *s);
}

static void stack_clear(struct stack *st)
{
    while (st->used > 0)
        step_drop(&st->steps[--st->used]);
}

static void stack_push(struct sketch *sk, struct stack *st, struct step s)
{
    if (st->used == DEPTH) {
        step_drop(&st->steps[0]);
        memmove(&st->steps[0], &st->steps[1], (DEPTH - 1) * sizeof st->steps[0]);
        st->used--;
        sk->trimmed++;
    }
    st->steps[st->used++] = s;
}

static void layer_show(struct sketch *sk, int layer, struct raster *r)
{
    struct raster *old = sk->layer[layer];

    sk->layer[layer] = raster_ref(r);
    raster_unref(old);
}

/* The newest step, if a stroke on that layer at that time belongs to it. */
static struct step *mergeable(struct sketch *sk, enum step_kind kind, int layer, long at)
{
    struct step *top;

    if (kind != STEP_BRUSH || sk->undo.used == 0)
        return NULL;
    top = &sk->undo.steps[sk->undo.used - 1];
    if (top->kind != STEP_BRUSH || top->layer != layer || at - top->at > MERGE_MS)
        return NULL;
    return top;
}

/* Makes r the picture of the layer. The caller's reference goes to the history. */
static void sketch_apply(struct sketch *sk, enum step_kind kind, int layer, long at, struct raster *r)
{
    struct step *top;
    struct step s;

    stack_clear(&sk->redo);
    top = mergeable(sk, kind, layer, at);
    if (top) {
        layer_show(sk, layer, r);
#ifndef BUG
        raster_unref(top->after);
#endif
        top->after = r;                                                         /* GUILTY */
        top->at = at;
        sk->merged++;
        return;
    }
    s.kind = kind;
    s.layer = layer;
    s.at = at;
    s.before = raster_ref(sk->layer[layer]);
    s.after = r;
    layer_show(sk, layer, r);
    stack_push(sk, &sk->undo, s);
}

static void sketch_undo(struct sketch *sk)
{
    struct step s;

    if (sk->undo.used == 0)
        return;
    s = sk->undo.steps[--sk->undo.used];
    layer_show(sk, s.layer, s.before);
    stack_push(sk, &sk->redo, s);
}

static void sketch_redo(struct sketch *sk)
{
    struct step s;

    if (sk->redo.used == 0)
        return;
    s = sk->redo.steps[--sk->redo.used];
    layer_show(sk, s.layer, s.after);
    stack_push(sk, &sk->undo, s);
}

static void sketch_save(struct sketch *sk)
{
    for (int i = 0; i < LAYERS; i++) {
        struct raster *now = raster_ref(sk->layer[i]);

        raster_unref(sk->saved[i]);
        sk->saved[i] = now;
    }
}

static int sketch_changed(const struct sketch *sk)
{
    int n = 0;

    for (int i = 0; i < LAYERS; i++)
        n += !sk->saved[i] || sk->saved[i]->checksum != sk->layer[i]->checksum;
    return n;
}

static struct raster *paint(const struct raster *from, int x, int y, int ink, int radius)
{
    unsigned char px[SIDE * SIDE];

    memcpy(px, from->px, sizeof px);
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++)
            if ((i - x) * (i - x) + (j - y) * (j - y) <= radius * radius)
                px[j * SIDE + i] = (unsigned char)ink;
    return raster_new(px, sizeof px);
}

static int run_command(struct sketch *sk, const char *line)
{
    char verb[16];
    int layer, a, b, ink;
    long at;

    if (sscanf(line, "%15s", verb) != 1)
        return -1;
    if (!strcmp(verb, "undo")) {
        sketch_undo(sk);
    } else if (!strcmp(verb, "redo")) {
        sketch_redo(sk);
    } else if (!strcmp(verb, "save")) {
        sketch_save(sk);
    } else if (sscanf(line, "brush %ld %d %d %d %d", &at, &layer, &a, &b, &ink) == 5) {
        if (layer < 0 || layer >= LAYERS)
            return -1;
        sketch_apply(sk, STEP_BRUSH, layer, at, paint(sk->layer[layer], a, b, ink, 2));
    } else if (sscanf(line, "fill %ld %d %d", &at, &layer, &ink) == 3) {
        if (layer < 0 || layer >= LAYERS)
            return -1;
        sketch_apply(sk, STEP_FILL, layer, at, paint(sk->layer[layer], 0, 0, ink, 2 * SIDE));
    } else if (sscanf(line, "copy %ld %d %d", &at, &a, &b) == 3) {
        if (a < 0 || a >= LAYERS || b < 0 || b >= LAYERS)
            return -1;
        sketch_apply(sk, STEP_COPY, b, at, raster_ref(sk->layer[a]));
    } else {
        return -1;
    }
    return 0;
}

static void sketch_close(struct sketch *sk)
{
    stack_clear(&sk->undo);
    stack_clear(&sk->redo);
    for (int i = 0; i < LAYERS; i++) {
        raster_unref(sk->layer[i]);
        raster_unref(sk->saved[i]);
    }
}

int main(void)
{
    static const char *const script[] = {
        "fill 100 0 240", "fill 900 1 10", "brush 2000 2 4 4 90", "brush 2150 2 6 4 90", "save",
        "brush 2300 2 8 4 90", "copy 3000 2 3", "brush 5000 3 8 8 30", "undo", "undo", "redo",
        "brush 7000 4 2 2 55", "smudge 7100 4", "brush 7200 9 1 1 1", "undo", "redo", "save",
        "fill 9000 1 77", "brush 9500 1 5 5 200", "brush 9700 1 5 6 200", "copy 9990 1 0", "undo",
    };
    struct sketch sk;

    memset(&sk, 0, sizeof sk);
    for (int i = 0; i < LAYERS; i++)
        sk.layer[i] = raster_new(NULL, SIDE * SIDE);
    for (size_t i = 0; i < sizeof script / sizeof script[0]; i++)
        if (run_command(&sk, script[i]) < 0)
            sk.rejected++;
    printf("%d undo, %d redo, %d merged, %d trimmed, %d rejected, %d layers changed since the last save\n", sk.undo.used,
           sk.redo.used, sk.merged, sk.trimmed, sk.rejected, sketch_changed(&sk));
    sketch_close(&sk);
    return 0;
}
