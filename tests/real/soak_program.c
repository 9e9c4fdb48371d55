// Everything at once, for as long as one likes: threads that live and threads that come and go, a library
// that is loaded and unloaded, children, signals. Prints what it has done.
//   soak_program SECONDS THREADS LIBRARY
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct item {
  atomic_int refs;
  int number;
};

struct counts {
  atomic_long news, gets, puts;
};
static struct counts items, parts;
static atomic_long in_handlers, ended_threads, children, loads;
static _Atomic(struct item *) shared;
static time_t end_time;

__attribute__((noinline)) struct item *item_new(int number) {
  struct item *item = malloc(sizeof *item);
  atomic_init(&item->refs, 1);
  item->number = number;
  return item;
}
__attribute__((noinline)) struct item *item_get(struct item *item) {
  atomic_fetch_add(&item->refs, 1);
  return item;
}
__attribute__((noinline)) void item_put(struct item *item) {
  if (atomic_fetch_sub(&item->refs, 1) == 1) free(item);
}

static int over(void) { return time(NULL) >= end_time; }

// Own objects and the one that all share.
static void work(long rounds) {
  for (long i = 0; i < rounds; i++) {
    struct item *own = item_new((int)i);
    item_get(own);
    item_get(shared);
    item_put(own);
    item_put(shared);
    item_put(own);
  }
  atomic_fetch_add(&items.news, rounds);
  atomic_fetch_add(&items.gets, 2 * rounds);
  atomic_fetch_add(&items.puts, 3 * rounds);
}

static void on_signal(int number) {
  (void)number;
  item_get(shared);
  item_put(shared);
  atomic_fetch_add(&in_handlers, 1);
}

static void *live_long(void *unused) {
  while (!over()) work(1000);
  return unused;
}
static void *live_short(void *unused) {
  work(50);
  return unused;
}

static void *come_and_go(void *unused) {
  while (!over()) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, live_short, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    atomic_fetch_add(&ended_threads, 8);
    usleep(20000);
  }
  return unused;
}

static void *load_and_unload(void *path) {
  while (!over()) {
    void *library = dlopen(path, RTLD_NOW);
    void *(*part_new)(void) = (void *(*)(void))dlsym(library, "part_new");
    void (*part_get)(void *) = (void (*)(void *))dlsym(library, "part_get");
    void (*part_put)(void *) = (void (*)(void *))dlsym(library, "part_put");
    for (int i = 0; i < 100; i++) {
      void *part = part_new();
      part_get(part);
      part_put(part);
      part_put(part);
    }
    atomic_fetch_add(&parts.news, 100);
    atomic_fetch_add(&parts.gets, 100);
    atomic_fetch_add(&parts.puts, 200);
    atomic_fetch_add(&loads, 1);
    dlclose(library);
    usleep(200000);
  }
  return NULL;
}

static void *have_children(void *unused) {
  while (!over()) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 100; i++) {
        item_get(shared);
        item_put(shared);
      }
      _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(3);
    atomic_fetch_add(&children, 1);
    usleep(300000);
  }
  return unused;
}

static timer_t send_signals(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
  const struct itimerspec often = {{0, 2000000}, {0, 2000000}};
  timer_t timer;
  sigaction(SIGPROF, &action, NULL);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &often, NULL);
  return timer;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const int count = atoi(argv[2]);
  pthread_t *threads = calloc((size_t)count + 3, sizeof *threads);
  end_time = time(NULL) + atol(argv[1]);
  shared = item_new(-1);
  const timer_t timer = send_signals();
  pthread_create(&threads[0], NULL, come_and_go, NULL);
  pthread_create(&threads[1], NULL, load_and_unload, argv[3]);
  pthread_create(&threads[2], NULL, have_children, NULL);
  for (int i = 0; i < count; i++) pthread_create(&threads[3 + i], NULL, live_long, NULL);
  for (int i = 0; i < count + 3; i++) pthread_join(threads[i], NULL);
  timer_delete(timer);
  signal(SIGPROF, SIG_IGN);
  item_put(shared);
  const long handled = in_handlers;
  printf("item_new=%ld item_get=%ld item_put=%ld\n", items.news + 1, items.gets + handled,
         items.puts + handled + 1);
  printf("part_new=%ld part_get=%ld part_put=%ld\n", (long)parts.news, (long)parts.gets, (long)parts.puts);
  printf("signals=%ld threads=%ld children=%ld loads=%ld\n", handled, (long)ended_threads, (long)children,
         (long)loads);
  free(threads);
  return 6;
}
