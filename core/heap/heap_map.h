// Where the blocks of malloc lie: which bytes are handed out, which are free, which belong to nobody.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "heap/heap_bitmap.h"
#include "heap/reachability_ranges.h"

namespace refhist {

/// A run of blocks one behind the other. A block is known by the address that malloc returned for it; it
/// is `granule(address)` here. A chunk that was mapped for itself is a span of one granule.
struct HeapSpan {
  static constexpr unsigned kChunkShift = 4;    ///< malloc aligns to 16 bytes
  static constexpr unsigned kSingleShift = 63;  ///< one block

  Address begin = 0;  ///< first block
  Address end = 0;    ///< behind the last usable byte
  unsigned shift = kChunkShift;
  bool blocks = true;            ///< false: only tracked objects outside malloc lie here, no blocks
  HeapBitmap starts;             ///< every block, free ones too
  std::vector<bool> live;        ///< handed out; the marker clears what it has reached
  std::vector<bool> special;     ///< tracked objects lie in this block; empty: in none
  std::vector<bool> cut;         ///< cut out of a block of malloc: no header in front; empty: none is
  std::size_t first_window = 0;  ///< of the HeapImage

  [[nodiscard]] std::size_t granule(Address address) const { return (address - begin) >> shift; }
  [[nodiscard]] Address address(std::size_t granule) const { return begin + (Address{granule} << shift); }
  /// Behind the last usable byte of the block.
  [[nodiscard]] Address block_end(std::size_t granule) const;
  [[nodiscard]] bool has_header(std::size_t granule) const { return cut.empty() || !cut[granule]; }
};

struct HeapBlock {
  HeapSpan* span = nullptr;
  std::size_t granule = 0;
  [[nodiscard]] Address begin() const { return span->address(granule); }
  [[nodiscard]] Address end() const { return span->block_end(granule); }
  [[nodiscard]] bool live() const { return span->live[granule]; }
  void set_live(bool live) const { span->live[granule] = live; }
};

class HeapMap {
 public:
  /// `used`: all memory that belongs to it, headers and unused space included.
  void add(HeapSpan span, AddressRange used);
  void add_used(AddressRange used) { used_.push_back(used); }
  /// A span without blocks; its memory is not the allocator's.
  void add_objects(HeapSpan span);
  /// Must be called after the last add and before any look-up.
  void sort();

  /// The span whose blocks (free ones too) cover the address; null when none.
  [[nodiscard]] HeapSpan* span_at(Address address);
  /// The lowest span that begins behind the address; ~0 when there is none.
  [[nodiscard]] Address next_begin(Address address) const;
  /// The address lies in memory that malloc manages.
  [[nodiscard]] bool owns(Address address) const { return range_at(used_, address) != nullptr; }
  /// The block that the address lies in, also when it is free.
  [[nodiscard]] std::optional<HeapBlock> block_at(Address address);
  /// The same, and the address is exactly what malloc returned.
  [[nodiscard]] std::optional<HeapBlock> block_from(Address address);

  /// Makes blocks of pieces of the block that another allocator has cut out of it; `pieces` are in order.
  /// What lies between them is a block each: `gaps_live` says whether it counts as handed out. Returns where
  /// the gaps begin. Pieces that do not begin as a block of malloc may, or overlap, are left out.
  std::vector<Address> cut(const HeapBlock& block, const std::vector<AddressRange>& pieces, bool gaps_live);

  [[nodiscard]] std::vector<HeapSpan>& spans() { return spans_; }
  [[nodiscard]] const std::vector<AddressRange>& used() const { return used_; }
  [[nodiscard]] Address lowest() const { return lowest_; }
  [[nodiscard]] Address highest() const { return highest_; }  ///< one behind

 private:
  std::vector<HeapSpan> spans_;
  std::vector<Address> begins_;  // of spans_, close together for the search
  std::vector<AddressRange> used_;
  Address lowest_ = 0;
  Address highest_ = 0;
  std::size_t last_ = 0;  // where the last look-up ended: the next is likely there too
};

}  // namespace refhist
