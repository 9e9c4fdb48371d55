// Reads the stacks that the agent has named, from the debugger's mapping, while the program goes on. The
// program can write into that memory by mistake: nothing there is believed without a check.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/walker_shared.h"
#include "agent_tables/walker_memory.h"
#include "symbols/unwinder.h"

namespace refhist {

enum class StackEnd : std::uint8_t {
  whole,
  cut,      ///< the stack goes on: it is truncated
  damaged,  ///< the walker has named no such stack
};

class StackNodes {
 public:
  /// The memory stays mapped as long as this object is used.
  explicit StackNodes(const WalkerMemory& memory);

  /// Appends up to `limit` frames, innermost first.
  StackEnd stack(std::uint32_t node, std::size_t limit, std::vector<RawFrame>& out) const;

  [[nodiscard]] std::uint32_t count() const;  ///< nodes in use
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t lost() const;  ///< stacks that found no room

 private:
  const agent::WalkerShared* shared_;
  const agent::StackNode* nodes_;
  std::uint32_t capacity_;
};

}  // namespace refhist
