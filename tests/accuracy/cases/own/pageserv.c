/* summary: the answer to a client that was idle for too long is queued with CHAIN_OWN, although the page is the host's: chain_drain() gives the host's reference back
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: own
 * build: clang-14 -O2
 * exit: 0
 */
/*
 * pageserv - the sending half of a small web server.  Connections have a chain
 * of buffers to send; what is the same for all clients of a host is made once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((noinline))

#define NHOSTS 3
#define NCONNS 24
#define NFILES 8
#define MSS    320 /* what a connection can send in one turn */
#define IDLE   24   /* turns */

struct buf {
    void (*release)(struct buf *);
    size_t cap, refs, len;
    char data[];
};

/* CHAIN_OWN: the chain takes over the caller's reference.
 * CHAIN_BORROW: somebody else keeps the buffer until it has been sent. */
enum chain_flag { CHAIN_BORROW, CHAIN_OWN };

struct chain {
    struct segment {
        struct segment *next;
        struct buf *buf;
        size_t off;
        enum chain_flag flag;
    } *first, **last;
    size_t pending;
};

enum page { PAGE_NOT_FOUND, PAGE_TIMEOUT, PAGE_BUSY, NPAGES };

struct host {
    char name[16];
    struct buf *page[NPAGES];
    struct { char name[16]; struct buf *buf; } file[NFILES];
    unsigned nfiles;
};

struct conn {
    struct host *host;
    size_t id, refs;
    unsigned quiet, requests;
    int closing, queued;
    struct chain out;
    struct conn *next_ready;
};

static struct {
    struct host host[NHOSTS];
    struct conn *conn[NCONNS];
    struct conn *ready, **ready_last; /* a reference each */
    unsigned long sent, sum, heap;
    unsigned accepted, closed, timeouts, not_found, busy;
} srv;

static void heap_release(struct buf *b)
{
    srv.heap -= b->cap;
    free(b);
}

API struct buf *buf_new(size_t cap)
{
    struct buf *b = malloc(sizeof *b + cap);
    if (!b)
        abort();
    *b = (struct buf){ heap_release, cap, 1, 0 };
    srv.heap += cap;
    return b;
}

API struct buf *buf_get(struct buf *b)
{
    b->refs++;
    return b;
}

API void buf_put(struct buf *b)
{
    if (--b->refs == 0)
        b->release(b);
}

static struct buf *buf_printf(size_t cap, const char *fmt, const char *a, unsigned n)
{
    struct buf *b = buf_new(cap);
    int len = snprintf(b->data, cap, fmt, a, n);
    b->len = (size_t)len < cap ? (size_t)len : cap - 1;
    return b;
}

static void chain_add(struct chain *c, struct buf *b, enum chain_flag flag)
{
    struct segment *s = malloc(sizeof *s);
    if (!s)
        abort();
    *s = (struct segment){ NULL, b, 0, flag };
    *c->last = s;
    c->last = &s->next;
    c->pending += b->len;
}

static void chain_pop(struct chain *c)
{
    struct segment *s = c->first;
    if (!(c->first = s->next))
        c->last = &c->first;
    if (s->flag == CHAIN_OWN)
        buf_put(s->buf);
    free(s);
}

/* "Sends" up to most bytes. */
static size_t chain_drain(struct chain *c, size_t most)
{
    size_t done = 0;
    while (c->first && done < most) {
        struct segment *s = c->first;
        size_t n = s->buf->len - s->off;
        if (n > most - done)
            n = most - done;
        for (size_t i = 0; i < n; i++)
            srv.sum = srv.sum * 31 + (unsigned char)s->buf->data[s->off + i];
        s->off += n;
        done += n;
        c->pending -= n;
        if (s->off == s->buf->len)
            chain_pop(c);
    }
    return done;
}

API struct conn *conn_new(struct host *h, unsigned id)
{
    struct conn *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    *c = (struct conn){ .host = h, .id = id, .refs = 1 };
    c->out.last = &c->out.first;
    srv.accepted++;
    return c;
}

API struct conn *conn_get(struct conn *c)
{
    c->refs++;
    return c;
}

API void conn_put(struct conn *c)
{
    if (--c->refs)
        return;
    while (c->out.first)
        chain_pop(&c->out);
    srv.closed++;
    free(c);
}

static void conn_ready(struct conn *c)
{
    if (c->queued)
        return;
    c->queued = 1;
    c->next_ready = NULL;
    *srv.ready_last = conn_get(c);
    srv.ready_last = &c->next_ready;
}

static void conn_close(unsigned i)
{
    conn_put(srv.conn[i]);
    srv.conn[i] = NULL;
}

