// Chunks of malloc that were mapped for themselves. The kernel joins neighbouring mappings, so such a
// chunk may begin at any page of anonymous memory.
#pragma once

#include <vector>

#include "heap/reachability_memory.h"
#include "heap/reachability_ranges.h"

namespace refhist {

struct MappedChunk {
  AddressRange memory;  ///< the mapping, whole pages
  Address block = 0;    ///< what malloc returned; it ends where the mapping ends
};

std::vector<MappedChunk> find_mapped_chunks(ScanMemory& memory, const std::vector<AddressRange>& anonymous);

}  // namespace refhist
