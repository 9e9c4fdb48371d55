// Programs that use an object which is gone, in ways that nothing stops without `set quarantine`; and right
// ones.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL __attribute__((noinline))

struct badge {
  int refs;
  int color;
  char *text;
};

CALL struct badge *badge_new(int color) {
  struct badge *badge = malloc(sizeof *badge);
  badge->refs = 1;
  badge->color = color;
  badge->text = strdup("staff");
  return badge;
}

CALL struct badge *badge_get(struct badge *badge) {
  ++badge->refs;
  return badge;
}

CALL void badge_put(struct badge *badge) {
  if (--badge->refs == 0) {
    free(badge->text);
    free(badge);
  }
}

CALL int color_of(const struct badge *badge) { return badge->color; }

CALL int print_and_drop(struct badge *badge) {
  int color = color_of(badge);
  badge_put(badge);
  return color + badge->color;  // dies in way "late"
}

CALL int drop_and_print(struct badge *badge) {
  const char *letter = (const char *)&badge->color;
  badge_put(badge);
  return puts(letter);  // a jump, optimised; dies there in way "jump"
}

CALL int read_later(struct badge *badge) {
  badge_put(badge);
  return 1;
}

CALL struct badge *lose(int color) {
  struct badge *lost = badge_new(color);
  return badge_get(lost);
}

// Whoever calls these two never has a badge in hand.
static struct badge *queue[8];
static int queued;
CALL int enqueue(int color) {
  struct badge *badge = badge_new(color);
  queue[queued++] = badge;
  if (color == 4) badge_put(badge);  // one too many: it is the queue's
  return queued;
}
CALL int deliver(void) {
  struct badge *badge = queue[--queued];
  int color = color_of(badge);  // dies in way "queued"
  badge_put(badge);
  return color;
}
static int pass_on(void) {
  int sum = 0;
  for (int i = 0; i < 6; i++) {
    sum += enqueue(i);
    sum += deliver();
  }
  return sum & 1;
}

static void *make_many(void *unused) {
  (void)unused;
  for (int i = 0; i < 2000; i++) {
    struct badge *badge = badge_new(i);
    char *more = malloc(40);
    more = realloc(more, 5000);
    memset(more, i, 5000);
    if (color_of(badge_get(badge)) != i) abort();
    badge_put(badge);
    badge_put(badge);
    free(more);
  }
  return NULL;
}

static int right(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, make_many, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  void *aligned = NULL;
  if (posix_memalign(&aligned, 4096, 100) != 0) abort();
  free(aligned);
  free(NULL);
  return 0;
}

// Of no object.
CALL int read_freed(void) {
  static int *volatile plain;
  plain = malloc(40);
  plain[2] = 3;
  void *given_back = plain;
  free(given_back);
  return plain[2];  // dies here in way "plain"
}

// Of a size that no object has.
static int many(void) {
  void *kept[100] = {NULL};
  for (int i = 0; i < 300000; i++) {
    free(kept[i % 100]);
    kept[i % 100] = malloc(50);
  }
  for (int i = 0; i < 100; i++) free(kept[i]);
  struct badge *badge = badge_new(1);
  badge_put(badge);
  printf("done\n");
  return 0;
}

// More than refhist-run withholds: two blocks each.
static int ended(void) {
  for (int i = 0; i < 100100; i++) badge_put(badge_new(i));
  printf("done\n");
  return 0;
}

static int is_mapped(const void *block) { return (uintptr_t)block % 4096 == 16; }

// Is what the debugger learns of the program known to it by now?
static int waits(int *rounds) {
  usleep(10000);
  return ++*rounds < 3000;
}

// Blocks of the objects' size are seen without an object first, and with one then.
static struct badge *learned(void) {
  void *volatile block = NULL;
  int rounds = 0;
  do {
    for (int i = 0; i < 100; i++) {
      block = malloc(sizeof(struct badge));
      free(block);
    }
    block = malloc(sizeof(struct badge));
  } while (is_mapped(block) && waits(&rounds));
  if (is_mapped(block)) return NULL;
  struct badge *badge = badge_new(7);
  while (!is_mapped(badge) && waits(&rounds)) {
    badge_put(badge);
    badge = badge_new(7);
  }
  return badge;
}

// What a program sets up at its start: more than there is room for in quarantine, of many sizes, and no
// object.
static void **set_up;
static struct badge *crowd(void) {
  for (int i = 0; i < 20000; i++) {
    void **block = malloc(24 + i % 60 * 16);
    *block = set_up;
    set_up = block;
  }
  badge_put(badge_new(5));
  return badge_new(7);
}

static struct badge *kept[13000];
static int keep_many(void) {
  for (int i = 0; i < 13000; i++) kept[i] = badge_new(i);
  for (int i = 0; i < 13000; i++) badge_put(kept[i]);
  return 0;
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "";
  const char *chosen = getenv("PYTHONMALLOC");
  printf("PYTHONMALLOC %s\n", chosen == NULL ? "is not set" : chosen);
  fflush(stdout);
  if (strcmp(way, "right") == 0) return right();
  if (strcmp(way, "many") == 0) return many();
  if (strcmp(way, "ended") == 0) return ended();
  if (strcmp(way, "queued") == 0) return pass_on();
  if (strcmp(way, "crowded") == 0) return keep_many();
  struct badge *badge = strcmp(way, "sizes") == 0   ? learned()
                        : strcmp(way, "crowd") == 0 ? crowd()
                                                    : badge_new(7);
  if (badge == NULL) return 3;
  int sum = 0;
  if (strcmp(way, "late") == 0) {
    sum = print_and_drop(badge);
  } else if (strcmp(way, "jump") == 0) {
    sum = drop_and_print(badge);
  } else if (strcmp(way, "read") == 0 || strcmp(way, "sizes") == 0 || strcmp(way, "crowd") == 0) {
    sum = read_later(badge);
    sum += color_of(badge);  // dies in color_of
  } else if (strcmp(way, "put") == 0) {
    badge_put(badge);
    badge_put(badge);  // dies in badge_put
  } else if (strcmp(way, "free") == 0) {
    badge_put(badge);
    free(badge);  // dies in free
  } else if (strcmp(way, "plain") == 0) {
    sum = read_freed();
  } else {
    badge_put(badge);
    badge_put(lose(9));
  }
  printf("%d\n", sum);
  return 0;
}
