// A program that writes into the memory that it shares with the debugger while its other threads get and put.
// However little processor time it gets, the other threads have begun before, and it writes at least
// LEAST_WORDS words.
//
// usage: scribbled records|all|size SEED MILLISECONDS
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 3
#define OBJECTS 64
#define PAGE 4096u
#define LEAST_WORDS 4000u  // of them some thousand go into the 512 words of the slots
#define LEAST_TURNS 100u
#define PATIENCE 2  // seconds

struct node {
  atomic_int refs;
};

static struct node *kept[OBJECTS];
static uint64_t random_state;
static atomic_uint turns[WORKERS];
static atomic_bool ending;

__attribute__((noinline)) struct node *node_new(void) {
  struct node *node = malloc(sizeof *node);
  if (node == NULL) abort();
  atomic_init(&node->refs, 1);
  return node;
}

__attribute__((noinline)) void node_get(struct node *node) { atomic_fetch_add(&node->refs, 1); }

__attribute__((noinline)) void node_put(struct node *node) {
  if (atomic_fetch_sub(&node->refs, 1) == 1) free(node);
}

static void *work(void *number) {
  const uintptr_t worker = (uintptr_t)number;
  for (uintptr_t i = worker * 1000; !ending; i++) {
    struct node *own = node_new();
    node_get(kept[i % OBJECTS]);
    node_put(kept[i % OBJECTS]);
    node_put(own);
    turns[worker]++;
  }
  return NULL;
}

static void wait_for_workers(void) {
  for (int i = 0; i < WORKERS; i++) {
    while (turns[i] < LEAST_TURNS) usleep(1000);
  }
}

// GDB gives up when the process ends by a system call while another thread hits a breakpoint, also without
// refhist. A worker whose memory is damaged may wait for ever.
static void end_workers(const pthread_t *threads) {
  ending = true;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE;
  for (int i = 0; i < WORKERS; i++) pthread_timedjoin_np(threads[i], NULL, &until);
}

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state * 0x2545f4914f6cdd1dull;
}

// The largest mapping of the memory file that can be written: all that is no code.
static int find_memory(uint64_t **begin, uint64_t *bytes) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[512];
  *bytes = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long from, to;
    char rights[5];
    if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 || strstr(line, "/memfd:") == NULL) continue;
    if (rights[1] != 'w' || to - from <= *bytes) continue;
    *begin = (uint64_t *)from;
    *bytes = to - from;
  }
  if (maps != NULL) fclose(maps);
  return *bytes != 0;
}

static void end(int status) {
  __asm__ volatile("syscall" ::"a"(SYS_exit_group), "D"(status) : "rcx", "r11", "memory");
}

// Sparse memory must not be filled: pages that somebody has used.
static uint64_t used_page(const unsigned char *used, uint64_t first, uint64_t pages) {
  for (unsigned i = 0; i < 4096; i++) {
    uint64_t page = first + next_random() % pages;
    if (used[page] & 1) return page;
  }
  return first;
}

static void flip(uint64_t *word) {
  switch (next_random() % 4) {
    case 0:
      *word = next_random();
      break;
    case 1:
      *(uint32_t *)word = (uint32_t)next_random();
      break;
    default:
      *word ^= 1ull << next_random() % 64;
  }
}

static uint64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// `all`: anything. Otherwise slots and rings, by which the agent reaches no memory.
static void scribble(uint64_t *memory, uint64_t bytes, int all, uint64_t until) {
  const uint64_t slots = memory[3] / PAGE, rings = memory[4] / PAGE, walkers = memory[5] / PAGE;
  unsigned char *used = calloc(bytes / PAGE, 1);
  for (unsigned n = 0; n < LEAST_WORDS || milliseconds() < until; n++) {
    if (n % 512 == 0) mincore(memory, bytes, used);
    uint64_t page = used_page(used, slots, walkers - slots);
    if (next_random() % 4 == 0) page = slots + next_random() % 2;
    if (all && next_random() % 2 == 0) page = used_page(used, 0, bytes / PAGE);
    if (all && next_random() % 8 == 0) page = 0;
    if (page == 0) {
      flip(memory + next_random() % 24);
    } else {
      flip(memory + page * (PAGE / 8) + next_random() % (page < rings ? 256 : PAGE / 8));
    }
    if (n % 16 == 0) usleep(100);
  }
}

__attribute__((noinline)) void checkpoint(void) { __asm__ volatile(""); }

// By any descriptor that one can get of it.
static int change_size(uint64_t *memory, uint64_t bytes) {
  char path[128];
  snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", (unsigned long)memory,
           (unsigned long)memory + bytes);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return 5;
  if (ftruncate(file, 4096) == 0 || ftruncate(file, (off_t)bytes * 4) == 0) return 6;
  return 4;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  uint64_t *memory, bytes;
  for (int i = 0; i < OBJECTS; i++) kept[i] = node_new();
  if (!find_memory(&memory, &bytes)) return 3;
  if (strcmp(argv[1], "size") == 0) return change_size(memory, bytes);
  random_state = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15ull + 1;
  const uint64_t until = milliseconds() + strtoull(argv[3], NULL, 0);
  pthread_t threads[WORKERS];
  for (uintptr_t i = 0; i < WORKERS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
  wait_for_workers();
  scribble(memory, bytes, strcmp(argv[1], "all") == 0, until);
  checkpoint();
  end_workers(threads);
  end(7);
}
