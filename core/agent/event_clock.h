// Time stamps of events: those of two events on one object are in the order of the events, whichever threads
// they are of. Freestanding.
//
// Reading the processor's counter takes a quarter of the agent's time. So a thread that nobody else has
// recorded beside of late reads it once after each look of the debugger's at the rings, and counts on from
// there: its stamps are then early, by no more than what has passed since that look, and never late. The
// debugger names that thread in Shared::sole, by another number after each look. Another thread that comes
// takes the name away before it looks at the object, and whoever has been named meanwhile, or is not any
// more, looks at the object again: so whatever others have done lies before the first stamp of the named
// thread, or behind the last.
#pragma once

#include "agent/agent_abi.h"
#include "agent/instructions.h"

namespace refhist::agent {

class EventClock {
 public:
  EventClock(Shared& shared, ThreadSlot& thread, uint32_t number)
      : shared_(shared), thread_(thread), number_(number) {}

  /// Before the object is looked at.
  void begin() {
    name_ = __atomic_load_n(&shared_.sole, __ATOMIC_ACQUIRE);
    if (name_ % kSoleNumbers == number_ || name_ == 0) return;
    take_away(shared_, name_);
    name_ = 0;
  }

  /// Behind that look. The next one of this thread is later.
  uint64_t stamp() {
    const bool forbidden = __atomic_load_n(&shared_.no_stamps, __ATOMIC_RELAXED) != 0;
    if (name_ != 0 && thread_.sole == name_ && !forbidden) return next_stamp();
    uint64_t last = 0;
    uint64_t stamp = 0;
    do {
      last = __atomic_load_n(&thread_.last_stamp, __ATOMIC_RELAXED);
      stamp = forbidden ? __atomic_add_fetch(&shared_.last_stamp, 1U, __ATOMIC_RELAXED)
                        : ordered_time_stamp(thread_.processor);
    } while (!replace_last(last, stamp));
    thread_.sole = forbidden ? 0 : name_;  // now that `last_stamp` is of this name
    return stamp;
  }

  /// The name is what it was at the beginning. False: all of it once more.
  [[nodiscard]] bool holds(uint64_t stamp) const {
    // The processor may not look before it has the stamp.
    __asm__ volatile("and $0, %0" : "+r"(stamp)::"cc");
    const auto* sole = reinterpret_cast<const uint64_t*>(reinterpret_cast<uint64_t>(&shared_.sole) + stamp);
    return __atomic_load_n(sole, __ATOMIC_ACQUIRE) == name_;
  }

 private:
  // Both one instruction: a signal handler on this thread may take stamps before and behind it, and the next
  // stamp is later than all of them.
  uint64_t next_stamp() {
    uint64_t last = kStep;
    __asm__ volatile("xaddq %0, %1" : "+r"(last), "+m"(thread_.last_stamp)::"cc", "memory");
    return last + kStep;
  }
  bool replace_last(uint64_t last, uint64_t stamp) {
    bool replaced = false;
    __asm__ volatile("cmpxchgq %3, %1"
                     : "+a"(last), "+m"(thread_.last_stamp), "=@ccz"(replaced)
                     : "r"(stamp)
                     : "memory");
    return replaced;
  }

  __attribute__((noinline)) static void take_away(Shared& shared, uint64_t name) {
    __atomic_compare_exchange_n(&shared.sole, &name, 0U, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }

  static constexpr uint64_t kStep = 4;  // ticks: less than any event takes

  Shared& shared_;
  ThreadSlot& thread_;
  uint32_t number_;  // of the thread's slot, from 1
  uint64_t name_ = 0;
};

}  // namespace refhist::agent
