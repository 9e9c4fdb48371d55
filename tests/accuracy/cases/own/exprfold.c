/* summary: fold() reads l->num after term_unref(l), which is the last reference when l is a freshly folded number; counts are balanced
 * kind: use-after-put
 * counts: none
 * objects: 9
 * track: own
 * build: gcc -O0 -g
 * exit: 0
 */
/*
 * exprfold - formula compiler: parse, share equal subterms, fold constants.
 *
 * Terms are reference counted, because folding and the memo table make one
 * term appear in several parents.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { NUM, VAR, ADD, SUB, MUL, NEG };

struct term {
    enum kind kind;
    int rc;
    long num;
    char var;
    struct term *lhs, *rhs;
};

static unsigned long n_terms, n_folded, n_errors, n_neutral;

static struct term *term_new(enum kind kind)
{
    struct term *t = calloc(1, sizeof *t);

    if (!t)
        exit(2);
    t->kind = kind;
    t->rc = 1;
    n_terms++;
    return t;
}

static struct term *term_ref(struct term *t)
{
    t->rc++;
    return t;
}

static void term_unref(struct term *t)
{
    if (!t || --t->rc > 0)
        return;
    term_unref(t->lhs);
    term_unref(t->rhs);
    free(t);
}

static struct term *mk_num(long v)
{
    struct term *t = term_new(NUM);

    t->num = v;
    return t;
}

/* takes over lhs and rhs */
static struct term *mk_op(enum kind k, struct term *lhs, struct term *rhs)
{
    struct term *t = term_new(k);

    t->lhs = lhs;
    t->rhs = rhs;
    return t;
}

/* ----------------------------------------------------------------- parsing */

struct parser {
    const char *p;
    const char *error;
    struct term *vars[26];      /* one shared term per variable */
};

static struct term *parse_sum(struct parser *ps);

static void skip(struct parser *ps)
{
    while (isspace((unsigned char)*ps->p))
        ps->p++;
}

static struct term *parse_atom(struct parser *ps)
{
    struct term *t;

    skip(ps);
    if (isdigit((unsigned char)*ps->p))
        return mk_num(strtol(ps->p, (char **)&ps->p, 10));
    if (islower((unsigned char)*ps->p)) {
        int i = *ps->p++ - 'a';

        if (!ps->vars[i]) {
            ps->vars[i] = term_new(VAR);
            ps->vars[i]->var = 'a' + i;
        }
        return term_ref(ps->vars[i]);
    }
    if (*ps->p == '-') {
        ps->p++;
        t = parse_atom(ps);
        return t ? mk_op(NEG, t, NULL) : NULL;
    }
    if (*ps->p == '(') {
        ps->p++;
        t = parse_sum(ps);
        skip(ps);
        if (t && *ps->p != ')') {
            ps->error = "')' expected";
            term_unref(t);
            return NULL;
        }
        ps->p++;
        return t;
    }
    ps->error = "operand expected";
    return NULL;
}

static struct term *parse_product(struct parser *ps)
{
    struct term *l = parse_atom(ps), *r;

    while (l) {
        skip(ps);
        if (*ps->p != '*')
            break;
        ps->p++;
        r = parse_atom(ps);
        if (!r) {
            term_unref(l);
            return NULL;
        }
        l = mk_op(MUL, l, r);
    }
    return l;
}

static struct term *parse_sum(struct parser *ps)
{
    struct term *l = parse_product(ps), *r;
    char op;

    while (l) {
        skip(ps);
        op = *ps->p;
        if (op != '+' && op != '-')
            break;
        ps->p++;
        r = parse_product(ps);
        if (!r) {
            term_unref(l);
            return NULL;
        }
        l = mk_op(op == '+' ? ADD : SUB, l, r);
    }
    return l;
}

/* ----------------------------------------------------------------- folding */

static int is_num(const struct term *t, long v)
{
    return t->kind == NUM && t->num == v;
}

static long apply(enum kind k, long a, long b)
{
    switch (k) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    default:  return -a;
    }
}

/* consumes t, returns an equivalent term */
static struct term *fold(struct term *t)
{
    struct term *l, *r, *out;

    if (t->kind == NUM || t->kind == VAR)
        return t;
    l = fold(term_ref(t->lhs));
    r = t->rhs ? fold(term_ref(t->rhs)) : NULL;

    if (l->kind == NUM && r && r->kind == NUM) {
        out = mk_num(apply(t->kind, l->num, r->num));
        n_folded++;
        term_unref(l);
        term_unref(r);
    } else if (t->kind == NEG && l->kind == NUM) {
#ifdef BUG
        term_unref(l); /* ACCEPTED */
        out = mk_num(apply(NEG, l->num, 0)); /* GUILTY */
#else
        out = mk_num(apply(NEG, l->num, 0));
        term_unref(l);
#endif
        n_folded++;
    } else if (t->kind == MUL && (is_num(l, 1) || is_num(r, 1))) {
        out = term_ref(is_num(l, 1) ? r : l);
        n_neutral++;
        term_unref(l);
        term_unref(r);
    } else if (t->kind == ADD && (is_num(l, 0) || is_num(r, 0))) {
        out = term_ref(is_num(l, 0) ? r : l);
        n_neutral++;
        term_unref(l);
        term_unref(r);
    } else {
        out = mk_op(t->kind, l, r);
    }
    term_unref(t);
    return out;
}

static long eval(const struct term *t, const long *env)
{
    if (t->kind == NUM)
        return t->num;
    if (t->kind == VAR)
        return env[t->var - 'a'];
    return apply(t->kind, eval(t->lhs, env), t->rhs ? eval(t->rhs, env) : 0);
}

static int depth(const struct term *t)
{
    int l = t->lhs ? depth(t->lhs) : 0, r = t->rhs ? depth(t->rhs) : 0;

    return 1 + (l > r ? l : r);
}

/* ------------------------------------------------------------------- main */

static const char *templates[] = {
    "%d * x + (y - %d) * 1",
    "(a + b) * (a - b) + 0 * %d + %d",
    "((%d + 2) * 3 - x) * (x + %d * 4)",
    "x * (y + %d",
    "0 + z * z * z + (%d - %d) * w",
    "(%d + x) * 1 * (y + 0) - %d",
};

int main(void)
{
    long env[26], sum = 0;
    int levels = 0;

    for (int i = 0; i < 26; i++)
        env[i] = 3 * i - 20;
    for (int i = 0; i < 150; i++) {
        struct parser ps = { 0 };
        struct term *t;
        char text[96];

        snprintf(text, sizeof text,
                 i % 16 == 15 ? "k * -(%d + %d)" : templates[i % 6], i, i + 1);
        ps.p = text;
        t = parse_sum(&ps);
        if (!t) {
            n_errors++;
        } else {
            t = fold(t);
            levels += depth(t);
            sum += eval(t, env);
            term_unref(t);
        }
        for (int v = 0; v < 26; v++)
            term_unref(ps.vars[v]);
        usleep(500);
    }
    printf("terms %lu folded %lu neutral %lu errors %lu levels %d sum %ld\n",
           n_terms, n_folded, n_neutral, n_errors, levels, sum);
    return 0;
}
