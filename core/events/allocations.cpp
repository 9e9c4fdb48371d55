#include "events/allocations.h"

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

const Block* Allocations::covering(Address address) const {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const Block& block = std::prev(after)->second;
  return address < block.begin + block.size ? &block : nullptr;
}

std::uint64_t Allocations::bytes() const {
  std::uint64_t total = 0;
  for (const auto& [begin, block] : blocks_) total += block.size;
  return total;
}

}  // namespace refhist
