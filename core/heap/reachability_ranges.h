// Half-open address ranges and what is left of them.
#pragma once

#include <vector>

#include "base/types.h"

namespace refhist {

struct AddressRange {
  Address begin = 0;
  Address end = 0;
  [[nodiscard]] std::uint64_t size() const { return end - begin; }
  [[nodiscard]] bool empty() const { return begin == end; }
  [[nodiscard]] bool contains(Address address) const { return address >= begin && address < end; }
};

/// What is left of `from` without `holes`; sorted and free of empty ranges. `from` must not overlap itself.
std::vector<AddressRange> subtract(std::vector<AddressRange> from, std::vector<AddressRange> holes);

/// The range that contains the address; null when none. `ranges` is sorted and does not overlap.
const AddressRange* range_at(const std::vector<AddressRange>& ranges, Address address);

}  // namespace refhist
