/* summary: when a slice takes the whole of a list, list_slice() copies the pointers to the items with memcpy() and takes no references for the new list
 * kind: missing-get
 * counts: deficit
 * objects: 14
 * track: own
 * build: gcc -O1 -g
 * exit: 0
 */
/*
 * rpnreport - a little postfix language for the reports of a till.
 *
 * A report is a line of words.  Its result is left on the stack; what it
 * stores under a name can be used by the reports after it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAXSTR 23
#define NVARS 32
#define NINTERN 64

enum type { T_INT, T_STR, T_LIST };

struct value {
    enum type type;
    unsigned hash;
    struct value *chain; /* interned strings of one hash */
    long refs;
};

struct vint { struct value v; long n; };
struct vstr { struct value v; char s[MAXSTR + 1]; };
struct vlist { struct value v; unsigned n, cap; struct value **item; };

#define INT(x) (((struct vint *)(x))->n)
#define STR(x) (((struct vstr *)(x))->s)
#define LIST(x) ((struct vlist *)(x))

#define INCREF(x) ((void)(x)->refs++)
#define DECREF(x)                       \
    do {                                \
        struct value *decref_ = (x);    \
        if (--decref_->refs == 0)       \
            value_dealloc(decref_);     \
    } while (0)
#define XDECREF(x) do { if (x) DECREF(x); } while (0)

static struct value *interned[NINTERN]; /* not counted: a string leaves when it dies */

static void value_dealloc(struct value *v)
{
    if (v->type == T_LIST) {
        struct vlist *l = LIST(v);
        while (l->n)
            DECREF(l->item[--l->n]);
        free(l->item);
    } else if (v->type == T_STR) {
        struct value **p = &interned[v->hash % NINTERN];
        while (*p != v)
            p = &(*p)->chain;
        *p = v->chain;
    }
    free(v);
}

static struct value *value_alloc(enum type type, size_t size)
{
    struct value *v = calloc(1, size);
    if (!v)
        abort();
    v->type = type;
    v->refs = 1;
    return v;
}

static struct value *int_new(long n)
{
    struct value *v = value_alloc(T_INT, sizeof(struct vint));
    INT(v) = n;
    return v;
}

/* Equal strings are one value. */
static struct value *str_new(const char *s, unsigned len)
{
    struct value *v;
    unsigned h = 0;
    if (len > MAXSTR)
        len = MAXSTR;
    for (unsigned i = 0; i < len; i++)
        h = h * 131 + (unsigned char)s[i];
    for (v = interned[h % NINTERN]; v; v = v->chain)
        if (v->hash == h && !strncmp(STR(v), s, len) && !STR(v)[len]) {
            INCREF(v);
            return v;
        }
    v = value_alloc(T_STR, sizeof(struct vstr));
    memcpy(STR(v), s, len);
    v->hash = h;
    v->chain = interned[h % NINTERN];
    interned[h % NINTERN] = v;
    return v;
}

static struct value *list_new(unsigned cap)
{
    struct value *v = value_alloc(T_LIST, sizeof(struct vlist));

    LIST(v)->cap = cap ? cap : 4;
    if (!(LIST(v)->item = calloc(LIST(v)->cap, sizeof(struct value *))))
        abort();
    return v;
}

/* Takes over the reference to x. */
static void list_push(struct vlist *l, struct value *x)
{
    if (l->n == l->cap) {
        l->cap *= 2;
        if (!(l->item = realloc(l->item, l->cap * sizeof *l->item)))
            abort();
    }
    l->item[l->n++] = x;
}

static struct value *list_slice(struct vlist *l, long from, long to)
{
    long n = l->n;

    if (from < 0)
        from = from + n < 0 ? 0 : from + n;
    if (to > n)
        to = n;

    struct value *v = list_new(to > from ? to - from : 0);
    struct vlist *r = LIST(v);
    if (from == 0 && to == n) {
        memcpy(r->item, l->item, l->n * sizeof *r->item); /* GUILTY */
        r->n = l->n; /* ACCEPTED */
#ifndef BUG
        for (unsigned i = 0; i < r->n; i++)
            INCREF(r->item[i]);
#endif
        return v; /* ACCEPTED */
    }
    for (long i = from; i < to; i++) {
        INCREF(l->item[i]);
        list_push(r, l->item[i]);
    }
    return v;
}

static long list_sum(const struct vlist *l)
{
    long n = 0;
    for (unsigned i = 0; i < l->n; i++)
        n += l->item[i]->type == T_INT ? INT(l->item[i]) : 0;
    return n;
}

/* ---- the machine ---- */

struct vm {
    struct value *stack[32];
    unsigned sp;
    struct { struct value *name, *val; } var[NVARS];
    unsigned nvars, errors, words;
};

