// Reads the stacks that the agent has named, from the debugger's mapping, while the program goes on. The
// program can write into that memory by mistake: nothing there is believed without a check.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/walker_shared.h"
#include "symbols/unwinder.h"

namespace refhist {

class StackNodes {
 public:
  /// `shared` is formatted (WalkerMemory); it stays mapped as long as this object is used.
  explicit StackNodes(const agent::WalkerShared* shared);

  /// Appends up to `limit` frames, innermost first. False when the stack goes on: it is truncated. So is what
  /// a node leads to that cannot be one.
  bool stack(std::uint32_t node, std::size_t limit, std::vector<RawFrame>& out) const;

  [[nodiscard]] std::uint32_t count() const;  ///< nodes in use
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t lost() const;  ///< stacks that found no room

 private:
  const agent::WalkerShared* shared_;
  const agent::StackNode* nodes_;
  std::uint32_t capacity_;
};

}  // namespace refhist
