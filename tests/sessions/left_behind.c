// What holds a reference is freed, and the reference is not given back: by free, or by a wrapper of it.
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noipa))
#endif
#define SESSIONS 6

struct key {
  int refs;
  int number;
};
struct user {
  int number;
  struct key *key;
  char *name;
};
struct session {
  int number;
  struct user *user;
  struct key *key;
  struct key *spare;
};

CALL struct key *key_new(int number) {
  struct key *key = calloc(1, sizeof *key);
  key->refs = 1;
  key->number = number;
  return key;
}
CALL struct key *key_get(struct key *key) {
  key->refs++;
  return key;
}
CALL void key_put(struct key *key) {
  if (key != NULL && --key->refs == 0) free(key);
}
CALL void forget(void *memory) {
  if (memory != NULL) free(memory);
}

// -- what holds keys --------------------------------------------------------------------------------------

CALL struct user *user_new(int number) {
  struct user *user = calloc(1, sizeof *user);
  user->number = number;
  user->name = strdup("somebody");
  user->key = key_new(number);
  return user;
}
CALL void user_free(struct user *user) {
  forget(user->name);
  key_put(user->key);
  forget(user);
}
CALL void user_drop(struct user *user) {
  forget(user->name);
  forget(user);  // with its key
}
CALL void session_close(struct session *session) {
  key_put(session->spare);
  session->spare = NULL;
}
CALL struct session *session_new(int number, struct key *key, struct user *user) {
  struct session *session = calloc(1, sizeof *session);
  session->user = user;
  if (user == NULL) {
    free(session);  // nothing is in it yet
    return NULL;
  }
  session->number = number;
  session->key = key_get(key);
  return session;
}
CALL void session_reserve(struct session *session, struct key *key) { session->spare = key_get(key); }
CALL void session_free(struct session *session) {
  session_close(session);
  key_put(session->key);
  free(session);
}
CALL void session_drop(struct session *session) {
  session_close(session);
  free(session);  // with its key
}

static struct session *sessions[SESSIONS];
static struct user *users[SESSIONS];

CALL void open_all(void) {
  struct key *key = key_new(100);
  for (int i = 0; i < SESSIONS; i++) {
    users[i] = user_new(i);
    session_new(i, key, NULL);
    sessions[i] = session_new(i, key, users[i]);
    session_reserve(sessions[i], key);
  }
  key_put(key);
}
CALL void close_all(const char *what) {
  for (int i = 0; i < SESSIONS; i++) {
    if (strcmp(what, "session") == 0)
      session_drop(sessions[i]);
    else
      session_free(sessions[i]);
    if (strcmp(what, "user") == 0)
      user_drop(users[i]);
    else
      user_free(users[i]);
    sessions[i] = NULL;
    users[i] = NULL;
  }
}
// Nothing of the above stays on the stack.
CALL void clear_stack(void) {
  volatile char room[2048];
  for (unsigned i = 0; i < sizeof room; i++) room[i] = 0;
}

int main(int argc, char **argv) {
  open_all();
  close_all(argc > 1 ? argv[1] : "");
  clear_stack();
  return 0;
}
