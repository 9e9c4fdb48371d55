// The debugger's side of the memory that the agent's stack walker works with: formats it and keeps the
// modules in it up to date, also while the program runs. What it knows of the layout it keeps itself: the
// program can write into that memory.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "agent/walker_shared.h"
#include "agent_tables/compact_cfi.h"

namespace refhist {

struct WalkerSizes {
  std::uint32_t modules = 4096;
  std::uint64_t row_bytes = std::uint64_t{256} << 20;
  std::uint32_t nodes = 1U << 22;
};

class WalkerMemory {
 public:
  /// What the mapping must hold. Of a new memfd only what is used becomes memory.
  static std::size_t bytes(const WalkerSizes& sizes);

  /// `memory` is zero, page aligned and bytes(sizes) long; it stays the caller's.
  WalkerMemory(void* memory, const WalkerSizes& sizes);
  WalkerMemory(const WalkerMemory&) = delete;
  WalkerMemory& operator=(const WalkerMemory&) = delete;

  struct Placed {
    Address bias = 0;
    std::shared_ptr<const CompactCfi> cfi;
  };
  /// From now on these are the modules. Returns how many had no room: stacks end there, truncated.
  std::size_t publish(const std::vector<Placed>& modules);

  /// Writes what only this side may write there once more, where it is something else. How many words were.
  std::uint64_t put_right();

  [[nodiscard]] agent::WalkerShared* shared() const { return shared_; }
  [[nodiscard]] const agent::StackNode* nodes() const {
    return agent::at_offset<agent::StackNode>(shared_, places_.nodes);
  }
  [[nodiscard]] std::uint32_t node_capacity() const { return sizes_.nodes; }

 private:
  /// Offsets in the memory.
  struct Places {
    explicit Places(const WalkerSizes& sizes);
    std::uint64_t lists;
    std::uint64_t rows;
    std::uint64_t nodes;
    std::uint64_t index;
    std::uint64_t end;
  };
  template <class Use>
  void for_each_place(Use&& use);
  struct Stored {
    std::shared_ptr<const CompactCfi> cfi;
    std::uint64_t at = 0;
    std::uint64_t words = 0;
    std::uint64_t rows_words = 0;
    std::uint32_t block_count = 0;
  };
  const Stored* store(const std::shared_ptr<const CompactCfi>& cfi);
  std::uint64_t take(std::uint64_t words);
  void give_back(std::uint64_t at, std::uint64_t words);
  void drop_unused(const std::vector<Placed>& modules);

  agent::WalkerShared* shared_;
  WalkerSizes sizes_;
  Places places_;
  std::mutex publishing_;
  std::uint64_t version_ = 0;
  std::uint32_t counts_[2] = {};
  std::map<const CompactCfi*, Stored> stored_;
  std::map<std::uint64_t, std::uint64_t> free_;  // words of the row area, by place
};

}  // namespace refhist
