// Raw system calls, for code that has no C library.
#pragma once

#include <stdint.h>

namespace refhist::agent {

inline int64_t system_call(int64_t number, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0) {
  int64_t result = number;
  register uint64_t r10 __asm__("r10") = d;
  __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}

}  // namespace refhist::agent
