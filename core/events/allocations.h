// The blocks of memory that the tracked allocators have handed out and not got back.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "events/block.h"
#include "events/large_blocks.h"

namespace refhist {

class Allocations {
 public:
  /// An allocator made on another reports the same block twice: the inner report is kept. A block of another
  /// size is one that the other allocator has cut out of its own, even where both begin at one address.
  /// `cuts`: the allocator cuts its blocks out of those of another one.
  void add(const Block& block, bool cuts = false);
  /// The block that this allocator has handed out there, or else the innermost one.
  std::optional<Block> take(Address begin, FamilyId allocator);
  /// Forgets all blocks that lie in [begin, end).
  void take_inside(Address begin, Address end);
  /// The innermost block that has the address in it: a slab may be a block with blocks inside.
  [[nodiscard]] const Block* covering(Address address) const;
  /// A block that has the address in it was handed out then or later.
  [[nodiscard]] bool covered_since(Address address, std::uint64_t time_ns) const;
  /// This allocator has handed out the block that begins there later than that.
  [[nodiscard]] bool handed_out_since(Address begin, FamilyId allocator, std::uint64_t time_ns) const;
  [[nodiscard]] bool covered_by(Address address, FamilyId allocator) const;
  /// Calls `use` with every block, by address.
  template <class Use>
  void each(Use&& use) const {
    for (const auto& [begin, block] : blocks_) use(block);
  }
  /// Calls `use(begin, size)` for the blocks that another allocator cuts, or has cut, its own out of.
  template <class Use>
  void each_slab(Use&& use) const {
    for (const auto& [begin, size] : slabs_) use(begin, size);
  }
  [[nodiscard]] std::size_t count() const { return blocks_.size(); }
  [[nodiscard]] std::uint64_t bytes() const;
  /// Bytes that this list takes itself.
  [[nodiscard]] std::size_t memory() const {
    return blocks_.size() * (sizeof(std::pair<Address, Block>) + 4 * sizeof(void*));
  }
  void clear() {
    blocks_.clear();
    large_.clear();
    slabs_.clear();
  }
  template <class Predicate>
  void forget_if(Predicate&& predicate) {
    std::erase_if(blocks_, [&](const auto& entry) {
      const bool forgotten = predicate(entry.second);
      if (forgotten) large_.forget(entry.second);
      return forgotten;
    });
  }

 private:
  template <class Predicate>
  [[nodiscard]] const Block* find_covering(Address address, Predicate&& wanted) const;

  using Blocks = std::multimap<Address, Block>;

  void replace(Block& known, const Block& block);
  Blocks::iterator erase(Blocks::iterator entry);
  void note_slab(const Block& inside);
  void forget_slab(const Block& block);

  Blocks blocks_;                           // of those that begin at one address, the innermost is the last
  LargeBlocks large_;                       // among them
  std::map<Address, std::uint64_t> slabs_;  // bytes
};

}  // namespace refhist
