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

inline bool is_expected(const Site& site, uint64_t object, uint64_t counter, uint64_t lowest) {
  return (counter & (site.counter_size - 1U)) == 0 && object >= lowest && object < (uint64_t{1} << 47);
}

/// At a place where none is expected: looks at the memory.
inline bool can_read_counter(const Shared& shared, uint64_t object, uint64_t counter) {
  return plausible(object) && plausible(counter) && !is_confined(shared) && ReadableMemory::can_read(counter);
}

/// While blocks are withheld: the counter may lie in one.
inline bool may_be_withheld(Shared& shared, uint64_t counter) {
  return __atomic_load_n(withheld_page(shared, counter), __ATOMIC_RELAXED) != 0;
}

inline bool has_counter(Shared& shared, const Site& site, uint64_t object) {
  if (site.counter_size == 0) return false;
  const uint64_t counter = object + static_cast<uint64_t>(site.counter_offset);
  if (__builtin_expect(is_expected(site, object, counter, shared.lowest), 1) != 0) return true;
  if (shared.withheld_blocks != 0 && is_expected(site, object, counter, shared.lowest_mapped) &&
      !may_be_withheld(shared, counter))
    return true;
  return can_read_counter(shared, object, counter);
}

/// The block that is given back. While blocks are withheld, one of those may be given back again.
inline bool can_read_block(Shared& shared, uint64_t block) {
  return plausible(block) && (shared.withheld_blocks == 0 || !may_be_withheld(shared, block) ||
                              can_read_counter(shared, block, block));
}

}  // namespace refhist::agent
