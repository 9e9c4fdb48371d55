// Numbers of rows by the hash of what the rows are: eight bytes for each, where a node of std::unordered_map
// takes ten times as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace refhist {

class FlatIndex {
 public:
  /// The row with this hash that `same(row)` is true of; else `next` is entered, and returned.
  template <class Same>
  std::uint32_t find_or_add(std::uint64_t hash, std::uint32_t next, Same&& same) {
    if ((used_ + 1) * 2 > slots_.size()) grow();
    Slot& slot = slot_of(static_cast<std::uint32_t>(hash), same);
    if (slot.row == kFree) {
      slot = {next, static_cast<std::uint32_t>(hash)};
      ++used_;
    }
    return slot.row;
  }

  /// The same without entering anything; `none` when there is no such row.
  template <class Same>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, std::uint32_t none, Same&& same) {
    if (slots_.empty()) return none;
    const Slot& slot = slot_of(static_cast<std::uint32_t>(hash), same);
    return slot.row == kFree ? none : slot.row;
  }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  struct Slot {
    std::uint32_t row = kFree;
    std::uint32_t hash = 0;
  };

  template <class Same>
  Slot& slot_of(std::uint32_t hash, Same&& same) {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].row != kFree && (slots_[at].hash != hash || !same(slots_[at].row)))
      at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void grow() {
    const std::vector<Slot> old =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 64 : slots_.size() * 2));
    for (const Slot& slot : old) {
      if (slot.row != kFree) slot_of(slot.hash, [](std::uint32_t) { return false; }) = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, or none
  std::size_t used_ = 0;
};

}  // namespace refhist
