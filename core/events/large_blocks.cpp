#include "events/large_blocks.h"

namespace refhist {

void LargeBlocks::add(const Block& block) {
  if (block.size < kLeast) return;
  classes_[class_of(block)].emplace(block.begin, &block);
  used_ |= std::uint64_t{1} << class_of(block);
}

void LargeBlocks::forget(const Block& block) {
  if (block.size < kLeast) return;
  Class& blocks = classes_[class_of(block)];
  const auto [first, last] = blocks.equal_range(block.begin);
  for (auto entry = first; entry != last; ++entry) {
    if (entry->second != &block) continue;
    blocks.erase(entry);
    break;
  }
  if (blocks.empty()) used_ &= ~(std::uint64_t{1} << class_of(block));
}

}  // namespace refhist
