/* summary: requests_run(): in the 'nobody waits for it' branch the request's reference is put before c->pending is read; the peer has already gone, so this is often the last reference and the connection is freed.
 * kind: use-after-put
 * counts: none
 * objects: 5
 * track: auto
 * packages: libuv
 * build: gcc -g -O1
 * exit: 0
 */
#ifndef CONN_H
#define CONN_H
#include <stdint.h>
#include <uv.h>

/* Counting for any object with a `refs` member. */
#define REF(o)          ((void)(o)->refs++, (o))
#define PUT(o, destroy) do {                    \
        if (--(o)->refs == 0)                   \
            destroy(o);                         \
    } while (0)

struct server;

/* Who holds a connection: its open uv handle, the server's table (while the
 * peer is there) and every request under way. */
typedef struct conn {
    uv_idle_t      idle;        /* data source: fires once per loop turn */
    unsigned       refs;
    unsigned       id;
    unsigned       budget;      /* bytes the peer is going to send */
    unsigned       seen, sent;
    unsigned       pending;
    int            gone;
    struct server *server;
} conn_t;

typedef struct request {
    conn_t         *conn;       /* a reference */
    unsigned        cost, tag;
    struct request *next;
} request_t;

struct server {
    uv_loop_t    *loop;
    uv_prepare_t  ticker;
    conn_t       *table[8];     /* a reference each */
    request_t    *queue, **tail;
    unsigned      turn, accepted, closed, destroyed;
    unsigned      served, aborted, orphaned, kicked;
    uint64_t      digest;
};

void conn_open(struct server *s, unsigned slot, unsigned budget);
void conn_shut(conn_t *c);
void conn_destroy(conn_t *c);
#define conn_get(c) REF(c)
#define conn_put(c) PUT(c, conn_destroy)

void request_push(conn_t *c, unsigned cost, unsigned tag);
void requests_run(struct server *s, unsigned capacity);

#endif

#include <stdlib.h>

static void on_closed(uv_handle_t *h)
{
    conn_t *c = h->data;

    c->server->closed++;
    conn_put(c);
}

static void on_idle(uv_idle_t *h)
{
    conn_t *c = h->data;
    unsigned chunk = 40 + (c->id * 13 + c->seen) % 60;

    if (chunk > c->budget - c->seen)
        chunk = c->budget - c->seen;
    c->seen += chunk;
    if (chunk)
        request_push(c, chunk, c->id * 100 + c->seen % 97);
    if (c->seen == c->budget)
        conn_shut(c);
}

void conn_open(struct server *s, unsigned slot, unsigned budget)
{
    conn_t *c = calloc(1, sizeof *c);

    c->id = ++s->accepted;
    c->budget = budget;
    c->server = s;
    uv_idle_init(s->loop, &c->idle);
    c->idle.data = c;
    c->refs = 1;                        /* the open handle */
    uv_idle_start(&c->idle, on_idle);
    s->table[slot] = conn_get(c);
}

/* The peer went away (or was sent away): leaves the table, closes the handle. */
void conn_shut(conn_t *c)
{
    struct server *s = c->server;

    if (c->gone)
        return;
    c->gone = 1;
    uv_close((uv_handle_t *)&c->idle, on_closed);
    for (unsigned i = 0; i < 8; i++) {
        if (s->table[i] == c) {
            s->table[i] = NULL;
            conn_put(c);
            break;
        }
    }
}

void conn_destroy(conn_t *c)
{
    struct server *s = c->server;

    s->destroyed++;
    s->digest = s->digest * 31 + c->id + c->sent;
    free(c);
}

void request_push(conn_t *c, unsigned cost, unsigned tag)
{
    request_t *r = malloc(sizeof *r);

    r->conn = conn_get(c);
    r->cost = cost;
    r->tag = tag;
    r->next = NULL;
    c->pending++;
    *c->server->tail = r;
    c->server->tail = &r->next;
}

