// Which words of a block the agent records when it is freed, so that the counters of the objects in it are
// known then: an object that is counted by hand, or by code that is not armed, ends there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "agent/agent_abi.h"
#include "sites/tracked_family.h"

namespace refhist {

class FreedWords {
 public:
  /// Where most counters of the families in `armed` lie, and then the pointers of control blocks
  /// (Family::managed_offset), in objects that begin with their block. What was chosen once stays: there may
  /// be records.
  void choose(const std::vector<TrackedFamily>& families, const std::set<FamilyId>& armed);
  /// As Site::freed_words has them.
  [[nodiscard]] const std::array<std::uint16_t, 2>& numbers() const { return numbers_; }
  /// The bytes of a counter that lies so far behind the begin of the freed block; nothing when they are not
  /// recorded.
  [[nodiscard]] std::optional<std::uint64_t> bytes_at(const agent::Record& record, std::uint64_t offset,
                                                      std::size_t size) const;

 private:
  std::array<std::uint16_t, 2> numbers_{};
};

}  // namespace refhist
