/* summary: session_rotate() changes a session's token without taking the session out of the table of tokens first, so that nothing ever finds the old entry again
 * kind: held
 * counts: surplus
 * objects: 45
 * track: own
 * build: clang-14 -O0 -g
 * exit: 0
 */
/*
 * resume_tokens - the session layer of a chat server.  A client that loses its
 * connection comes back with a token and finds its session as it was; every
 * login and every resumption gives it a new token.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_BUCKETS 32
#define N_CONNS 45
#define MAX_QUEUE 6
struct ref {
  unsigned count;
  void (*release)(struct ref *ref);
};

struct message {
  struct message *next;
  char text[40];
};

struct session {
  char user[16];
  unsigned id;
  uint32_t token;
  struct ref ref;
  unsigned idle, delivered;
  struct message *queue, **tail; /* what came while nobody was connected */
  struct session *next;          /* sessions by id, counted */
};

struct token_entry {
  struct token_entry *next;
  uint32_t token;
  struct session *session; /* counted */
};

struct conn {
  struct session *session; /* counted, NULL while the line is down */
  uint32_t token;          /* as the client knows it */
  unsigned sent;
};

static struct session *sessions;
static struct token_entry *tokens[N_BUCKETS];
static struct conn conns[N_CONNS];
static unsigned n_opened, n_resumed, n_refused, n_expired, next_id;
static uint32_t token_state = 0x2545f491;

/* ---- counting -------------------------------------------------------------- */

static void session_release(struct ref *ref) {
  struct session *s = (struct session *)((char *)ref - offsetof(struct session, ref));
  struct message *m;

  while ((m = s->queue)) {
    s->queue = m->next;
    free(m);
  }
  free(s);
}

static void ref_init(struct ref *ref, void (*release)(struct ref *)) {
  ref->count = 1;
  ref->release = release;
}

struct session *session_get(struct session *s) {
  s->ref.count++;
  return s;
}

void session_put(struct session *s) {
  if (s && --s->ref.count == 0)
    s->ref.release(&s->ref);
}

struct session *session_new(const char *user) {
  struct session *s = calloc(1, sizeof *s);

  if (!s)
    abort();
  ref_init(&s->ref, session_release);
  snprintf(s->user, sizeof s->user, "%s", user);
  s->id = ++next_id;
  s->tail = &s->queue;
  n_opened++;
  return s;
}

/* ---- the table of tokens ------------------------------------------------------ */

static uint32_t fresh_token(void) {
  token_state ^= token_state << 13;
  token_state ^= token_state >> 17;
  token_state ^= token_state << 5;
  return token_state;
}

static void tokens_insert(struct session *s) {
  struct token_entry *e = malloc(sizeof *e);

  if (!e)
    abort();
  e->token = s->token;
  e->session = session_get(s);
  e->next = tokens[s->token % N_BUCKETS];
  tokens[s->token % N_BUCKETS] = e;
}

static void tokens_remove(struct session *s) {
  struct token_entry **pp, *e;

  for (pp = &tokens[s->token % N_BUCKETS]; (e = *pp); pp = &e->next)
    if (e->token == s->token) {
      *pp = e->next;
      session_put(e->session);
      free(e);
      return;
    }
}

/* Returns a reference, or NULL. */
static struct session *tokens_find(uint32_t token) {
  for (struct token_entry *e = tokens[token % N_BUCKETS]; e; e = e->next)
    if (e->token == token && e->session->token == token)
      return session_get(e->session);
  return NULL;
}

/* ---- sessions -------------------------------------------------------------------- */

/* Returns a reference for the caller besides those of the two tables. */
static struct session *session_open(const char *user) {
  struct session *s = session_new(user);

  s->next = sessions;
  sessions = session_get(s);
  s->token = fresh_token();
  tokens_insert(s);
  return s;
}

