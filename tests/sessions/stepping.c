// Sessions with a reference counter, for stepping through: gets, puts, one inside another, a leak.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
  char name[16];
  int nref;
  struct session *peer;
};
static struct session *last;

struct session *session_new(const char *name) {
  struct session *s = calloc(1, sizeof *s);
  s->nref = 1;
  strncpy(s->name, name, 15);
  return s;
}

struct session *session_ref(struct session *s) {
  __sync_fetch_and_add(&s->nref, 1);
  return s;
}

void session_unref(struct session *s) {
  if (!s) return;
  if (__sync_sub_and_fetch(&s->nref, 1) == 0) {
    session_unref(s->peer);
    free(s);
  }
}

static int parse(struct session *s, int i) {
  session_ref(s);
  if (i % 10 == 3) return -1;  // the leak
  session_unref(s);
  return 0;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 4;
  int bad = 0;
  (void)argv;
  for (int i = 0; i < n; i++) {
    struct session *s = session_new("one");
    if (i & 1) s->peer = session_new("peer");
    if (parse(s, i) < 0) bad++;
    session_unref(s);
  }
  last = session_new("kept");
  printf("%d bad\n", bad);
  return 7;
}