static void host_init(struct host *h, unsigned id)
{
    snprintf(h->name, sizeof h->name, "host%u.example", id);
    h->page[PAGE_NOT_FOUND] = buf_printf(384, "HTTP/1.1 404 Not Found\r\n\r\nNothing here, says %s (%u).\n", h->name, id);
    h->page[PAGE_TIMEOUT] = buf_printf(384, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n%s %u\n", h->name, id);
    h->page[PAGE_BUSY] = buf_printf(384, "HTTP/1.1 503 Busy\r\n\r\n%s has %u hands.\n", h->name, 2 * id + 2);
}

static void host_fini(struct host *h)
{
    for (unsigned i = 0; i < NPAGES; i++)
        buf_put(h->page[i]);
    for (unsigned i = 0; i < h->nfiles; i++)
        buf_put(h->file[i].buf);
}

/* Returns a reference. */
static struct buf *host_file(struct host *h, const char *name)
{
    struct buf *b;
    unsigned i;

    if (strlen(name) >= sizeof h->file[0].name || *name == '.')
        return NULL;
    for (i = 0; i < h->nfiles; i++)
        if (!strcmp(h->file[i].name, name))
            return buf_get(h->file[i].buf);
    b = buf_printf(1200, "<html>%s is %u letters long", name, strlen(name));
    for (; b->len < 500 + 60 * strlen(name); b->len++)
        b->data[b->len] = name[b->len % strlen(name)];
    if (i < NFILES) {
        strcpy(h->file[i].name, name);
        h->file[i].buf = buf_get(b);
        h->nfiles++;
    }
    return b;
}

static void request(struct conn *c, const char *name)
{
    struct buf *b;
    c->quiet = 0;
    c->requests++;
    if (c->out.pending > 900) {
        chain_add(&c->out, c->host->page[PAGE_BUSY], CHAIN_BORROW);
        srv.busy++;
    } else if ((b = host_file(c->host, name)) != NULL) {
        chain_add(&c->out, buf_printf(96, "HTTP/1.1 200 OK\r\nX-Name: %s\r\nContent-Length: %u\r\n\r\n", name, b->len), CHAIN_OWN);
        chain_add(&c->out, b, CHAIN_OWN);
    } else {
        chain_add(&c->out, c->host->page[PAGE_NOT_FOUND], CHAIN_BORROW);
        srv.not_found++;
    }
    conn_ready(c);
}

static void timeout(struct conn *c)
{
    c->closing = 1;
    srv.timeouts++;
#ifdef BUG
    chain_add(&c->out, c->host->page[PAGE_TIMEOUT], CHAIN_OWN); /* GUILTY */
#else
    chain_add(&c->out, c->host->page[PAGE_TIMEOUT], CHAIN_BORROW);
#endif
    conn_ready(c);
}

static void turn(void)
{
    struct conn *c, *list = srv.ready;

    srv.ready_last = &srv.ready;
    srv.ready = NULL;
    while ((c = list)) {
        list = c->next_ready;
        c->queued = 0;
        srv.sent += chain_drain(&c->out, MSS);
        if (c->out.pending)
            conn_ready(c);
        conn_put(c);
    }
    for (unsigned i = 0; i < NCONNS; i++) {
        if (!(c = srv.conn[i]))
            continue;
        if (c->closing && !c->out.pending)
            conn_close(i);
        else if (!c->closing && !c->out.pending && ++c->quiet > IDLE)
            timeout(c);
    }
}

static unsigned rnd(unsigned n)
{
    static unsigned seed = 11;
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

int main(void)
{
    static const char *const names[] = { "index", "about", ".htaccess", "prices", "a-very-long-name", "news", "map", "jobs",
                                         "team", "index", "prices", "terms" };

    srv.ready_last = &srv.ready;
    for (unsigned i = 0; i < NHOSTS; i++)
        host_init(&srv.host[i], i);
    for (unsigned t = 0; t < 150; t++) {
        for (unsigned i = 0; i < NCONNS; i++) {
            struct conn *c = srv.conn[i];
            if (!c && t < 100 && rnd(9) == 0)
                srv.conn[i] = conn_new(&srv.host[rnd(NHOSTS)], srv.accepted);
            else if (c && c->requests > 5 && rnd(4) == 0) /* the client goes */
                conn_close(i);
            else if (c && !c->closing && c->id % 13 != 7 && rnd(4) == 0)
                request(c, names[rnd(12)]);
        }
        turn();
    }
    for (unsigned i = 0; i < NCONNS; i++)
        if (srv.conn[i])
            conn_close(i);
    while (srv.ready)
        turn();
    printf("%lu bytes sent (%08lx), %u accepted, %u closed, %u timeouts, %u not found, %u busy\n", srv.sent,
           srv.sum & 0xffffffff, srv.accepted, srv.closed, srv.timeouts, srv.not_found, srv.busy);
    for (unsigned i = 0; i < NHOSTS; i++)
        host_fini(&srv.host[i]);
    return 0;
}
