// Whether the agent can have written a record, as far as the record alone tells.
#pragma once

#include <x86intrin.h>

#include <cstdint>

#include "agent/agent_abi.h"

namespace refhist {

class RecordCheck {
 public:
  bool operator()(const agent::Record& record) {
    if (record.kind == agent::RecordKind::nothing)
      return true;  // a record that was given up may be half filled
    return (record.kind == agent::RecordKind::entry || record.kind == agent::RecordKind::returned) &&
           (record.flags & ~kFlags) == 0 &&
           (record.time - earliest_ <= latest_ - earliest_ || has_passed(record.time));
  }

 private:
  static constexpr std::uint8_t kFlags = agent::kHasCount | agent::kHasPointed | agent::kHasFreed |
                                         agent::kTruncated | agent::kLastPut | agent::kCandidate;
  /// Time stamps by which two processors differ at most: a second or so.
  static constexpr std::uint64_t kApart = std::uint64_t{1} << 32U;

  [[nodiscard]] bool has_passed(std::uint64_t time) {
    latest_ = __rdtsc() + kApart;
    return time - earliest_ <= latest_ - earliest_;
  }

  std::uint64_t earliest_ = __rdtsc() - kApart;
  std::uint64_t latest_ = earliest_;
};

}  // namespace refhist
