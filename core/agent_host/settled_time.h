// Up to which time all records have been taken: what the threads still have in progress, or have not begun,
// is later.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "agent/agent_abi.h"

namespace refhist {

/// All times are time stamps. One look: `begin`, then for each slot in use `idle` or `busy`.
class SettledTime {
 public:
  /// `now`: read before the rings are looked at.
  void begin(std::uint64_t now) {
    last_look_ = look_;
    look_ = now;
    horizon_ = now;
  }
  /// Its thread has nothing in progress.
  void idle(unsigned slot) { nothing_before_[slot] = std::max(nothing_before_[slot], look_); }
  /// Its thread has begun a record that is not there yet: after the last look where it had none, or behind
  /// the newest record that was taken. One that was not in use at the last look has begun nothing before
  /// that.
  void busy(unsigned slot) {
    std::uint64_t& since = nothing_before_[slot];
    if (since == 0) since = std::max(last_look_, std::uint64_t{1});
    horizon_ = std::min(horizon_, since);
  }
  /// Records up to this one were taken out of its ring, in their order.
  void taken(unsigned slot, std::uint64_t newest) {
    nothing_before_[slot] = std::max(nothing_before_[slot], newest);
  }
  /// The slot is nobody's.
  void ended(unsigned slot) { nothing_before_[slot] = 0; }

  /// What is older has been taken, once the look has come to its end.
  [[nodiscard]] std::uint64_t horizon() const { return horizon_; }

 private:
  std::uint64_t look_ = 0;
  std::uint64_t last_look_ = 0;
  std::uint64_t horizon_ = 0;
  std::array<std::uint64_t, agent::kThreadSlots> nothing_before_{};
};

}  // namespace refhist
