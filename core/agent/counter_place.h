// Whether the counter of what a get or put was given can be read at all. Functions that take numbers in a
// pointer's clothes (tagged integers, error codes) return at once for these: reading a counter there would
// end a program that is right.
#pragma once

#include "agent/agent_abi.h"
#include "agent/instructions.h"
#include "agent/readable_memory.h"

namespace refhist::agent {

/// A page in quarantine has the same number in this table, up to 4 GiB.
inline uint8_t* withheld_page(Shared& shared, uint64_t address) {
  auto* pages = reinterpret_cast<uint8_t*>(&shared) + shared.withheld_pages;
  return &pages[address / kPage % kWithheldPages];
}

/// It may lie in a block that is withheld.
inline bool may_be_withheld(Shared& shared, uint64_t address) {
  return shared.withheld_blocks != 0 &&
         __atomic_load_n(withheld_page(shared, address), __ATOMIC_RELAXED) != 0;
}

/// At a place where none is expected: looks at the memory.
inline bool can_read_counter(const Shared& shared, uint64_t object, uint64_t counter) {
  return plausible(object) && plausible(counter) && !is_confined(shared) && ReadableMemory::can_read(counter);
}

inline bool has_counter(Shared& shared, const Site& site, uint64_t object) {
  if (site.counter_size == 0) return false;
  const uint64_t counter = object + static_cast<uint64_t>(site.counter_offset);
  const bool expected = (counter & (site.counter_size - 1U)) == 0 && object >= shared.lowest &&
                        object < (uint64_t{1} << 47) && !may_be_withheld(shared, counter);
  return __builtin_expect(expected, 1) != 0 || can_read_counter(shared, object, counter);
}

/// The block that is given back; it may have been before.
inline bool can_read_block(Shared& shared, uint64_t block) {
  return plausible(block) && (!may_be_withheld(shared, block) || can_read_counter(shared, block, block));
}

}  // namespace refhist::agent
