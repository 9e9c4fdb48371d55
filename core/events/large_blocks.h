// The larger blocks among those that allocators have handed out, to be found by an address inside.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>

#include "events/block.h"

namespace refhist {

/// Some blocks are megabytes long. To look at every block that begins less than that before an address takes
/// the longer the more blocks there are; of those of one class of sizes, few can reach it.
class LargeBlocks {
 public:
  static constexpr std::uint64_t kLeast = 512;  ///< bytes; smaller ones are left out

  LargeBlocks() = default;
  LargeBlocks(const LargeBlocks&) = delete;  // of blocks that lie elsewhere
  LargeBlocks& operator=(const LargeBlocks&) = delete;
  LargeBlocks(LargeBlocks&&) = default;
  LargeBlocks& operator=(LargeBlocks&&) = default;
  ~LargeBlocks() = default;

  /// It has to stay where it is, with its address and size, until it is forgotten.
  void add(const Block& block);
  void forget(const Block& block);
  void clear() { *this = {}; }
  /// The innermost one that has the address in it and is wanted; nullptr when there is none.
  template <class Predicate>
  [[nodiscard]] const Block* find(Address address, Predicate&& wanted) const {
    const Block* best = nullptr;
    for (std::uint64_t rest = used_; rest != 0; rest &= rest - 1) {
      const auto size_class = static_cast<unsigned>(std::countr_zero(rest));
      const Block* found = find_in(size_class, address, wanted);
      if (found != nullptr && (best == nullptr || found->begin > best->begin)) best = found;
    }
    return best;
  }

 private:
  using Class = std::multimap<Address, const Block*>;

  static unsigned class_of(const Block& block) {
    return static_cast<unsigned>(std::bit_width(block.size)) - 1;
  }

  template <class Predicate>
  [[nodiscard]] const Block* find_in(unsigned size_class, Address address, Predicate&& wanted) const {
    const Class& blocks = classes_[size_class];
    for (auto after = blocks.upper_bound(address); after != blocks.begin();) {
      const Block& block = *(--after)->second;
      if (address - block.begin < block.size && wanted(block)) return &block;
      if ((address - block.begin) >> size_class > 1) break;  // none of the class is so long
    }
    return nullptr;
  }

  std::array<Class, 64> classes_;  // by the highest bit of the size
  std::uint64_t used_ = 0;         // a bit for each class that has blocks
};

}  // namespace refhist
