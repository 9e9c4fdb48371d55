// Which interval of addresses covers an address, when they may nest.
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.h"

namespace refhist {

template <class Value>
class IntervalTable {
 public:
  /// [begin, end); empty ones are dropped.
  void add(Address begin, Address end, Value value) {
    if (begin < end) intervals_.push_back({begin, end, 0, std::move(value)});
  }

  /// To be called once after the last add. Of intervals that begin alike, the one added last wins.
  void finish() {
    std::stable_sort(intervals_.begin(), intervals_.end(),
                     [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    Address highest = 0;
    for (Interval& interval : intervals_) interval.highest_end = highest = std::max(highest, interval.end);
  }

  /// The covering interval that begins last; nullptr when none does.
  [[nodiscard]] const Value* find(Address address) const {
    auto next = std::upper_bound(intervals_.begin(), intervals_.end(), address,
                                 [](Address a, const Interval& interval) { return a < interval.begin; });
    while (next != intervals_.begin()) {
      --next;
      if (address < next->end) return &next->value;
      if (address >= next->highest_end) return nullptr;
    }
    return nullptr;
  }

 private:
  struct Interval {
    Address begin = 0;
    Address end = 0;
    Address highest_end = 0;  // of this and all before it
    Value value;
  };
  std::vector<Interval> intervals_;
};

}  // namespace refhist
