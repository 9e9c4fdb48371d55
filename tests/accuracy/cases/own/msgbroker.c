/* summary: publish(): msgq_push() takes over the reference for MSGQ_OK and for MSGQ_SPILLED, only a negative result leaves it with the caller; the wrong test (rc != MSGQ_OK) also unrefs spilled messages, which the queue still holds and unrefs again after delivery.
 * kind: extra-put
 * counts: deficit
 * objects: 4
 * track: own
 * build: gcc -g -O1
 * exit: 0
 */
#ifndef MSGQ_H
#define MSGQ_H
#include <stddef.h>

typedef struct msg msg_t;
typedef struct msgq msgq_t;

msg_t *msg_new(unsigned topic, const char *body);
msg_t *msg_ref(msg_t *m);
void msg_unref(msg_t *m);
unsigned msg_topic(const msg_t *m);
const char *msg_body(const msg_t *m);
void msg_set_attempt(msg_t *m, unsigned n);

enum {
    MSGQ_OK = 0,        /* queued */
    MSGQ_SPILLED = 1,   /* queue full, parked on the overflow list */
    MSGQ_CLOSED = -1,   /* queue shut down, nothing done */
};

msgq_t *msgq_new(size_t depth);
/* Takes over the caller's reference unless a negative value is returned. */
int msgq_push(msgq_t *q, msg_t *m);
/* Passes the caller a reference, or returns NULL when there is nothing. */
msg_t *msgq_pop(msgq_t *q);
void msgq_close(msgq_t *q);
void msgq_free(msgq_t *q);
#endif

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct msg {
    unsigned long long trace_id;
    unsigned long long flags;
    atomic_int refs;
    unsigned topic;
    unsigned attempt;
    char body[64];
};

#define SPILL_MAX 16

struct msgq {
    size_t depth, head, len;
    size_t spill_len;
    int closed;
    msg_t *spill[SPILL_MAX];
    msg_t *slot[];
};

static unsigned long long next_trace = 1;

msg_t *msg_new(unsigned topic, const char *body)
{
    msg_t *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    m->trace_id = next_trace++;
    m->topic = topic;
    atomic_init(&m->refs, 1);
    snprintf(m->body, sizeof m->body, "%s", body);
    return m;
}

msg_t *msg_ref(msg_t *m)
{
    atomic_fetch_add(&m->refs, 1);
    return m;
}

void msg_unref(msg_t *m)
{
    if (m && atomic_fetch_sub(&m->refs, 1) == 1)
        free(m);
}

unsigned msg_topic(const msg_t *m) { return m->topic; }
const char *msg_body(const msg_t *m) { return m->body; }
void msg_set_attempt(msg_t *m, unsigned n) { m->attempt = n; }

msgq_t *msgq_new(size_t depth)
{
    msgq_t *q = calloc(1, sizeof *q + depth * sizeof q->slot[0]);
    if (!q)
        abort();
    q->depth = depth;
    return q;
}

int msgq_push(msgq_t *q, msg_t *m)
{
    if (q->closed)
        return MSGQ_CLOSED;
    if (q->len == q->depth) {
        if (q->spill_len == SPILL_MAX)
            return MSGQ_CLOSED;
        q->spill[q->spill_len++] = m;
        return MSGQ_SPILLED;
    }
    q->slot[(q->head + q->len++) % q->depth] = m;
    return MSGQ_OK;
}

msg_t *msgq_pop(msgq_t *q)
{
    msg_t *m;

    if (q->len == 0)
        return NULL;
    m = q->slot[q->head];
    q->head = (q->head + 1) % q->depth;
    q->len--;
    if (q->spill_len) {
        q->slot[(q->head + q->len++) % q->depth] = q->spill[0];
        q->spill_len--;
        memmove(q->spill, q->spill + 1, q->spill_len * sizeof q->spill[0]);
    }
    return m;
}

