#include "reachability/reachability_objects.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace refhist {

namespace {

constexpr std::uint64_t kSmallestSlab = 1024;
constexpr std::uint64_t kSmallestAligned = 256;
constexpr std::uint64_t kSmallestSlot = 16;
// Outside malloc nothing tells how large an object of unknown size is: more would take roots away.
constexpr std::uint64_t kUnknownSize = 16;
// Cells outside the heap that lie closer together share a span; the heap has no span as small as this.
constexpr Address kNeighbourhood = 4096;

std::uint64_t size_of(const TrackedCell& cell) { return cell.range.size(); }

/// The block begins where only an aligned allocation is likely to begin.
bool is_aligned(AddressRange block) {
  const std::uint64_t chunk = block.size() + sizeof(std::uint64_t);
  const bool by_its_size =
      std::has_single_bit(chunk) && chunk >= kSmallestAligned && block.begin % chunk == 0;
  return by_its_size || block.begin % kPage == 0;
}

bool is_slab(const std::vector<TrackedCell>& cells, AddressRange block) {
  if (cells.size() == 1) return is_aligned(block) && size_of(cells[0]) <= block.size() / 2;
  if (block.size() < kSmallestSlab && !is_aligned(block)) return false;
  return std::all_of(cells.begin(), cells.end(),
                     [](const TrackedCell& cell) { return size_of(cell) >= kSmallestSlot; });
}

}  // namespace

TrackedCells::TrackedCells(const std::vector<TrackedBlock>& blocks, HeapMap& heap,
                           const std::vector<AddressRange>& mapped)
    : blocks_(blocks) {
  std::vector<std::uint32_t> order(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return blocks[a].begin < blocks[b].begin; });
  for (const std::uint32_t i : order) {
    (is_freed(blocks[i].begin, heap, mapped) ? freed_ : members_).push_back(i);
  }
  split_into_groups(heap);
  add_outside_spans(heap);
}

bool TrackedCells::is_freed(Address address, HeapMap& heap, const std::vector<AddressRange>& mapped) {
  if (const std::optional<HeapBlock> block = heap.block_at(address)) return !block->live();
  // Not a block of malloc's memory: what was never handed out, or has gone back to it.
  return heap.owns(address) || range_at(mapped, address) == nullptr;
}

void TrackedCells::split_into_groups(HeapMap& heap) {
  Group outside;
  for (std::size_t i = 0; i < members_.size();) {
    const std::optional<HeapBlock> block = heap.block_at(blocks_[members_[i]].begin);
    if (!block) {
      outside.end = ++i;
      continue;
    }
    add_outside_group(outside, heap);
    Group group{i, i};
    while (group.end < members_.size() && blocks_[members_[group.end]].begin < block->end()) ++group.end;
    add_block_group(group, *block);
    i = group.end;
    outside = {i, i};
  }
  add_outside_group(outside, heap);
}

std::vector<TrackedCell> TrackedCells::merged(Group group, Address limit, Address unknown_size) const {
  std::vector<TrackedCell> cells;
  for (std::size_t i = group.begin; i < group.end; ++i) {
    const TrackedBlock& block = blocks_[members_[i]];
    Address end = std::min(limit, block.begin + (block.size != 0 ? block.size : unknown_size));
    if (end < block.begin) end = limit;  // the sum has wrapped
    if (block.size == 0 && i + 1 < group.end) end = std::min(end, blocks_[members_[i + 1]].begin);
    end = std::max(end, block.begin + 1);
    if (!cells.empty() && block.begin < cells.back().range.end) {
      cells.back().range.end = std::max(cells.back().range.end, end);
      ++cells.back().count;
      continue;
    }
    TrackedCell cell;
    cell.range = {block.begin, end};
    cell.first = static_cast<std::uint32_t>(i);
    cell.count = 1;
    cells.push_back(cell);
  }
  return cells;
}

/// Slots of a slab are all of one size, which no two objects undercut.
std::uint64_t TrackedCells::slot_size(Group group, std::uint64_t largest) const {
  for (std::size_t i = group.begin + 1; i < group.end; ++i) {
    const std::uint64_t distance = blocks_[members_[i]].begin - blocks_[members_[i - 1]].begin;
    if (distance != 0) largest = std::min(largest, distance);
  }
  return largest;
}

void TrackedCells::add_block_group(Group group, const HeapBlock& block) {
  const AddressRange range{block.begin(), block.end()};
  std::vector<TrackedCell> cells = merged(group, range.end, slot_size(group, range.size()));
  const bool alone_and_unknown = cells.size() == 1 && blocks_[members_[group.begin]].size == 0;
  if (alone_and_unknown || !is_slab(cells, range)) {
    const Address used_end = cells.back().range.end;
    cells.resize(1);
    cells[0].range = range;
    cells[0].used_end = used_end;
    cells[0].count = static_cast<std::uint32_t>(group.end - group.begin);
    cells[0].whole = true;
  }
  if (block.span->special.empty()) block.span->special.resize(block.span->live.size());
  block.span->special[block.granule] = true;
  cells_.insert(cells_.end(), cells.begin(), cells.end());
}

void TrackedCells::add_outside_group(Group group, const HeapMap& heap) {
  if (group.begin == group.end) return;
  const Address limit = heap.next_begin(blocks_[members_[group.end - 1]].begin);
  const std::vector<TrackedCell> cells = merged(group, limit, kUnknownSize);
  cells_.insert(cells_.end(), cells.begin(), cells.end());
}

void TrackedCells::add_outside_spans(HeapMap& heap) {
  std::vector<HeapSpan> spans;
  for (const TrackedCell& cell : cells_) {
    if (heap.span_at(cell.range.begin) != nullptr) continue;
    const bool near = !spans.empty() && cell.range.begin - spans.back().end < kNeighbourhood;
    if (!near) {
      spans.emplace_back();
      spans.back().begin = cell.range.begin;
      spans.back().blocks = false;
    }
    spans.back().end = cell.range.end;
  }
  for (HeapSpan& span : spans) heap.add_objects(std::move(span));
  heap.sort();
}

std::size_t TrackedCells::first_behind(Address address) const {
  const auto it = std::upper_bound(cells_.begin(), cells_.end(), address,
                                   [](Address a, const TrackedCell& cell) { return a < cell.range.end; });
  return static_cast<std::size_t>(it - cells_.begin());
}

TrackedCell* TrackedCells::at(Address address) {
  const std::size_t i = first_behind(address);
  return i < cells_.size() && cells_[i].range.contains(address) ? &cells_[i] : nullptr;
}

std::uint32_t TrackedCells::member_at(const TrackedCell& cell, Address address) const {
  const auto first = members_.begin() + cell.first;
  const auto it = std::upper_bound(first, first + cell.count, address,
                                   [&](Address a, std::uint32_t i) { return a < blocks_[i].begin; });
  return it == first ? *first : *(it - 1);
}

}  // namespace refhist
