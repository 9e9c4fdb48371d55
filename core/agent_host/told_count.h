// A count that the program keeps for us, as far as it can be true: it only grows, and by no more than one in
// a tick of the time stamp counter.
#pragma once

#include <x86intrin.h>

#include <cstdint>

#include "agent_host/damage.h"
#include "agent_host/untrusted.h"

namespace refhist {

class ToldCount {
 public:
  /// What cannot be is put right and counted as damage.
  template <class Count>
  std::uint64_t look(const Untrusted<Count>& place, Damage& damage) {
    const std::uint64_t now = __rdtsc();
    const std::uint64_t told = place.claimed();
    if (told >= value_ && told - value_ <= now - looked_) {
      value_ = told;
      looked_ = now;
    } else {
      place.store(static_cast<Count>(value_));
      damage.put_right();
    }
    return value_;
  }

 private:
  std::uint64_t value_ = 0;
  std::uint64_t looked_ = __rdtsc();
};

}  // namespace refhist
