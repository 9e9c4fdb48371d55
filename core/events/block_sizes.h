// Which sizes the blocks have that objects lie in: quarantine is for those, and what costs most of it is
// mapping each block.
#pragma once

#include <array>
#include <cstdint>

#include "events/allocations.h"
#include "history/history.h"

namespace refhist {

class BlockSizes {
 public:
  static constexpr std::uint64_t kGranule = 16;    ///< bytes: of sizes that are taken for one
  static constexpr std::uint64_t kLargest = 8192;  ///< bytes; nothing is known of larger blocks
  static constexpr std::size_t kClasses = kLargest / kGranule + 1;
  static std::size_t class_of(std::uint64_t size) { return (size + kGranule - 1) / kGranule; }

  /// The block is given back. `history`: of the objects that may be in it.
  void freed(const Block& block, const History& history);
  /// An object lies in a block of that size.
  void holds_object(std::uint64_t size);
  /// Objects have been seen that lie elsewhere than their counters: blocks of any size may be theirs.
  void any_may_hold();

  /// Many blocks of this class were given back, and no object ever was in one.
  [[nodiscard]] bool is_plain(std::size_t size_class) const {
    const Class& known = classes_[size_class];
    return !all_hold_ && !known.holds && known.freed >= kMany;
  }
  [[nodiscard]] bool holds(std::size_t size_class) const { return all_hold_ || classes_[size_class].holds; }
  /// True once after either has changed for any class.
  [[nodiscard]] bool changed();

 private:
  static constexpr std::uint32_t kMany = 64;
  struct Class {
    std::uint32_t freed = 0;  ///< up to kMany
    bool holds = false;
  };
  std::array<Class, kClasses> classes_{};
  bool all_hold_ = false;
  bool changed_ = false;
};

}  // namespace refhist
