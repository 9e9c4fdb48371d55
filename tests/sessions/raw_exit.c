// Leaks one object (unless the second argument says "clean") and ends by system calls that pass no function
// of the C library.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conn.h"

__attribute__((noinline)) static void use(int id) {
  struct conn *conn = conn_new(id);
  conn_put(conn);
}

__attribute__((noinline)) static void forget(int id) { conn_get(conn_new(id)); }

// Overwrites what the calls before left on the stack and in registers.
__attribute__((noinline)) static void clear_traces(void) {
  char rest[4096];
  memset(rest, 0, sizeof rest);
  __asm__ volatile("" : : "r"(rest) : "memory");
  // The dynamic linker puts these on the stack when a function is called for the first time.
  __asm__ volatile(
      "xor %%eax, %%eax\n xor %%ecx, %%ecx\n xor %%edx, %%edx\n xor %%esi, %%esi\n xor %%edi, %%edi\n"
      "xor %%r8d, %%r8d\n xor %%r9d, %%r9d\n xor %%r10d, %%r10d\n xor %%r11d, %%r11d\n"
      "pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n pxor %%xmm3, %%xmm3"
      :
      :
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3");
}

static void *leave_thread(void *unused) {
  (void)unused;
  syscall(SYS_exit, 0);
  return NULL;
}

static void *leave_last(void *main_tid) {
  const char *path = main_tid;
  char state = 0;
  while (state != 'Z') {  // until the main thread has ended
    char stat[64] = {0};
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(stat, sizeof stat, file) == NULL) return NULL;
    fclose(file);
    state = strrchr(stat, ')')[2];
  }
  checkpoint();
  syscall(SYS_exit, 4);
  return NULL;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "group";
  pthread_t thread;
  use(1);
  if (argc < 3) forget(2);
  clear_traces();
  if (strcmp(how, "group") == 0) syscall(SYS_exit_group, 3);
  if (strcmp(how, "_exit") == 0) _exit(6);
  if (strcmp(how, "threads") == 0) {
    pthread_create(&thread, NULL, leave_thread, NULL);
    pthread_join(thread, NULL);
    checkpoint();
    syscall(SYS_exit, 4);
  }
  if (strcmp(how, "leader") == 0) {
    static char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    pthread_create(&thread, NULL, leave_last, path);
    syscall(SYS_exit, 0);
  }
  return 2;
}
