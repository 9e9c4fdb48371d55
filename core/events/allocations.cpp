#include "events/allocations.h"

#include <algorithm>

namespace refhist {

std::optional<Block> Allocations::take(Address begin) {
  const auto found = blocks_.find(begin);
  if (found == blocks_.end()) return std::nullopt;
  const Block block = found->second;
  blocks_.erase(found);
  return block;
}

std::vector<Block> Allocations::take_range(Address begin, Address end) {
  std::vector<Block> taken;
  const auto first = blocks_.lower_bound(begin);
  const auto last = blocks_.lower_bound(end);
  for (auto entry = first; entry != last; ++entry) taken.push_back(entry->second);
  blocks_.erase(first, last);
  return taken;
}

void Allocations::add(const Block& block) {
  blocks_.try_emplace(block.begin, block);
  largest_ = std::max(largest_, block.size);
}

const Block* Allocations::covering(Address address) const {
  auto after = blocks_.upper_bound(address);
  while (after != blocks_.begin()) {
    const Block& block = (--after)->second;
    if (address - block.begin < block.size) return &block;
    if (address - block.begin >= largest_) break;
  }
  return nullptr;
}

std::uint64_t Allocations::bytes() const {
  std::uint64_t total = 0;
  for (const auto& [begin, block] : blocks_) total += block.size;
  return total;
}

}  // namespace refhist
