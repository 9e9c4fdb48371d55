// Stop rules in the program: which events may be a mistake or a last put. Errs on the side of asking: the
// debugger, with the whole history and all threads stopped, decides.
#pragma once

#include "agent/agent_abi.h"
#include "agent/instructions.h"
#include "agent/watched_objects.h"

namespace refhist::agent {

/// One call of a probe.
struct WatchedCall {
  uint64_t object;
  uint64_t extra;  ///< size, of memory that is given back
  uint64_t sp;     ///< at the function's entry
  uint64_t return_pc;
  uint32_t thread;  ///< its slot, counted from 1
};

/// What was seen at one moment.
struct Moment {
  uint64_t time;   ///< time stamp counter
  uint64_t count;  ///< the counter's bytes
  bool has_count;
};

class RuleWatch {
 public:
  RuleWatch(Shared* shared, ThreadSlot& thread, const Site& site, const WatchedCall& call)
      : shared_(shared), table_(shared), thread_(thread), site_(site), call_(call) {}

  /// The call begins, with an object. Which RecordFlags say that the program may have to stop here.
  uint8_t at_entry(Moment& moment) { return effect_at_entry(moment) | each(); }
  /// It has returned, with this result and an object.
  uint8_t at_return(uint64_t result, Moment& moment) { return effect_at_return(result, moment) | each(); }
  /// A call that `at_entry` or `begun` has seen has returned, or is begun anew.
  void ended();
  /// A call begins whose effect is known at its return.
  void begun();
  /// Others may go on with the object.
  void release();
  /// The memory is about to be somewhere else.
  void forget_block();

 private:
  struct Step;  // one attempt to change an entry

  uint8_t effect_at_entry(Moment& moment);
  uint8_t effect_at_return(uint64_t result, Moment& moment);
  [[nodiscard]] uint8_t each() const;
  [[nodiscard]] bool too_high(const Step& step) const;
  [[nodiscard]] Moment look() const;
  [[nodiscard]] int64_t references(const Moment& moment) const;
  [[nodiscard]] bool balances() const { return (site_.watch & kWatchBalance) != 0; }
  [[nodiscard]] bool wanted() const { return site_.only == 0 || site_.only == call_.object; }
  void birth(Moment& moment, bool returned);
  uint8_t change(Moment& moment, bool returned);
  bool part_of_outer_call(const ObjectEntry& entry) const;
  [[nodiscard]] const Site* outer_call(const ObjectEntry& entry) const;
  [[nodiscard]] bool inside_own_put(const ObjectEntry& entry) const;
  [[nodiscard]] bool told_before(const ObjectEntry& entry, int64_t more) const;
  static int32_t after(const Step& step);
  void first_sight(Step& step) const;
  bool on_live(Step& step, const ObjectEntry& entry) const;
  void on_dead(Step& step, const ObjectEntry& entry) const;
  void on_put(Step& step) const;
  bool try_change(Step& step, ObjectEntry& entry) const;
  void remember(ObjectEntry& entry, const ObjectWord& old, const ObjectWord& now) const;
  void come_in(ObjectEntry& entry);
  bool count_inside(ObjectEntry& entry, int change) const;
  void wait_for_holder(ObjectEntry& entry) const;
  bool is_last_put(ObjectEntry& entry, unsigned own);
  bool free(Moment& moment);
  bool free_block(Moment& moment);

  Shared* shared_;
  WatchedObjects table_;
  ThreadSlot& thread_;
  const Site& site_;
  const WatchedCall& call_;
};

}  // namespace refhist::agent
