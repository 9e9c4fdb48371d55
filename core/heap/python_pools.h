// Understands the memory of CPython's allocator for small objects (3.10 and newer): pools of 16 KiB, each
// with blocks of one size and a list of those that are free.
//
// Nothing names the pools: an object lies in one where a header stands at the 16 KiB before it, and its size
// class, its offsets, its count of blocks in use and its list of free blocks agree. Then the rest of that
// mapping is searched for more. A pool that does not agree is left out: the caller takes it as it takes any
// other memory.
// Source: CPython's Objects/obmalloc.c and Include/internal/pycore_obmalloc.h.
#pragma once

#include <vector>

#include "base/types.h"
#include "heap/heap_map.h"
#include "heap/reachability_memory.h"
#include "heap/reachability_ranges.h"

namespace refhist {

/// Adds a span for each pool and sorts the map. `objects`: addresses of Python's objects, sorted.
/// `anonymous`: writable memory without a file that `heap` does not own, sorted.
void add_python_pools(ScanMemory& memory, HeapMap& heap, const std::vector<Address>& objects,
                      const std::vector<AddressRange>& anonymous);

}  // namespace refhist
