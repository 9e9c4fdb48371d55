// Stops (SIGTRAP) twice: while nothing but xmm9 points at an object, and when nothing does.
#include "conn.h"

static volatile unsigned long hidden;

__attribute__((noinline)) static void make(void) { hidden = ~(unsigned long)conn_new(1); }

// Overwrites what the calls before left on the stack.
__attribute__((noinline)) static void clear_traces(void) {
  volatile char rest[8192];
  for (unsigned i = 0; i < sizeof rest; i++) rest[i] = 0;
}

int main(void) {
  make();
  clear_traces();
  __asm__ volatile(
      "xor %%r8d, %%r8d\n xor %%r9d, %%r9d\n xor %%r10d, %%r10d\n xor %%r11d, %%r11d\n"
      "mov %0, %%rax\n not %%rax\n movq %%rax, %%xmm9\n pxor %%xmm0, %%xmm0\n xor %%eax, %%eax\n"
      "xor %%edi, %%edi\n xor %%esi, %%esi\n xor %%edx, %%edx\n xor %%ecx, %%ecx\n"
      "int3\n pxor %%xmm9, %%xmm9\n int3\n"
      :
      : "m"(hidden)
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm9", "memory");
  return 0;
}
