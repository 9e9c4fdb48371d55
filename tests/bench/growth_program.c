// The program whose quantities grow one at a time (growth_quantities.py): growth_program KIND N
//
// It counts no events by itself: whoever calls it knows how many N of a kind make.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "growth_places.h"

struct obj {
  int refs;
  int kept;  // its memory is not freed, so that a put too many does no harm
};

__attribute__((noinline)) struct obj *obj_new(int kept) {
  struct obj *o = malloc(sizeof *o);
  o->refs = 1;
  o->kept = kept;
  return o;
}

__attribute__((noinline)) struct obj *obj_get(struct obj *o) {
  __atomic_add_fetch(&o->refs, 1, __ATOMIC_SEQ_CST);
  return o;
}

__attribute__((noinline)) void obj_put(struct obj *o) {
  const int left = __atomic_sub_fetch(&o->refs, 1, __ATOMIC_SEQ_CST);
  if (left == 0 && o->kept == 0) free(o);
}

enum { kObjects = 64, kFewEvents = 20000, kDeepEvents = 200000, kFewFindings = 500 };

static struct obj *pool[kObjects];

static void make_pool(void) {
  for (int i = 0; i < kObjects; ++i) pool[i] = obj_new(0);
}

static void end_pool(void) {
  for (int i = 0; i < kObjects; ++i) obj_put(pool[i]);
}

__attribute__((noinline)) static void turns(long events) {
  for (long i = 0; i < events / 2; ++i) {
    obj_get(pool[i % kObjects]);
    obj_put(pool[i % kObjects]);
  }
}

__attribute__((noinline)) static void one_life(struct obj *o, long events) {
  for (long i = 0; i < events / 2; ++i) {
    obj_get(o);
    obj_put(o);
  }
}

__attribute__((noinline)) static void clean(long objects) {
  for (long i = 0; i < objects; ++i) {
    struct obj *o = obj_new(0);
    obj_get(o);
    obj_put(o);
    obj_put(o);
  }
}

__attribute__((noinline)) void over_put(void) {
  struct obj *o = obj_new(1);
  obj_put(o);
  obj_put(o);
}

static struct obj *volatile lost;

__attribute__((noinline)) void leak(void) {
  lost = obj_new(0);
  lost = NULL;
}

static void each(long n, void (*const functions[])(void)) {
  for (long i = 0; i < n; ++i) functions[i]();
}

__attribute__((noinline)) static void at_depth(long depth) {
  if (depth == 0) {
    turns(2);
  } else {
    at_depth(depth - 1);
  }
  __asm__ volatile("");
}

static pthread_barrier_t all_there;
static long of_each;

static void *thread(void *unused) {
  turns(of_each);
  return unused;
}

static void *thread_beside_all(void *unused) {
  pthread_barrier_wait(&all_there);
  turns(of_each);
  pthread_barrier_wait(&all_there);
  return unused;
}

static void live_threads(long n) {
  pthread_t *threads = calloc((size_t)n, sizeof *threads);
  pthread_barrier_init(&all_there, NULL, (unsigned)n);
  of_each = kFewEvents / n;
  for (long i = 0; i < n; ++i) pthread_create(&threads[i], NULL, thread_beside_all, NULL);
  for (long i = 0; i < n; ++i) pthread_join(threads[i], NULL);
  free(threads);
}

static void ended_threads(long n) {
  of_each = kFewEvents / n;
  for (long i = 0; i < n; ++i) {
    pthread_t one;
    pthread_create(&one, NULL, thread, NULL);
    pthread_join(one, NULL);
  }
}

static void modules(long n, const char *folder) {
  for (long i = 0; i < n; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/library%ld.so", folder, i);
    if (dlopen(path, RTLD_NOW) == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      exit(3);
    }
    turns(kFewEvents / n);
  }
}

static void children(long n, int execute) {
  for (long i = 0; i < n; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (execute) execl("/bin/true", "true", (char *)NULL);
      turns(100);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *kind = argv[1];
  const long n = atol(argv[2]);
  make_pool();
  if (strcmp(kind, "events") == 0) turns(n);
  if (strcmp(kind, "life") == 0) one_life(pool[0], n);
  if (strcmp(kind, "objects") == 0) clean(n);
  if (strcmp(kind, "leaks") == 0) {
    for (long i = 0; i < n; ++i) leak();
    clean(1000);
  }
  if (strcmp(kind, "places-of-leaks") == 0) {
    each(n, leaks);
    clean(1000);
  }
  if (strcmp(kind, "findings") == 0) {
    for (long i = 0; i < n; ++i) over_put();
    clean(20000);
  }
  if (strcmp(kind, "places-of-findings") == 0) {
    each(n, over_puts);
    clean(20000);
  }
  if (strcmp(kind, "objects-beside-findings") == 0) {
    each(kFewFindings, over_puts);
    clean(n);
  }
  if (strcmp(kind, "depth") == 0) {
    for (int i = 0; i < kDeepEvents / 2; ++i) at_depth(n);
  }
  if (strcmp(kind, "live-threads") == 0) live_threads(n);
  if (strcmp(kind, "threads-ended") == 0) ended_threads(n);
  if (strcmp(kind, "modules") == 0) modules(n, argv[3]);
  if (strcmp(kind, "children") == 0) children(n, 0);
  if (strcmp(kind, "programs") == 0) children(n, 1);
  end_pool();
  return 0;
}
