// Walks the chunks of one heap, from header to header.
#pragma once

#include <string>
#include <vector>

#include "heap/heap_arenas.h"
#include "heap/heap_map.h"
#include "heap/reachability_memory.h"

namespace refhist {

class HeapChunks {
 public:
  HeapChunks(ScanMemory& memory, const ArenaHeap& heap, Address top, bool main_arena);

  /// False at the first implausible header; why_not() then says where.
  bool walk();
  [[nodiscard]] HeapSpan& span() { return span_; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// Blocks that have the size of a thread's tcache.
  [[nodiscard]] const std::vector<Address>& tcache_sized() const { return tcache_sized_; }

 private:
  struct Header {
    std::uint64_t previous_size = 0;
    std::uint64_t size = 0;  ///< with flags
  };
  bool fail(Address chunk, const char* what);
  bool header(Address chunk, Header& out);
  bool step(Address chunk, const Header& header);
  bool plausible(Address chunk, const Header& header, std::uint64_t size);
  bool close_previous(Address chunk, const Header& header);

  ScanMemory& memory_;
  const ArenaHeap& heap_;
  Address stop_;  ///< the top chunk, or the end of a heap without one
  bool main_arena_;
  HeapSpan span_;
  std::string why_not_;
  std::vector<Address> tcache_sized_;
  Address previous_ = 0;  ///< chunk before the present one; 0 at the first
  std::vector<std::uint64_t> buffer_;
  Address buffer_begin_ = 0;
  std::size_t buffer_size_ = 0;  ///< bytes
};

}  // namespace refhist