static request_t *request_shift(struct server *s)
{
    request_t *r = s->queue;

    s->queue = r->next;
    if (!s->queue)
        s->tail = &s->queue;
    return r;
}

static unsigned work(unsigned tag, unsigned cost)
{
    uint32_t h = tag + 0x9e3779b9u;

    while (cost--)
        h = (h ^ h >> 15) * 2246822519u;
    return h;
}

/* Serves queued requests until the capacity of this turn is used up. */
void requests_run(struct server *s, unsigned capacity)
{
    while (s->queue && s->queue->cost <= capacity) {
        request_t *r = request_shift(s);
        conn_t *c = r->conn;

        capacity -= r->cost;
        c->pending--;
        if (c->gone && r->cost < 20) {
            /* only the rest of a stream, and nobody waits for it */
            s->aborted++;
#ifdef BUG
            conn_put(c);                        /* GUILTY */
            if (c->pending == 0)                /* GUILTY */
                s->orphaned++;
#else
            if (c->pending == 0)
                s->orphaned++;
            conn_put(c);
#endif
            free(r);
            continue;
        }
        s->digest = s->digest * 33 + work(r->tag, r->cost);
        c->sent += r->cost;
        s->served++;
        conn_put(c);
        free(r);
    }
}

/* uvrelay - connections on a libuv loop feed a shared request queue */
#include <stdio.h>
#include <stdlib.h>

/* turn, slot and size of the connections which come in */
static const struct arrival { unsigned turn, slot, budget; } arrivals[] = {
    {1,0,300}, {1,1,120}, {2,2,505}, {3,3,77},  {4,1,260}, {6,4,410}, {8,5,90},
    {9,3,333}, {11,0,64}, {12,6,700}, {13,1,150}, {15,6,222}, {17,0,480},
    {18,3,99}, {20,4,130}, {22,1,361}, {24,5,207}, {25,0,58}, {27,2,640},
    {28,2,175}, {30,6,290}, {32,1,84}, {33,4,512}, {35,0,141}, {37,5,266},
    {39,7,900}, {41,3,118}, {42,1,303}, {44,0,71}, {46,2,188},
};
#define N_ARRIVALS (sizeof arrivals / sizeof arrivals[0])

static void on_turn(uv_prepare_t *h)
{
    struct server *s = h->data;
    unsigned busy = 0;

    s->turn++;
    for (size_t i = 0; i < N_ARRIVALS; i++) {
        if (arrivals[i].turn != s->turn)
            continue;
        if (s->table[arrivals[i].slot]) {
            /* the slot is needed: whoever sits there has to go */
            s->kicked++;
            conn_shut(s->table[arrivals[i].slot]);
        }
        conn_open(s, arrivals[i].slot, arrivals[i].budget);
    }
    requests_run(s, 150 + s->turn % 3 * 40);
    for (unsigned i = 0; i < 8; i++)
        busy += s->table[i] != NULL;
    if (!busy && !s->queue && s->turn > 50)
        uv_close((uv_handle_t *)h, NULL);
}

static void on_spin(uv_idle_t *h) { (void)h; }

int main(void)
{
    uv_loop_t loop;
    struct server s = { 0 };
    uv_idle_t spin;             /* keeps the loop turning while we wait */

    uv_loop_init(&loop);
    s.loop = &loop;
    s.tail = &s.queue;
    uv_prepare_init(&loop, &s.ticker);
    s.ticker.data = &s;
    uv_prepare_start(&s.ticker, on_turn);
    uv_idle_init(&loop, &spin);
    uv_idle_start(&spin, on_spin);
    uv_unref((uv_handle_t *)&spin);

    uv_run(&loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&spin, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&loop) != 0)
        return 1;

    printf("turns %u accepted %u closed %u destroyed %u kicked %u\n", s.turn,
           s.accepted, s.closed, s.destroyed, s.kicked);
    printf("served %u aborted %u orphaned %u digest %016llx\n", s.served,
           s.aborted, s.orphaned, (unsigned long long)s.digest);
    return 0;
}
