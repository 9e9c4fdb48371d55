// A stack that was recorded with its event.
#pragma once

#include <bitset>
#include <cstddef>
#include <vector>

#include "base/types.h"
#include "symbols/unwinder.h"

namespace refhist {

/// A set of code addresses that may tell of one that it has it though it has not.
class PcFilter {
 public:
  void add(Address pc) { bits_.set(place(pc)); }
  [[nodiscard]] bool may_have(Address pc) const { return bits_[place(pc)]; }

 private:
  static std::size_t place(Address pc) { return pc * 0x9e3779b97f4a7c15ULL >> 55U; }
  std::bitset<512> bits_;
};

/// Frames innermost first, their canonical frame addresses unknown.
struct RecordedStack {
  StackId id;
  std::vector<RawFrame> frames;
  bool truncated = false;
  PcFilter pcs;  ///< of the frames
};

}  // namespace refhist
