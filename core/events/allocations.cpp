#include "events/allocations.h"

#include <algorithm>
#include <iterator>

namespace refhist {

template <class Predicate>
const Block* Allocations::find_covering(Address address, Predicate&& wanted) const {
  auto after = blocks_.upper_bound(address);
  while (after != blocks_.begin()) {
    const Block& block = (--after)->second;
    if (address - block.begin < block.size && wanted(block)) return &block;
    if (address - block.begin >= LargeBlocks::kLeast) break;  // smaller ones that begin earlier end before it
  }
  return large_.find(address, wanted);
}

Allocations::Blocks::iterator Allocations::erase(Blocks::iterator entry) {
  large_.forget(entry->second);
  return blocks_.erase(entry);
}

void Allocations::replace(Block& known, const Block& block) {
  large_.forget(known);
  known = block;
  large_.add(known);
}

std::optional<Block> Allocations::take(Address begin, FamilyId allocator) {
  const auto [first, last] = blocks_.equal_range(begin);
  if (first == last) return std::nullopt;
  auto taken =
      std::find_if(first, last, [&](const auto& entry) { return entry.second.allocator == allocator; });
  if (taken == last) taken = std::prev(last);
  const Block block = taken->second;
  erase(taken);
  forget_slab(block);
  return block;
}

bool Allocations::handed_out_since(Address begin, FamilyId allocator, std::uint64_t time_ns) const {
  const auto [first, last] = blocks_.equal_range(begin);
  return std::any_of(first, last, [&](const auto& entry) {
    return entry.second.allocator == allocator && entry.second.returned_ns > time_ns;
  });
}

void Allocations::take_inside(Address begin, Address end) {
  if (end <= begin) return;
  const auto last = blocks_.lower_bound(end);
  for (auto entry = blocks_.lower_bound(begin); entry != last;) {
    const Block& block = entry->second;
    const bool inside = block.size <= end - block.begin;
    if (inside) forget_slab(block);
    entry = inside ? erase(entry) : std::next(entry);
  }
}

void Allocations::add(const Block& block, bool cuts) {
  if (cuts) note_slab(block);
  const auto [first, last] = blocks_.equal_range(block.begin);
  for (auto entry = first; entry != last; ++entry) {
    Block& known = entry->second;
    const bool same = known.allocator == block.allocator;
    if (!same && known.size != block.size) continue;
    // One that began before this call, or that another thread got, was given back unseen.
    if (known.time_ns < block.time_ns || known.thread != block.thread) replace(known, block);
    return;
  }
  large_.add(blocks_.emplace_hint(last, block.begin, block)->second);
}

void Allocations::note_slab(const Block& inside) {
  const auto behind = slabs_.upper_bound(inside.begin);
  if (behind != slabs_.begin()) {
    const auto& [begin, size] = *std::prev(behind);
    if (inside.begin - begin < size) return;
  }
  const Block* slab = find_covering(inside.begin, [&](const Block& block) {
    return block.allocator != inside.allocator && block.size > inside.size;
  });
  if (slab != nullptr) slabs_.emplace(slab->begin, slab->size);
}

void Allocations::forget_slab(const Block& block) {
  const auto slab = slabs_.find(block.begin);
  if (slab != slabs_.end() && slab->second == block.size) slabs_.erase(slab);
}

const Block* Allocations::covering(Address address) const {
  return find_covering(address, [](const Block&) { return true; });
}

bool Allocations::covered_by(Address address, FamilyId allocator) const {
  return find_covering(address, [&](const Block& block) { return block.allocator == allocator; }) != nullptr;
}

bool Allocations::covered_since(Address address, std::uint64_t time_ns) const {
  return find_covering(address, [&](const Block& block) { return block.time_ns >= time_ns; }) != nullptr;
}

std::uint64_t Allocations::bytes() const {
  std::uint64_t total = 0;
  for (const auto& [begin, block] : blocks_) total += block.size;
  return total;
}

}  // namespace refhist
