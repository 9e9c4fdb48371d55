// fork, vfork and exec, with gets and puts on every side. Prints how the child ended.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conn.h"

struct conn *subject;

__attribute__((noinline)) static void use(int times) {
  for (int i = 0; i < times; i++) {
    conn_get(subject);
    conn_put(subject);
  }
  checkpoint();
}

static int end_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int forked(void) {
  pid_t child = fork();
  if (child == 0) {
    use(5);
    _exit(21);
  }
  use(3);
  return end_of(child);
}

static int vforked(const char *self) {
  pid_t child = vfork();
  if (child == 0) {
    execl(self, self, "after-exec", (char *)NULL);
    _exit(99);
  }
  use(3);
  return end_of(child);
}

static int vforked_in_place(void) {
  pid_t child = vfork();
  if (child == 0) {
    use(2);  // in the parent's memory
    _exit(23);
  }
  use(3);
  return end_of(child);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "fork";
  subject = conn_new(1);
  if (strcmp(how, "after-exec") == 0) {
    use(5);
    conn_put(subject);
    return 22;
  }
  if (strcmp(how, "exec") == 0) {
    use(2);
    execl(argv[0], argv[0], "after-exec", (char *)NULL);
    return 99;
  }
  int ended;
  if (strcmp(how, "vfork") == 0)
    ended = vforked(argv[0]);
  else if (strcmp(how, "vfork-in-place") == 0)
    ended = vforked_in_place();
  else
    ended = forked();
  printf("child %d\n", ended);
  conn_put(subject);
  return 4;
}
