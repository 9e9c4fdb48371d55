// A type that is counted by hand and by macros: no function takes or gives back a reference.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

APART void checkpoint(void) { __asm__ volatile(""); }

struct conn {
  int fd;
  char buffer[36];
  int refs;
};
struct request {
  struct conn *conn;
  int cost;
};

/// What holds a number of the same name, and is no counted type: nobody gives it back by that.
struct stats {
  long seen;
  char pad[32];
  int refs;
};
static struct stats *stats;

APART static void conn_destroy(struct conn *conn) {
  conn->fd = -1;
  free(conn);
}

APART static struct conn *conn_open(int fd) {
  struct conn *conn = calloc(1, sizeof *conn);
  conn->fd = fd;
  conn->refs = 1;
  return conn;
}

APART static struct request *request_start(struct conn *conn, int cost) {
  struct request *request = malloc(sizeof *request);
  conn->refs++;
  request->conn = conn;
  request->cost = cost;
  return request;
}

APART static int request_end(struct request *request, int wrong) {
  const int result = request->cost * request->conn->fd;
  if (wrong) {  // the leak
    free(request);
    return result;
  }
  if (--request->conn->refs == 0) conn_destroy(request->conn);
  free(request);
  return result;
}

APART static void conn_close(struct conn *conn) {
  if (--conn->refs == 0) conn_destroy(conn);
}

APART static void note(struct stats *to) {
  to->refs++;
  if (to->refs > 3) to->refs--;
}

int main(int argc, char **argv) {
  const int wrong = argc > 1 && strcmp(argv[1], "leak") == 0;
  int sum = 0;
  stats = calloc(1, sizeof *stats);
  for (int i = 1; i < 6; i++) {
    struct conn *conn = conn_open(i);
    struct request *first = request_start(conn, 1);
    struct request *second = request_start(conn, i);
    note(stats);
    sum += request_end(first, 0) + request_end(second, wrong && i == 3);
    conn_close(conn);
  }
  printf("%d %d\n", sum, stats->refs);
  checkpoint();
  return 0;
}
