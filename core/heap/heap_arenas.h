// Finds the arenas of glibc's malloc without symbols: a stripped libc does not name main_arena, but its
// circular bins are unmistakable.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "heap/reachability_memory.h"
#include "heap/reachability_ranges.h"

namespace refhist {

/// One contiguous piece of an arena's memory.
struct ArenaHeap {
  AddressRange memory;  ///< all of it
  Address first_chunk = 0;
  bool has_top = false;  ///< the arena's unused rest, its top chunk, is here
};

struct Arena {
  Address state = 0;  ///< of its struct malloc_state
  Address top = 0;    ///< chunk of the unused rest
  bool main = false;
  std::array<Address, 10> fastbins{};  ///< first chunk of each list
  std::vector<ArenaHeap> heaps;
};

struct ArenaList {
  std::vector<Arena> arenas;
  std::optional<std::uint64_t> mapped_bytes;  ///< in chunks that were mapped for themselves, as malloc counts
  std::string why_not;                        ///< what could not be understood; empty when all was
  /// Of no arena, when each block is mapped for itself.
  [[nodiscard]] bool has_blocks() const { return !arenas.empty() || mapped_bytes.value_or(0) != 0; }
};

/// `module_data`: writable memory of the modules; `writable`: all writable memory, sorted.
ArenaList find_arenas(ScanMemory& memory, const std::vector<AddressRange>& module_data,
                      const std::vector<AddressRange>& writable);

}  // namespace refhist
