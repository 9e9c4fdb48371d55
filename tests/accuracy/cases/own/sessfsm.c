/* summary: dispatch() takes its own reference to the session only after the handler ran, which may have dropped the table's (last) reference on a reject; counts are balanced but the get comes too late (get on a freed session, then a second free)
 * kind: late-get
 * counts: none
 * objects: 12
 * track: own
 * build: gcc -O3 -g -pthread
 * exit: 0
 */
/*
 * sessfsm - signalling sessions of a small call server.
 *
 * Frames arrive on a feeder thread and are handed to the dispatcher, which
 * drives one state machine per session.  A handler may end its session.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SESSIONS 256
#define RING         64

enum state { IDLE, RINGING, TALKING, HELD, CLOSED, N_STATES };
enum event { EV_INVITE, EV_ANSWER, EV_HOLD, EV_RESUME, EV_BYE, EV_REJECT, N_EVENTS };

struct session {
    uint32_t id;
    atomic_int nref;
    enum state state;
    unsigned frames;
    unsigned long octets;
    char peer[24];
    struct session *billing_next;
};

struct frame {
    uint32_t session;
    enum event ev;
    unsigned len;
    int last;
};

struct server {
    struct session *table[MAX_SESSIONS];
    struct session *billing;            /* closed calls waiting for the record */
    unsigned opened, closed, rejected, strays, records;
    unsigned long octets, frames;
    unsigned per_state[N_STATES];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t nonempty, nonfull;
    struct frame slot[RING];
    unsigned head, tail;
} ring = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
           { { 0 } }, 0, 0 };

/* ----------------------------------------------------------- session life */

static struct session *session_open(struct server *sv, uint32_t id)
{
    struct session *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    s->id = id;
    atomic_init(&s->nref, 1);           /* the table's */
    s->state = IDLE;
    snprintf(s->peer, sizeof s->peer, "sip:%u@pbx", id);
    sv->table[id % MAX_SESSIONS] = s;
    sv->opened++;
    return s;
}

static void session_get(struct session *s)
{
    atomic_fetch_add_explicit(&s->nref, 1, memory_order_relaxed);
}

static void session_put(struct session *s)
{
    if (atomic_fetch_sub_explicit(&s->nref, 1, memory_order_acq_rel) == 1) {
        memset(s->peer, 0, sizeof s->peer);
        free(s);
    }
}

static void session_remove(struct server *sv, struct session *s)
{
    struct session **p = &sv->table[s->id % MAX_SESSIONS];

    if (*p != s)
        return;
    *p = NULL;
    session_put(s);
}

/* ---------------------------------------------------------- state machine */

typedef enum state (*handler_fn)(struct server *sv, struct session *s, const struct frame *f);

static enum state on_invite(struct server *sv, struct session *s, const struct frame *f)
{
    (void)sv;
    s->octets += f->len;
    return RINGING;
}

static enum state on_answer(struct server *sv, struct session *s, const struct frame *f)
{
    (void)sv;
    s->octets += f->len;
    return TALKING;
}

static enum state on_hold(struct server *sv, struct session *s, const struct frame *f)
{
    (void)sv;
    (void)f;
    s->frames += 1;
    return HELD;
}

/* A finished call stays alive until its billing record is written. */
static enum state on_bye(struct server *sv, struct session *s, const struct frame *f)
{
    s->octets += f->len;
    session_get(s);
    s->billing_next = sv->billing;
    sv->billing = s;
    sv->closed++;
    session_remove(sv, s);
    return CLOSED;
}

/* A rejected call is not billed. */
static enum state on_reject(struct server *sv, struct session *s, const struct frame *f)
{
    (void)f;
    sv->rejected++;
    session_remove(sv, s);
    return CLOSED;
}

