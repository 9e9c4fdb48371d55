// Understands the heap of glibc's malloc from its chunk headers.
//
// Every chunk of every arena is visited once, in address order. A chunk is handed out when its successor
// says so (PREV_INUSE) and it stands in no tcache or fastbin list, whose chunks keep that flag although
// they are free. Chunks mapped for themselves are found by their header at the start of a page; their sum
// must be what malloc counted. What is not plausible is left out: the caller then has to take that memory
// as it takes any other, and `why_not` says so.
#pragma once

#include <string>
#include <vector>

#include "heap/heap_map.h"
#include "heap/reachability_memory.h"
#include "heap/reachability_ranges.h"

namespace refhist {

struct WalkedHeap {
  HeapMap map;          ///< sorted
  std::string why_not;  ///< what was not understood first; empty when all was
};

/// `module_data`: writable memory of the modules; `anonymous`: writable memory without a file; both sorted.
/// `withholds`: chunks that were mapped for themselves and given back may stay, where nobody can read them.
WalkedHeap walk_heap(ScanMemory& memory, const std::vector<AddressRange>& module_data,
                     const std::vector<AddressRange>& anonymous, bool withholds);

}  // namespace refhist
