// The blocks of memory that the tracked allocators have handed out and not got back.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "history/history.h"

namespace refhist {

struct Block {
  Address begin = 0;
  std::uint64_t size = 0;  ///< bytes asked for
  SiteId site;
  ThreadIndex thread;
  StackId stack;
  std::uint64_t time_ns = 0;
};

class Allocations {
 public:
  /// An allocator made on another reports the same block twice: the inner report is kept.
  void add(const Block& block);
  std::optional<Block> take(Address begin);
  /// All blocks that begin in [begin, end).
  std::vector<Block> take_range(Address begin, Address end);
  /// The innermost block that has the address in it: a slab may be a block with blocks inside.
  [[nodiscard]] const Block* covering(Address address) const;
  [[nodiscard]] std::size_t count() const { return blocks_.size(); }
  [[nodiscard]] std::uint64_t bytes() const;
  /// Bytes that this list takes itself.
  [[nodiscard]] std::size_t memory() const {
    return blocks_.size() * (sizeof(std::pair<Address, Block>) + 4 * sizeof(void*));
  }
  void clear() { blocks_.clear(); }
  template <class Predicate>
  void forget_if(Predicate&& predicate) {
    std::erase_if(blocks_, [&](const auto& entry) { return predicate(entry.second); });
  }

 private:
  std::map<Address, Block> blocks_;
  std::uint64_t largest_ = 0;  ///< bytes; no block ever was larger, so none further back can reach an address
};

}  // namespace refhist
