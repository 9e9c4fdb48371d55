// A set of small integers that answers "the nearest member at or below i" in a few steps, however far
// away it is: every level has one bit for each word of the level below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace refhist {

class HeapBitmap {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  HeapBitmap() = default;
  explicit HeapBitmap(std::size_t size);

  void set(std::size_t i);
  [[nodiscard]] bool test(std::size_t i) const;
  /// The highest member <= i; kNone when there is none.
  [[nodiscard]] std::size_t floor(std::size_t i) const;
  /// The lowest member > i; kNone when there is none.
  [[nodiscard]] std::size_t above(std::size_t i) const;

 private:
  using Word = std::uint64_t;
  [[nodiscard]] std::size_t descend_high(std::size_t level, std::size_t word) const;
  [[nodiscard]] std::size_t descend_low(std::size_t level, std::size_t word) const;

  std::size_t size_ = 0;
  std::vector<std::vector<Word>> levels_;  // [0] is the set itself
};

}  // namespace refhist
