// A stack that was recorded with its event.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.h"
#include "symbols/unwinder.h"

namespace refhist {

/// A set of code addresses that may tell of one that it has it though it has not.
class PcFilter {
 public:
  void add(Address pc) { word(pc) |= bit(pc); }
  [[nodiscard]] bool may_have(Address pc) const {
    return (const_cast<PcFilter&>(*this).word(pc) & bit(pc)) != 0;
  }

 private:
  static std::uint64_t hash(Address pc) { return pc * 0x9e3779b97f4a7c15ULL; }
  static std::uint64_t bit(Address pc) { return std::uint64_t{1} << (hash(pc) >> 58U); }
  std::uint64_t& word(Address pc) { return words_[hash(pc) >> 55U & 7U]; }
  std::array<std::uint64_t, 8> words_{};
};

/// Frames innermost first, their canonical frame addresses unknown.
struct RecordedStack {
  StackId id;
  std::vector<RawFrame> frames;
  bool truncated = false;
  PcFilter pcs;  ///< of the frames
};

}  // namespace refhist