static void push(struct vm *m, struct value *v)
{
    if (m->sp < sizeof m->stack / sizeof m->stack[0]) {
        m->stack[m->sp++] = v;
        return;
    }
    m->errors++;
    DECREF(v);
}

/* The reference goes to the caller. */
static struct value *pop(struct vm *m, enum type want)
{
    if (!m->sp || m->stack[m->sp - 1]->type != want) {
        m->errors++;
        return NULL;
    }
    return m->stack[--m->sp];
}

static struct value **slot(struct vm *m, struct value *name)
{
    unsigned i = 0;
    while (i < m->nvars && m->var[i].name != name)
        i++;
    if (i == m->nvars) {
        if (i == NVARS)
            return NULL;
        INCREF(name);
        m->var[m->nvars++].name = name;
    }
    return &m->var[i].val;
}

static void do_store(struct vm *m, struct value *name)
{
    struct value **p = slot(m, name), *old;

    if (!p || !m->sp) {
        m->errors++;
        return;
    }
    old = *p;
    *p = m->stack[--m->sp];
    XDECREF(old);
}

static void do_load(struct vm *m, struct value *name)
{
    struct value **p = slot(m, name);

    if (!p || !*p) {
        m->errors++;
        return;
    }
    INCREF(*p);
    push(m, *p);
}

static void do_slice(struct vm *m)
{
    struct value *to = pop(m, T_INT), *from = pop(m, T_INT), *l = pop(m, T_LIST);

    if (to && from && l)
        push(m, list_slice(LIST(l), INT(from), INT(to)));
    XDECREF(l);
    XDECREF(from);
    XDECREF(to);
}

static void do_pack(struct vm *m, unsigned n)
{
    struct value *v = list_new(n);
    for (unsigned i = n < m->sp ? m->sp - n : 0; i < m->sp; i++)
        list_push(LIST(v), m->stack[i]);
    m->sp -= LIST(v)->n;
    push(m, v);
}

static void do_word(struct vm *m, const char *w, unsigned len)
{
    struct value *a;

    m->words++;
    if (isdigit((unsigned char)*w) || (*w == '-' && len > 1)) {
        push(m, int_new(strtol(w, NULL, 10)));
    } else if (*w == '\'') {
        push(m, str_new(w + 1, len - 1));
    } else if (*w == '>' || *w == '$') {
        struct value *name = str_new(w + 1, len - 1);
        (*w == '>' ? do_store : do_load)(m, name);
        DECREF(name);
    } else if (*w == '#') {
        do_pack(m, strtoul(w + 1, NULL, 10));
    } else if (!strncmp(w, "slice", len)) {
        do_slice(m);
    } else if (!strncmp(w, "sum", len)) {
        if ((a = pop(m, T_LIST))) {
            push(m, int_new(list_sum(LIST(a))));
            DECREF(a);
        }
    } else {
        m->errors++;
    }
}

static void run(struct vm *m, const char *line)
{
    for (unsigned len; (len = strcspn(line, " ")); line += strspn(line, " ")) {
        do_word(m, line, len);
        line += len;
    }
    for (; m->sp; m->sp--) {
        struct value *v = m->stack[m->sp - 1];
        if (v->type == T_LIST)
            printf(" [%u: %ld]", LIST(v)->n, list_sum(LIST(v)));
        else
            v->type == T_INT ? printf(" %ld", INT(v)) : printf(" %s", STR(v));
        DECREF(v);
    }
    putchar('\n');
}

static const char *const reports[] = {
    "120 80 45 230 310 95 20 #7 >mon 'monday $mon sum",
    "60 75 115 40 250 #5 >tue 'tuesday $tue sum $mon sum #2 sum",
    "10 440 35 90 #4 >wed $wed 1 3 slice >noon 'noon $noon sum",
    "'anna 'bert 'carl 'anna #4 >staff $staff -2 99 slice >late $late",
    "$mon 0 3 slice >early $early sum $nothing",
    "$tue 2 99 slice sum $tue 0 4 slice sum #2 sum",
    "$wed 0 4 slice >archive $archive sum",
    "$mon $tue $wed #3 >week $week 0 2 slice $week",
    "$mon 0 99 slice >kept $kept sum $wed sum #2 sum 'kept",
    "$staff 0 99 slice >shift $shift 'bert 1 sum",
    "7 >mon_open 'carl >boss $boss $mon_open bogus",
};

int main(void)
{
    struct vm m = { .sp = 0 };
    for (unsigned i = 0; i < sizeof reports / sizeof reports[0]; i++)
        run(&m, reports[i]);
    printf("%u words, %u names, %u errors\n", m.words, m.nvars, m.errors);
    while (m.nvars--) {
        XDECREF(m.var[m.nvars].val);
        DECREF(m.var[m.nvars].name);
    }
    return 0;
}
