// The tracked objects as the scan sees them: cells, pieces of memory whose objects share one fate.
//
// An object that has a block of malloc for itself is the whole block, whatever size was given: its size may
// be that of the counter only, and what lies in front of it (GObject's private data, a C++ base) is part
// of it. Objects that overlap are one cell. In a slab the objects are cells of their own and the rest of
// the block is a block without them. A block is a slab when
//   - it has two or more objects of at least 16 bytes each that do not overlap, and 1 KiB or an alignment
//     that only an aligned allocation is likely to give: to a page, or to its own size, a power of two
//     (GSlice allocates such slabs); or
//   - it has such an alignment, and one object of known size that takes at most half of it.
// Else the objects and the block are one cell: rather a leak that is not seen than one that is none.
#pragma once

#include <cstdint>
#include <vector>

#include "heap/heap_map.h"
#include "heap/reachability_ranges.h"
#include "reachability/reachability.h"

namespace refhist {

struct TrackedCell {
  AddressRange range;
  std::uint32_t first = 0;  ///< its objects: TrackedCells::members()[first .. first + count)
  std::uint32_t count = 0;
  bool whole = false;    ///< the cell is a whole block of malloc
  Address used_end = 0;  ///< behind the objects themselves, as far as their sizes are known
  Reach reach = Reach::unreachable;
  Address holder = 0;  ///< word that points into it; 0: a register, or nothing
  std::uint32_t register_root = kNoRegister;
  static constexpr std::uint32_t kNoRegister = ~0U;
};

class TrackedCells {
 public:
  /// Marks the blocks with cells in `heap` as special, and adds spans without blocks for the objects
  /// that lie outside; heap.sort() is done. `mapped`: all readable memory, sorted.
  TrackedCells(const std::vector<TrackedBlock>& blocks, HeapMap& heap,
               const std::vector<AddressRange>& mapped);

  [[nodiscard]] std::vector<TrackedCell>& cells() { return cells_; }
  /// The cell that contains the address; null when none.
  [[nodiscard]] TrackedCell* at(Address address);
  /// Index of the first cell that ends behind the address.
  [[nodiscard]] std::size_t first_behind(Address address) const;
  [[nodiscard]] const TrackedCell& cell(std::size_t i) const { return cells_[i]; }
  [[nodiscard]] std::size_t size() const { return cells_.size(); }

  /// Indices into the blocks given, cell by cell, by address.
  [[nodiscard]] const std::vector<std::uint32_t>& members() const { return members_; }
  /// Indices of blocks whose memory the allocator has got back.
  [[nodiscard]] const std::vector<std::uint32_t>& freed() const { return freed_; }
  /// The object of the cell that the address lies in, or the nearest before it.
  [[nodiscard]] std::uint32_t member_at(const TrackedCell& cell, Address address) const;
  /// An object that may be listed begins there.
  [[nodiscard]] bool is_listed(const TrackedCell& cell, Address address) const {
    const TrackedBlock& block = blocks_[member_at(cell, address)];
    return block.listed && block.begin == address;
  }
  /// There lies what links the object with all others that CPython's garbage collector knows.
  [[nodiscard]] bool is_link(const TrackedCell& cell, Address address) const {
    const TrackedBlock& block = blocks_[members_[cell.first]];
    constexpr Address kGcHead = 16;  // bytes of a PyGC_Head
    return block.python && address < block.begin && block.begin - address <= kGcHead;
  }

 private:
  struct Group {
    std::size_t begin = 0;  // of order_
    std::size_t end = 0;
  };
  [[nodiscard]] static bool is_freed(Address address, HeapMap& heap, const std::vector<AddressRange>& mapped);
  void split_into_groups(HeapMap& heap);
  void add_block_group(Group group, const HeapBlock& block);
  void add_outside_group(Group group, const HeapMap& heap);
  [[nodiscard]] std::uint64_t slot_size(Group group, std::uint64_t largest) const;
  [[nodiscard]] std::vector<TrackedCell> merged(Group group, Address limit, Address unknown_size) const;
  void add_outside_spans(HeapMap& heap);

  const std::vector<TrackedBlock>& blocks_;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> freed_;
  std::vector<TrackedCell> cells_;
};

}  // namespace refhist
