#include "agent/readable_memory.h"

namespace refhist::agent {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kStep =
    16 * kPage;  // a range grows by no more at once; what is further off is another range

uint64_t page_of(uint64_t address) { return address & ~(kPage - 1); }

/// rt_sigprocmask reads the new mask first (EFAULT) and then refuses the `how` that does not exist (EINVAL).
bool try_page(uint64_t page) {
  constexpr long kRtSigprocmask = 14;
  constexpr long kInvalid = -22;
  long result = kRtSigprocmask;
  register uint64_t mask_size asm("r10") = 8;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(-1L), "S"(page), "d"(0L), "r"(mask_size)
               : "rcx", "r11", "memory", "cc");
  return result == kInvalid;
}

}  // namespace

bool ReadableMemory::can_read(uint64_t address) { return try_page(page_of(address)); }

/// Takes the page of the address and all between into the range, if they are near and readable.
bool ReadableMemory::widen(Range& range, uint64_t address) {
  const uint64_t page = page_of(address);
  const uint64_t end = range.begin + range.size;
  if (range.size == 0) return false;
  if (page >= end && page - end < kStep) {
    for (uint64_t next = end; next <= page; next += kPage) {
      if (!try_page(next)) return false;
      range.size += kPage;
    }
    return true;
  }
  if (page < range.begin && range.begin - page <= kStep) {
    while (range.begin > page) {
      if (!try_page(range.begin - kPage)) return false;
      range.begin -= kPage;
      range.size += kPage;
    }
    return true;
  }
  return false;
}

bool ReadableMemory::enter_slowly(uint64_t stack_pointer, bool system_calls) {
  if (system_calls && widen(home_, stack_pointer)) return true;
  home_ = {page_of(stack_pointer), kPage};
  far_ = {0, 0};
  return false;
}

bool ReadableMemory::reach(uint64_t address, bool system_calls) {
  if (!system_calls) return false;
  if (widen(home_, address) || widen(far_, address)) return true;
  if (!try_page(page_of(address))) return false;
  if (far_.size != 0) forgot_ = 1;
  far_ = {page_of(address), kPage};
  return true;
}

}  // namespace refhist::agent
