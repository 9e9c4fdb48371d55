#include "heap/heap_map.h"

#include <algorithm>
#include <utility>

namespace refhist {

Address HeapSpan::block_end(std::size_t granule) const {
  const std::size_t next = starts.above(granule);
  if (next == HeapBitmap::kNone) return end;
  // A block may use the first word of its successor's header, the second holds the successor's size.
  return has_header(next) ? address(next) - sizeof(std::uint64_t) : address(next);
}

void HeapMap::add(HeapSpan span, AddressRange used) {
  spans_.push_back(std::move(span));
  used_.push_back(used);
}

void HeapMap::add_objects(HeapSpan span) { spans_.push_back(std::move(span)); }

void HeapMap::sort() {
  std::sort(spans_.begin(), spans_.end(),
            [](const HeapSpan& a, const HeapSpan& b) { return a.begin < b.begin; });
  std::sort(used_.begin(), used_.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  begins_.clear();
  for (const HeapSpan& span : spans_) begins_.push_back(span.begin);
  lowest_ = spans_.empty() ? 0 : spans_.front().begin;
  highest_ = spans_.empty() ? 0 : spans_.back().end;
  last_ = 0;
}

HeapSpan* HeapMap::span_at(Address address) {
  if (address - lowest_ >= highest_ - lowest_) return nullptr;
  if (address - spans_[last_].begin >= spans_[last_].end - spans_[last_].begin) {
    const auto it = std::upper_bound(begins_.begin(), begins_.end(), address);
    last_ = static_cast<std::size_t>(it - begins_.begin()) - 1;
  }
  HeapSpan& span = spans_[last_];
  return address < span.end ? &span : nullptr;
}

Address HeapMap::next_begin(Address address) const {
  const auto it = std::upper_bound(begins_.begin(), begins_.end(), address);
  return it == begins_.end() ? ~Address{0} : *it;
}

std::optional<HeapBlock> HeapMap::block_at(Address address) {
  HeapSpan* span = span_at(address);
  if (span == nullptr || !span->blocks) return std::nullopt;
  const std::size_t granule = span->starts.floor(span->granule(address));
  if (granule == HeapBitmap::kNone || address >= span->block_end(granule)) return std::nullopt;
  return HeapBlock{span, granule};
}

std::optional<HeapBlock> HeapMap::block_from(Address address) {
  const std::optional<HeapBlock> block = block_at(address);
  return block && block->begin() == address ? block : std::nullopt;
}

std::vector<Address> HeapMap::cut(const HeapBlock& block, const std::vector<AddressRange>& pieces,
                                  bool gaps_live) {
  constexpr Address kAlignment = Address{1} << HeapSpan::kChunkShift;
  HeapSpan& span = *block.span;
  const Address end = block.end();
  if (span.cut.empty()) span.cut.resize(span.live.size());
  std::vector<Address> gaps;
  const auto begin_block = [&](Address at, bool live) {
    const std::size_t granule = span.granule(at);
    if (at != block.begin()) span.cut[granule] = true;
    span.starts.set(granule);
    span.live[granule] = live;
  };
  const auto begin_gap = [&](Address at) {
    begin_block(at, gaps_live);
    gaps.push_back(at);
  };
  Address done = block.begin();  // from here on nothing is cut yet
  for (const AddressRange& piece : pieces) {
    if (piece.begin < done || piece.begin % kAlignment != 0 || piece.end > end) continue;
    if (piece.begin > done) begin_gap(done);
    begin_block(piece.begin, true);
    done = (piece.end + kAlignment - 1) & ~(kAlignment - 1);
  }
  if (done < end) begin_gap(done);
  return gaps;
}

}  // namespace refhist