void msgq_close(msgq_t *q) { q->closed = 1; }

void msgq_free(msgq_t *q)
{
    msg_t *m;

    while ((m = msgq_pop(q)))
        msg_unref(m);
    free(q);
}

/* msgbroker - publish sensor readings to topics, deliver them once per tick */
#include <stdio.h>
#include <string.h>

#define TOPICS 4
#define DEPTH  3
#define TICKS  40

static const char *const topic_names[TOPICS] = {
    "temperature", "pressure", "humidity", "alarm"
};

/* "tick topic" pairs: sensors which report more than usual in that tick */
static const char burst_config[] =
    "# calibration runs\n"
    "7 0\n"
    "19 2\n"
    "25 3\n"
    "31 1\n";

static struct {
    unsigned published, spilled, refused, delivered;
    unsigned long sum;
} stats;

/* Last message of each topic, for late subscribers; kept until exit. */
static msg_t *retained[TOPICS];

static unsigned readings_for(unsigned tick, unsigned topic)
{
    const char *p = burst_config;
    unsigned t, s;

    while (*p) {
        if (*p != '#' && sscanf(p, "%u %u", &t, &s) == 2 &&
            t == tick && s == topic)
            return DEPTH + 1;
        p = strchr(p, '\n');
        if (!p)
            break;
        p++;
    }
    return (tick + topic) % 3;
}

static void retain(msg_t *m)
{
    unsigned t = msg_topic(m);

    msg_ref(m);
    msg_unref(retained[t]);
    retained[t] = m;
}

static int publish(msgq_t *q, unsigned topic, unsigned tick, unsigned n)
{
    char text[64];
    msg_t *m;
    int rc;

    snprintf(text, sizeof text, "%s/%u/%u", topic_names[topic], tick, n);
    m = msg_new(topic, text);
    msg_set_attempt(m, 1);
    stats.published++;
    if (n == 0)
        retain(m);

    rc = msgq_push(q, m);
    if (rc == MSGQ_SPILLED)
        stats.spilled++;
    else if (rc < 0)
        stats.refused++;

    /* not queued: still ours */
#ifdef BUG
    if (rc != MSGQ_OK)
#else
    if (rc < 0)
#endif
        msg_unref(m);                               /* GUILTY */
    return rc;
}

static void deliver(msgq_t *q)
{
    msg_t *m;

    while ((m = msgq_pop(q))) {
        const char *p;

        for (p = msg_body(m); *p; p++)
            stats.sum = stats.sum * 33 + (unsigned char)*p;
        stats.sum &= 0xffffffff;
        stats.delivered++;
        msg_unref(m);
    }
}

int main(void)
{
    msgq_t *queue[TOPICS];
    unsigned tick, t, n;

    for (t = 0; t < TOPICS; t++)
        queue[t] = msgq_new(DEPTH);

    for (tick = 0; tick < TICKS; tick++) {
        for (t = 0; t < TOPICS; t++) {
            unsigned count = readings_for(tick, t);
            for (n = 0; n < count; n++)
                publish(queue[t], t, tick, n);
            /* the alarm topic is delivered late, with the next tick */
            if (t != 3)
                deliver(queue[t]);
        }
        if (tick % 2)
            deliver(queue[3]);
    }

    /* an orderly shutdown: late publishers are refused, the rest is dropped */
    for (t = 0; t < TOPICS; t++) {
        publish(queue[t], t, tick, 1);
        msgq_close(queue[t]);
        publish(queue[t], t, tick, 2);
    }
    for (t = 0; t < TOPICS; t++)
        msgq_free(queue[t]);

    printf("published %u spilled %u refused %u delivered %u\n",
           stats.published, stats.spilled, stats.refused, stats.delivered);
    printf("checksum %08lx\n", stats.sum);
    for (t = 0; t < TOPICS; t++)
        printf("retained %s: %s\n", topic_names[t], msg_body(retained[t]));
    return 0;
}
