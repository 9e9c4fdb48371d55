// A client that keeps the last reply of each connection. On one error path it forgets to give the
// reply back that it keeps.
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#define CONNECTIONS 420

struct conn {
  int id;
  int failures;
  struct json_object *last_reply;
};

static struct conn *conn_open(int id) {
  struct conn *conn = calloc(1, sizeof *conn);
  if (conn == NULL) abort();
  conn->id = id;
  return conn;
}

static void conn_close(struct conn *conn) {
  json_object_put(conn->last_reply);
  free(conn);
}

// Stands for the network: every 52nd request is answered with an error.
static struct json_object *conn_receive(const struct conn *conn) {
  char message[80];
  const char *status = conn->id % 52 == 17 ? "busy" : "ok";
  snprintf(message, sizeof message, "{\"id\": %d, \"status\": \"%s\"}", conn->id, status);
  return json_tokener_parse(message);
}

static const char *reply_status(struct json_object *reply) {
  struct json_object *status;
  if (!json_object_object_get_ex(reply, "status", &status)) return "";
  return json_object_get_string(status);
}

__attribute__((noinline)) static int request_failed(struct conn *conn, struct json_object *reply) {
  fprintf(stderr, "request %d failed: %s\n", conn->id, reply_status(reply));
  conn->failures++;
  return -1;
}

__attribute__((noinline)) static int handle_reply(struct conn *conn, struct json_object *reply) {
  struct json_object *kept = json_object_get(reply);
  if (reply_status(reply)[0] != 'o') return request_failed(conn, reply);
  conn->last_reply = kept;
  return 0;
}

int main(void) {
  int failed = 0;
  for (int id = 0; id < CONNECTIONS; id++) {
    struct conn *conn = conn_open(id);
    struct json_object *reply = conn_receive(conn);
    if (handle_reply(conn, reply) < 0) failed++;
    json_object_put(reply);
    conn_close(conn);
  }
  printf("%d requests, %d failed\n", CONNECTIONS, failed);
  return 0;
}
