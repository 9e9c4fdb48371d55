#include "heap/reachability_ranges.h"

#include <algorithm>

namespace refhist {

namespace {

bool by_begin(const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; }

void append(std::vector<AddressRange>& out, Address begin, Address end) {
  if (begin < end) out.push_back({begin, end});
}

}  // namespace

std::vector<AddressRange> subtract(std::vector<AddressRange> from, std::vector<AddressRange> holes) {
  std::erase_if(holes, [](const AddressRange& hole) { return hole.begin >= hole.end; });
  std::sort(from.begin(), from.end(), by_begin);
  std::sort(holes.begin(), holes.end(), by_begin);
  std::vector<AddressRange> left;
  std::size_t first = 0;
  for (const AddressRange& range : from) {
    Address at = range.begin;
    // Holes may overlap each other: only those that end before this range are done with.
    while (first < holes.size() && holes[first].end <= range.begin) ++first;
    for (std::size_t i = first; i < holes.size() && holes[i].begin < range.end; ++i) {
      append(left, at, std::min(holes[i].begin, range.end));
      at = std::max(at, holes[i].end);
    }
    append(left, at, range.end);
  }
  return left;
}

const AddressRange* range_at(const std::vector<AddressRange>& ranges, Address address) {
  auto it = std::upper_bound(ranges.begin(), ranges.end(), address,
                             [](Address a, const AddressRange& range) { return a < range.begin; });
  if (it == ranges.begin()) return nullptr;
  --it;
  return it->contains(address) ? &*it : nullptr;
}

}  // namespace refhist
