// Goes on after its debugger: workers make and give back objects until the program is told to come to its
// end; then it forks, loads a library, and ends with a status of its own.
//   killed_debugger THREADS READY GO [forks]
// writes a byte to the file READY once all threads work, and ends on a byte from GO. forks: until then it
// makes children all the time, which must come to their own ends.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workers.h"

static int child_status(void) {
  const pid_t child = fork();
  if (child == 0) {
    struct conn *conn = conn_new(1);
    conn_get(conn);
    conn_put(conn);
    conn_put(conn);
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

static void make_children(int go) {
  struct pollfd end = {go, POLLIN, 0};
  int failed = 0, last = 0;
  while (poll(&end, 1, 0) == 0) {
    usleep(5000);  // as long as a debugger takes for a fork
    const int status = child_status();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) continue;
    failed++;
    last = status;
  }
  printf("failed %d\nlast %d\n", failed, last);
}

int main(int argc, char **argv) {
  pthread_t threads[MOST_THREADS];
  char byte;
  const int count = argc > 3 ? atoi(argv[1]) : 0;
  if (count < 1 || count > MOST_THREADS) return 2;
  start_workers(threads, count);
  const int go = open(argv[3], O_RDONLY);
  const int ready = open(argv[2], O_WRONLY);
  if (ready < 0 || write(ready, "r", 1) != 1) return 2;
  if (argc > 4 && strcmp(argv[4], "forks") == 0) make_children(go);
  if (read(go, &byte, 1) != 1) return 2;
  leave = 1;
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  const int status = child_status();
  void *library = dlopen("libutil.so.1", RTLD_NOW);
  if (library == NULL || dlclose(library) != 0) return 2;
  printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return 7;
}
