/* summary: handle_reply drops a reply that nobody waits for any more, but returns without giving the message back
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: json_object
 * packages: json-c
 * libs: -pthread
 * build: gcc -O2 -g
 * exit: 0
 */
/* A small JSON-RPC client end. Frames arrive in pieces of any size and are cut by an incremental tokener;
 * notifications go to a worker thread, replies to the table of waiting calls. */
#include <json-c/json.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CALLS 48
#define CHUNK 23

struct call {
  int id;
  int waiting;
  struct json_object *result; /* owned */
};

struct note {
  struct json_object *msg; /* owned by the queue, then by the worker */
  struct note *next;
};

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t more;
  struct note *head, **tail;
  int closed;
};

struct client {
  struct json_tokener *tok;
  struct call calls[MAX_CALLS];
  int ncalls;
  struct queue notes;
  struct json_object *last_status; /* owned, written by the worker only */
  int replies, late, refused, broken, noted;
};

static void queue_push(struct queue *q, struct json_object *msg) {
  struct note *n = calloc(1, sizeof(*n));

  n->msg = msg;
  pthread_mutex_lock(&q->lock);
  *q->tail = n;
  q->tail = &n->next;
  pthread_cond_signal(&q->more);
  pthread_mutex_unlock(&q->lock);
}

static struct json_object *queue_pop(struct queue *q) {
  struct json_object *msg = NULL;
  struct note *n;

  pthread_mutex_lock(&q->lock);
  while (!q->head && !q->closed)
    pthread_cond_wait(&q->more, &q->lock);
  n = q->head;
  if (n) {
    q->head = n->next;
    if (!q->head)
      q->tail = &q->head;
    msg = n->msg;
  }
  pthread_mutex_unlock(&q->lock);
  free(n);
  return msg;
}

static void *note_worker(void *arg) {
  struct client *c = arg;
  struct json_object *msg, *params;

  while ((msg = queue_pop(&c->notes))) {
    if (json_object_object_get_ex(msg, "params", &params)) {
      json_object_put(c->last_status);
      c->last_status = json_object_get(params);
    }
    c->noted++;
    json_object_put(msg);
  }
  return NULL;
}

static struct call *find_call(struct client *c, int id) {
  for (int i = 0; i < c->ncalls; i++)
    if (c->calls[i].id == id && c->calls[i].waiting)
      return &c->calls[i];
  return NULL;
}

static void start_call(struct client *c, int id) {
  struct call *k = &c->calls[c->ncalls++];

  k->id = id;
  k->waiting = 1;
}

/* Takes over msg. */
static void handle_reply(struct client *c, struct json_object *msg, int id) {
  struct json_object *result;
  struct call *k = find_call(c, id);

  if (!k) {
    c->late++; /* ACCEPTED */
#ifdef BUG
    return; /* GUILTY */
#else
    json_object_put(msg);
    return;
#endif
  }
  k->waiting = 0;
  if (!json_object_object_get_ex(msg, "result", &result)) {
    c->refused++;
    json_object_put(msg);
    return;
  }
  k->result = json_object_get(result);
  c->replies++;
  json_object_put(msg);
}

/* Takes over msg. */
static void dispatch(struct client *c, struct json_object *msg) {
  struct json_object *field;

  if (!json_object_is_type(msg, json_type_object)) {
    c->broken++;
    json_object_put(msg);
    return;
  }
  if (json_object_object_get_ex(msg, "method", &field)) {
    queue_push(&c->notes, msg);
    return;
  }
  if (!json_object_object_get_ex(msg, "id", &field) || !json_object_is_type(field, json_type_int)) {
    c->broken++;
    json_object_put(msg);
    return;
  }
  handle_reply(c, msg, json_object_get_int(field));
}

static void feed(struct client *c, const char *p, int len) {
  while (len > 0) {
    struct json_object *msg = json_tokener_parse_ex(c->tok, p, len);
    enum json_tokener_error err = json_tokener_get_error(c->tok);
    int used = (int)json_tokener_get_parse_end(c->tok);

    if (err == json_tokener_continue)
      return;
    if (err != json_tokener_success) {
      const char *nl = memchr(p, '\n', len);

      c->broken++;
      json_tokener_reset(c->tok);
      used = nl ? (int)(nl - p) + 1 : len;
    } else if (msg) {
      dispatch(c, msg);
    }
    p += used;
    len -= used;
  }
}

static int make_stream(char *out, size_t size) {
  size_t n = 0;

  for (int i = 0; i < 40; i++) {
    if (i % 4 == 1)
      n += snprintf(out + n, size - n, "{\"method\":\"status\",\"params\":{\"load\":%d}}\n", i);
    if (i == 9 || i == 22 || i == 31) /* answered twice by the far end */
      n += snprintf(out + n, size - n, "{\"id\":%d,\"result\":{\"size\":0}}\n", i - 1);
    if (i % 10 == 7)
      n += snprintf(out + n, size - n, "{\"id\":%d,\"error\":{\"code\":-32601}}\n", i);
    else
      n += snprintf(out + n, size - n, "{\"id\":%d,\"result\":{\"size\":%d,\"names\":[\"a\",\"b%d\"]}}\n", i, i * 3, i);
    if (i % 13 == 5)
      n += snprintf(out + n, size - n, "{\"id\":\"x%d\"}\n[%d]\n", i, i);
  }
  return (int)n;
}

int main(void) {
  static char stream[8192];
  struct client c;
  pthread_t worker;
  long sum = 0;
  int len = make_stream(stream, sizeof(stream));

  memset(&c, 0, sizeof(c));
  pthread_mutex_init(&c.notes.lock, NULL);
  pthread_cond_init(&c.notes.more, NULL);
  c.notes.tail = &c.notes.head;
  c.tok = json_tokener_new();
  for (int i = 0; i < 40; i++)
    start_call(&c, i);
  pthread_create(&worker, NULL, note_worker, &c);
  for (int off = 0; off < len; off += CHUNK)
    feed(&c, stream + off, len - off < CHUNK ? len - off : CHUNK);

  pthread_mutex_lock(&c.notes.lock);
  c.notes.closed = 1;
  pthread_cond_signal(&c.notes.more);
  pthread_mutex_unlock(&c.notes.lock);
  pthread_join(worker, NULL);

  for (int i = 0; i < c.ncalls; i++) {
    struct json_object *size;

    if (c.calls[i].result && json_object_object_get_ex(c.calls[i].result, "size", &size))
      sum += json_object_get_int(size);
    json_object_put(c.calls[i].result);
  }
  json_object_put(c.last_status);
  json_tokener_free(c.tok);
  printf("replies %d late %d refused %d broken %d notes %d sum %ld\n", c.replies, c.late, c.refused, c.broken, c.noted,
         sum);
  return 0;
}
