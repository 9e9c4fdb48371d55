// Which thread alone has recorded of late: the agent saves itself the reading of the time stamp counter there
// (agent/event_clock.h).
#pragma once

#include <array>
#include <cstdint>

#include "agent_host/shared_area.h"
#include "base/other_processors.h"

namespace refhist {

class SingleWriter {
 public:
  /// After each look at the rings; `slots`: how many were ever taken. Names the only thread that has recorded
  /// since the last look and before it, or nobody.
  void looked(const SharedArea& area, unsigned slots);
  /// Where the named thread runs; OtherProcessors::kNone when nobody is named.
  [[nodiscard]] int processor() const { return processor_; }

 private:
  static constexpr unsigned kNobody = 0;

  unsigned last_ = kNobody;  // the slot, from 1, that alone had records in the last look
  std::uint64_t looks_ = 0;
  int processor_ = OtherProcessors::kNone;
  std::array<std::uint64_t, agent::kThreadSlots> reserved_{};  // at the last look
};

}  // namespace refhist