static const handler_fn handlers[N_STATES][N_EVENTS] = {
    [IDLE]    = { [EV_INVITE] = on_invite, [EV_REJECT] = on_reject },
    [RINGING] = { [EV_ANSWER] = on_answer, [EV_BYE] = on_bye, [EV_REJECT] = on_reject },
    [TALKING] = { [EV_HOLD] = on_hold, [EV_BYE] = on_bye },
    [HELD]    = { [EV_RESUME] = on_answer, [EV_BYE] = on_bye },
};

static void dispatch(struct server *sv, const struct frame *f)
{
    struct session *s = sv->table[f->session % MAX_SESSIONS];
    enum state next;
    handler_fn fn;

    if (s == NULL) {
        if (f->ev != EV_INVITE) {
            sv->strays++;
            return;
        }
        s = session_open(sv, f->session);
    }
    fn = handlers[s->state][f->ev];
    if (fn == NULL) {
        sv->strays++;
        return;
    }
#ifdef BUG
    next = fn(sv, s, f); /* ACCEPTED */
    session_get(s); /* GUILTY */
#else
    session_get(s);
    next = fn(sv, s, f);
#endif
    s->state = next;
    s->frames++;
    sv->frames++;
    sv->per_state[next]++;
    session_put(s);
}

static void write_records(struct server *sv)
{
    while (sv->billing) {
        struct session *s = sv->billing;

        sv->billing = s->billing_next;
        sv->octets += s->octets;
        sv->records += s->peer[0] == 's';
        session_put(s);
    }
}

/* ----------------------------------------------------------------- frames */

static void ring_push(const struct frame *f)
{
    pthread_mutex_lock(&ring.lock);
    while (ring.head - ring.tail == RING)
        pthread_cond_wait(&ring.nonfull, &ring.lock);
    ring.slot[ring.head++ % RING] = *f;
    pthread_cond_signal(&ring.nonempty);
    pthread_mutex_unlock(&ring.lock);
}

static struct frame ring_pop(void)
{
    struct frame f;

    pthread_mutex_lock(&ring.lock);
    while (ring.head == ring.tail)
        pthread_cond_wait(&ring.nonempty, &ring.lock);
    f = ring.slot[ring.tail++ % RING];
    pthread_cond_signal(&ring.nonfull);
    pthread_mutex_unlock(&ring.lock);
    return f;
}

static void *feeder(void *arg)
{
    static const enum event normal[] = { EV_INVITE, EV_ANSWER, EV_HOLD, EV_RESUME, EV_BYE };
    unsigned calls = *(unsigned *)arg;

    for (unsigned c = 0; c < calls; c++) {
        struct frame f = { .session = 1000 + c };

        if (c % 20 == 13) {                 /* callee is busy */
            f.ev = EV_INVITE;
            f.len = 300;
            ring_push(&f);
            f.ev = EV_REJECT;
            ring_push(&f);
            continue;
        }
        for (unsigned i = 0; i < sizeof normal / sizeof normal[0]; i++) {
            f.ev = normal[i];
            f.len = 120 + (c * 7 + i * 13) % 400;
            ring_push(&f);
        }
        usleep(400);
    }
    ring_push(&(struct frame){ .last = 1 });
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned calls = argc > 1 ? (unsigned)atoi(argv[1]) : 240;
    static struct server sv;
    pthread_t thread;
    struct frame f;

    pthread_create(&thread, NULL, feeder, &calls);
    for (f = ring_pop(); !f.last; f = ring_pop()) {
        dispatch(&sv, &f);
        if (sv.frames % 64 == 0)
            write_records(&sv);
    }
    pthread_join(thread, NULL);
    write_records(&sv);
    for (unsigned i = 0; i < MAX_SESSIONS; i++)
        if (sv.table[i])
            session_remove(&sv, sv.table[i]);

    printf("opened %u closed %u rejected %u strays %u records %u octets %lu talking %u\n",
           sv.opened, sv.closed, sv.rejected, sv.strays, sv.records, sv.octets,
           sv.per_state[TALKING]);
    return 0;
}
