// Whether the counter of what a get or put was given can be read at all. Functions that take numbers in a
// pointer's clothes (tagged integers, error codes) return at once for these: reading a counter there would
// end a program that is right.
#pragma once

#include "agent/agent_abi.h"
#include "agent/instructions.h"
#include "agent/readable_memory.h"

namespace refhist::agent {

/// At a place where none is expected: looks at the memory.
inline bool can_read_counter(const Shared& shared, uint64_t object, uint64_t counter) {
  return plausible(object) && plausible(counter) && !is_confined(shared) && ReadableMemory::can_read(counter);
}

inline bool has_counter(const Shared& shared, const Site& site, uint64_t object) {
  if (site.counter_size == 0) return false;
  const uint64_t counter = object + static_cast<uint64_t>(site.counter_offset);
  const bool expected =
      (counter & (site.counter_size - 1U)) == 0 && object >= shared.lowest && object < (uint64_t{1} << 47);
  return __builtin_expect(expected, 1) != 0 || can_read_counter(shared, object, counter);
}

}  // namespace refhist::agent
