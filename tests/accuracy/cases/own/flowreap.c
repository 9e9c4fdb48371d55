/* summary: table_lookup() takes a plain reference to a flow that is still in the table but whose count is zero already, the reaper frees it all the same
 * kind: late-get
 * counts: none
 * objects: 15
 * track: own
 * build: gcc -O3 -g -pthread
 * exit: 0
 */
/*
 * flowreap - count the traffic of network flows.  Packets are spread over the
 * workers by address; a worker has a reference to each of its flows between
 * the first and the last packet.  A flow without references stays in the
 * table until the reaper, once in a round, has written its totals down.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_WORKERS 3
#define N_BUCKETS 32
#define N_KEYS    16            /* of a worker */
#define N_ROUNDS  6
#define N_TOP     3

struct flow {
    struct flow *next;          /* in the bucket, not counted */
    struct flow *next_dead;
    uint32_t key;
    unsigned refs;              /* table_lock */
    unsigned dead;              /* on the reaper's list */
    unsigned packets;
    uint64_t bytes;
};

enum what { OPEN, DATA, CLOSE };

struct packet {
    enum what what;
    unsigned key, size;
};

struct worker {
    pthread_t thread;
    unsigned id, round;
    struct flow *open[N_KEYS];  /* a reference each */
    unsigned strays, n_packets;
};

static struct flow *table[N_BUCKETS];
static struct flow *dead_list;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_start, round_end;
static unsigned n_made, n_reaped;
static uint64_t total_bytes;

/* ---- flows; all but flow_drop() want table_lock -------------------------- */

__attribute__((noinline)) static struct flow *flow_new(uint32_t key)
{
    struct flow *f = calloc(1, sizeof *f);

    if (!f)
        abort();
    f->key = key;
    f->refs = 1;
    n_made++;
    return f;
}

static inline struct flow *flow_hold(struct flow *f)
{
    f->refs++;
    return f;
}

/* Only if the flow has not lost its last reference yet. */
static inline int flow_tryhold(struct flow *f)
{
    if (f->refs == 0)
        return 0;
    f->refs++;
    return 1;
}

__attribute__((noinline)) static void flow_drop(struct flow *f)
{
    pthread_mutex_lock(&table_lock);
    if (--f->refs == 0 && !f->dead) {
        f->dead = 1;
        f->next_dead = dead_list;
        dead_list = f;
    }
    pthread_mutex_unlock(&table_lock);
}

/* ---- the table ------------------------------------------------------------ */

/* Returns a reference; makes the flow if there is none and create is set. */
static struct flow *table_lookup(uint32_t key, int create)
{
    struct flow **bucket = &table[key * 2654435761u >> 27], *f;

    pthread_mutex_lock(&table_lock);
    for (f = *bucket; f; f = f->next) {
        if (f->key != key)
            continue;
#ifdef BUG
        flow_hold(f);                                           /* GUILTY */
        break;
#else
        if (flow_tryhold(f))
            break;
#endif
    }
    if (!f && create) {
        f = flow_new(key);
        f->next = *bucket;
        *bucket = f;
    }
    pthread_mutex_unlock(&table_lock);
    return f;
}

static void table_unlink(struct flow *f)
{
    struct flow **pp = &table[f->key * 2654435761u >> 27];

    while (*pp != f)
        pp = &(*pp)->next;
    *pp = f->next;
}

/* Free the flows that were given up during the round; the workers are idle. */
static void reap(void)
{
    struct flow *f;

    pthread_mutex_lock(&table_lock);
    while ((f = dead_list)) {
        dead_list = f->next_dead;
        table_unlink(f);
        total_bytes += f->bytes;
        n_reaped++;
        free(f);                                                /* ACCEPTED */
    }
    pthread_mutex_unlock(&table_lock);
}

