// The program whose events are timed. It does what the driver orders through a socket, so that several
// debuggers, each with a copy of this program, can be at work in turn without being started anew:
//   "pairs N D"  N events, half conn_get and half conn_put, each called D frames further in
//   "tries N D"  N events, all conn_try_get, whose outcome is known only when it returns
// Each order is answered by "done" once it is carried out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { kConns = 16 };

struct conn {
  int fd;
  int refs;
};

struct conn* conn_new(int fd) {
  struct conn* c = malloc(sizeof *c);
  if (c == NULL) abort();
  c->fd = fd;
  c->refs = 1;
  return c;
}

void conn_get(struct conn* c) { __atomic_add_fetch(&c->refs, 1, __ATOMIC_SEQ_CST); }

int conn_try_get(struct conn* c) {
  int refs = __atomic_load_n(&c->refs, __ATOMIC_SEQ_CST);
  while (refs > 0) {
    if (__atomic_compare_exchange_n(&c->refs, &refs, refs + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return 1;
  }
  return 0;
}

void conn_put(struct conn* c) {
  if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_SEQ_CST) == 0) free(c);
}

typedef void (*work)(struct conn* c);

static void serve(struct conn* c) {
  conn_get(c);
  conn_put(c);
}

static void try_serve(struct conn* c) {
  if (!conn_try_get(c)) abort();
}

static void descend(struct conn* c, int frames, work then) {
  if (frames > 0) {
    descend(c, frames - 1, then);
  } else {
    then(c);
  }
}

static struct conn* conns[kConns];

static void carry_out(const char* kind, int events, int frames) {
  const int try = strcmp(kind, "tries") == 0;
  for (int i = 0; i < (try ? events : events / 2); ++i) {
    descend(conns[i % kConns], frames, try ? try_serve : serve);
  }
}

static FILE* connect_to(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (const struct sockaddr*)&address, sizeof address) != 0) {
    perror(path);
    exit(1);
  }
  return fdopen(fd, "r+");
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s SOCKET\n", argv[0]);
    return 2;
  }
  for (int i = 0; i < kConns; ++i) conns[i] = conn_new(i);
  FILE* driver = connect_to(argv[1]);
  fprintf(driver, "ready %d\n", (int)getpid());
  fflush(driver);
  char order[64];
  while (fgets(order, sizeof order, driver) != NULL) {
    char kind[16];
    int events = 0;
    int frames = 0;
    if (sscanf(order, "%15s %d %d", kind, &events, &frames) != 3) break;
    carry_out(kind, events, frames);
    fprintf(driver, "done\n");
    fflush(driver);
  }
  return 0;
}
