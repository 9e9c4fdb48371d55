// Free blocks that their neighbours still take for handed out: tcaches and fastbins.
#pragma once

#include <string>
#include <vector>

#include "heap/heap_arenas.h"
#include "heap/heap_map.h"
#include "heap/reachability_memory.h"

namespace refhist {

class HeapFreeLists {
 public:
  HeapFreeLists(ScanMemory& memory, HeapMap& map) : memory_(memory), map_(map) {}

  void take_fastbins(const Arena& arena);
  /// A block is taken for a tcache when all its lists begin with a block of the right size; an ordinary
  /// block of that size has no such contents.
  void take_tcache(Address block);

  /// A list that could not be followed to its end; empty when there was none.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  bool is_block(Address address, std::uint64_t chunk_size);
  /// Links point at blocks, or `to_block` bytes before them.
  void take_list(Address link, Address to_block, std::uint64_t chunk_size, std::size_t limit);

  ScanMemory& memory_;
  HeapMap& map_;
  std::string why_not_;
};

}  // namespace refhist
