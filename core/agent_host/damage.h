// What was found in the shared memory that neither the agent nor the debugger can have written there.
#pragma once

#include <atomic>
#include <cstdint>

namespace refhist {

/// Counted by all threads of the debugger's.
class Damage {
 public:
  void refuse() { records_.fetch_add(1, std::memory_order_relaxed); }
  void put_right(std::uint64_t words = 1) { words_.fetch_add(words, std::memory_order_relaxed); }

  /// Records that were not believed.
  [[nodiscard]] std::uint64_t records() const { return records_.load(std::memory_order_relaxed); }
  /// Words whose value is known, and was written there again.
  [[nodiscard]] std::uint64_t words() const { return words_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool any() const { return records() + words() != 0; }

 private:
  std::atomic<std::uint64_t> records_ = 0;
  std::atomic<std::uint64_t> words_ = 0;
};

}  // namespace refhist
