// Single instructions and system calls that the agent's parts share.
#pragma once

#include <stdint.h>

#include "agent/agent_abi.h"
#include "agent/system_call.h"

namespace refhist::agent {

/// Taken after all loads before it: the order of two events on one object is the order of their time stamps,
/// whichever threads they are of. `processor`: where this was.
inline uint64_t ordered_time_stamp(uint32_t& processor) {
  constexpr uint32_t kProcessorBits = 0xfff;  // above them is the node
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor)::"memory");
  processor &= kProcessorBits;
  return (uint64_t{high} << 32) | low;
}

inline void pause() { __asm__ volatile("pause"); }

/// 100 us, or about that where no system call may be made.
inline void sleep_a_little(bool confined) {
  constexpr int64_t kNanosleep = 35;
  constexpr unsigned kPauses = 2000;
  const uint64_t time[2] = {0, 100000};
  if (!confined) {
    system_call(kNanosleep, reinterpret_cast<uint64_t>(time));
    return;
  }
  for (unsigned i = 0; i < kPauses; ++i) pause();
}

/// False for a pointer that no program can have read or written through: the probed function itself would
/// fault.
inline bool plausible(uint64_t address) { return address >= kPage && address < (uint64_t{1} << 47); }

inline uint64_t load(uint64_t address, unsigned size) {
  const auto* place = reinterpret_cast<const void*>(address);
  switch (size) {
    case 1:
      return *static_cast<const volatile uint8_t*>(place);
    case 2:
      return *static_cast<const volatile uint16_t*>(place);
    case 4:
      return *static_cast<const volatile uint32_t*>(place);
    default:
      return *static_cast<const volatile uint64_t*>(place);
  }
}

}  // namespace refhist::agent