/* A token is good for one time only. */
static void session_rotate(struct session *s) {
#ifdef BUG
  s->token = fresh_token(); /* GUILTY */
#else
  tokens_remove(s);
  s->token = fresh_token();
#endif
  tokens_insert(s); /* ACCEPTED */
}

static void session_close(struct session *s) {
  struct session **pp = &sessions;

  session_get(s); /* the tables may have the last ones */
  tokens_remove(s); /* ACCEPTED */
  while (*pp && *pp != s)
    pp = &(*pp)->next;
  if (*pp) {
    *pp = s->next;
    session_put(s);
  }
  session_put(s);
}

static void session_deliver(struct session *s, struct conn *c, const char *text) {
  struct message *m;
  unsigned n = 0;

  s->delivered++;
  if (c->session == s) {
    c->sent += (unsigned)strlen(text);
    return;
  }
  for (m = s->queue; m; m = m->next)
    n++;
  if (n >= MAX_QUEUE || !(m = malloc(sizeof *m)))
    return;
  snprintf(m->text, sizeof m->text, "%s", text);
  m->next = NULL;
  *s->tail = m;
  s->tail = &m->next;
}

/* Sessions that nobody came back for. */
static void expire_idle(unsigned limit) {
  struct session *s, *next;

  for (s = sessions; s; s = next) {
    next = s->next;
    if (s->idle++ < limit)
      continue;
    n_expired++;
    session_close(s);
  }
}

/* ---- connections ------------------------------------------------------------------- */

static void conn_login(struct conn *c, unsigned i) {
  char user[16];

  snprintf(user, sizeof user, "user%u", i);
  c->session = session_open(user);
  if (i % 9 == 8) { /* wrong password: the session is of no use */
    session_rotate(c->session);
    session_close(c->session);
    session_put(c->session);
    c->session = NULL;
    n_refused++;
    return;
  }
  session_rotate(c->session); /* what was sent in the clear is void now */
  c->token = c->session->token;
}

static void conn_lost(struct conn *c) {
  session_put(c->session);
  c->session = NULL;
}

static void conn_resume(struct conn *c) {
  struct session *s = tokens_find(c->token);
  struct message *m;

  if (!s) {
    n_refused++;
    return;
  }
  while ((m = s->queue)) {
    s->queue = m->next;
    c->sent += (unsigned)strlen(m->text);
    free(m);
  }
  s->tail = &s->queue;
  s->idle = 0;
  session_rotate(s);
  c->token = s->token;
  c->session = s;
  n_resumed++;
}

static void conn_logout(struct conn *c) {
  session_close(c->session);
  conn_lost(c);
}

static void broadcast(const char *text) {
  for (struct session *s = sessions; s; s = s->next)
    session_deliver(s, &conns[s->id - 1], text);
}

int main(void) {
  unsigned long sent = 0;

  for (unsigned i = 0; i < N_CONNS; i++)
    conn_login(&conns[i], i);
  broadcast("welcome");
  for (unsigned i = 0; i < N_CONNS; i += 3)
    if (conns[i].session)
      conn_lost(&conns[i]);
  broadcast("somebody has left");
  expire_idle(2);
  for (unsigned i = 0; i < N_CONNS; i += 6)
    if (!conns[i].session)
      conn_resume(&conns[i]);
  broadcast("and some are back");
  for (unsigned i = 0; i < N_CONNS; i++)
    if (conns[i].session && i % 2)
      conn_logout(&conns[i]);
  for (unsigned turn = 0; turn < 4; turn++) {
    broadcast("tick");
    for (struct session *s = sessions; s; s = s->next)
      if (conns[s->id - 1].session)
        s->idle = 0;
    expire_idle(3);
  }
  for (unsigned i = 0; i < N_CONNS; i++) {
    if (conns[i].session)
      conn_logout(&conns[i]);
    sent += conns[i].sent;
  }
  printf("%u sessions, %u resumed, %u refused, %u expired, %lu bytes sent\n", n_opened, n_resumed, n_refused,
         n_expired, sent);
  return sessions != NULL;
}