/* The busiest flows that are open, with references; returns how many. */
static unsigned top_flows(struct flow *top[N_TOP])
{
    unsigned n = 0;

    pthread_mutex_lock(&table_lock);
    for (unsigned i = 0; i < N_BUCKETS; i++)
        for (struct flow *f = table[i]; f; f = f->next) {
            unsigned at;

            for (at = n; at > 0; at--)
                if (top[at - 1]->bytes > f->bytes
                    || (top[at - 1]->bytes == f->bytes && top[at - 1]->key < f->key))
                    break;
            if (at < N_TOP) {
                if (n < N_TOP)
                    n++;
                memmove(top + at + 1, top + at, (n - 1 - at) * sizeof *top);
                top[at] = f;
            }
        }
    for (unsigned i = 0; i < n; i++)
        flow_hold(top[i]);      /* the reaper was here: they all have owners */
    pthread_mutex_unlock(&table_lock);
    return n;
}

/* ---- workers -------------------------------------------------------------- */

static void handle_packet(struct worker *w, const struct packet *p)
{
    uint32_t key = w->id << 16 | p->key;
    struct flow *f;

    w->n_packets++;
    switch (p->what) {
    case OPEN:
        if (!w->open[p->key])
            w->open[p->key] = table_lookup(key, 1);
        break;
    case DATA:
        f = table_lookup(key, 0);
        if (!f) {
            w->strays++;
            break;
        }
        f->bytes += p->size;
        f->packets++;
        flow_drop(f);
        break;
    case CLOSE:
        f = w->open[p->key];
        w->open[p->key] = NULL;
        if (f)
            flow_drop(f);
        break;
    }
}

/* What comes in for a worker in a round. */
static void receive(struct worker *w, unsigned round)
{
    struct packet p = { OPEN, 0, 0 };

    for (p.key = 0; p.key < N_KEYS; p.key++) {
        unsigned age = (p.key + round + w->id) % 4;

        p.what = OPEN;
        if (age == 0)
            handle_packet(w, &p);
        p.what = DATA;
        for (unsigned i = 0; i < 1 + p.key % 5; i++) {
            p.size = 64 + (p.key * 37 + i * 101 + round) % 1400;
            handle_packet(w, &p);
        }
        p.what = CLOSE;
        if (age == 2 || round == N_ROUNDS - 1)
            handle_packet(w, &p);
    }
    /* a few go on right after their end: a late packet, or the port again */
    for (p.key = 0; p.key < N_KEYS; p.key++) {
        unsigned age = (p.key + round + w->id) % 4;
        int again = (p.key + round) % 6 == 1;

        if (age != 2 || (!again && (p.key + round) % 9 != 2))
            continue;
        p.what = OPEN;
        if (again)
            handle_packet(w, &p);
        p.what = DATA;
        handle_packet(w, &p);
        p.what = CLOSE;
        handle_packet(w, &p);
    }
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;

    for (w->round = 0; w->round < N_ROUNDS; w->round++) {
        pthread_barrier_wait(&round_start);
        receive(w, w->round);
        pthread_barrier_wait(&round_end);
    }
    return NULL;
}

int main(void)
{
    static struct worker workers[N_WORKERS];
    struct flow *top[N_TOP];
    unsigned strays = 0, packets = 0;

    pthread_barrier_init(&round_start, NULL, N_WORKERS + 1);
    pthread_barrier_init(&round_end, NULL, N_WORKERS + 1);
    for (unsigned i = 0; i < N_WORKERS; i++) {
        workers[i].id = i + 1;
        if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]))
            return 1;
    }
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        unsigned n;

        pthread_barrier_wait(&round_start);
        pthread_barrier_wait(&round_end);
        reap();
        n = top_flows(top);
        printf("round %u:", round);
        for (unsigned i = 0; i < n; i++) {
            printf(" %u/%u %llu", top[i]->key >> 16, top[i]->key & 0xffff, (unsigned long long)top[i]->bytes);
            flow_drop(top[i]);
        }
        putchar('\n');
    }
    for (unsigned i = 0; i < N_WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        strays += workers[i].strays;
        packets += workers[i].n_packets;
    }
    pthread_barrier_destroy(&round_start);
    pthread_barrier_destroy(&round_end);
    printf("%u packets, %u strays, %u flows, %llu bytes%s\n", packets, strays, n_reaped,
           (unsigned long long)total_bytes, n_made == n_reaped ? "" : ", flows left");
    return 0;
}
