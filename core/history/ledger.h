// Applies what the probes saw to the history: which object it was, what its count must now be, and
// whether the step was a mistake.
//
// An event is recorded at the entry of a get or put, before the program changes the counter. The ledger
// therefore runs ahead of memory by the calls that are in flight: other threads that stand between the
// entry and the change, and calls of the same thread that enclose this one (a destructor that takes a
// reference inside the last put). A counter that differs from the ledger is an unobserved change only
// when no subset of the calls in flight explains it, and no count that the object had since the thread's
// event before this one: the look at the counter lies somewhere between the two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/history.h"

namespace refhist {

/// What the ledger must know about a family to judge.
struct FamilyTraits {
  bool blind = false;  ///< copies of its functions exist that are not armed
  bool has_init = false;
  std::int64_t born = 1;
  bool counts_unseen = false;        ///< code that cannot be followed changes the counters, too
  bool revives = false;              ///< a get may find zero while the memory is not given back
  bool immortal_below_zero = false;  ///< gets and puts leave an object alone whose count is negative
  Count saturated = {};              ///< a counter that reads this is full, and may stay so; none: not known
  bool copies_unknown = false;       ///< no debug information tells whether there are inlined copies
  bool has_try_get = false;          ///< somebody asks whether an object has references left
};

/// The allocation that an object lies in, where the allocator is tracked.
struct Memory {
  SiteId site;
  ThreadIndex thread;
  StackId stack;
  std::uint64_t time_ns = 0;
  std::uint64_t size = 0;  ///< bytes from the object's address to the end of the block
};

enum class MemoryFate : std::uint8_t {
  unknown,
  gone,              ///< its allocator, which is followed, has not handed it out again
  kept,              ///< it was not given back after all: its allocator, which is followed, never got it
  handed_out_again,  ///< to whomever
  pooled,            ///< it is one of several in a block, whose owner alone knows
};

/// What the ledger asks of the moment of an event, only when it matters.
class EventContext {
 public:
  virtual ~EventContext() = default;
  /// Changes (+1, -1) of the object that may not have reached memory yet.
  [[nodiscard]] virtual std::vector<int> in_flight(ObjectId object) const = 0;
  /// Changes of the object that the look at its counter may have come too early for.
  [[nodiscard]] virtual std::vector<int> after_the_look(ObjectId object) const = 0;
  /// The thread of the event is inside of a put of the object.
  [[nodiscard]] virtual bool inside_put(ObjectId object) const = 0;
  /// What became of the memory of the last object there, whose end was seen.
  [[nodiscard]] virtual MemoryFate memory_fate(FamilyId family, Address address) const = 0;
  /// No put of the family is armed; or the functions of the stack have some in them of which the compiler has
  /// left nothing to arm: before a free it drops the store to the counter.
  [[nodiscard]] virtual bool may_miss_puts(FamilyId /*family*/, StackId /*stack*/) const { return false; }
};

/// One execution of a probe.
struct Execution {
  FamilyId family;
  FamilyTraits traits;
  SiteId site;
  Role role = Role::get;
  Address address = 0;
  std::uint64_t size = 0;  ///< alloc: bytes; 0 unknown
  std::optional<Memory> memory;
  ThreadIndex thread;
  std::uint64_t time_ns = 0;
  StackId stack;
  Count before;               ///< counter at entry, when readable
  Count after;                ///< counter at return, for calls that are watched to their return
  std::int64_t amount = 1;    ///< references that a get takes or a put gives back
  bool failed = false;        ///< try_get without success
  bool may_exist = false;     ///< of init: an object with more references than a new one has is not born now
  bool among_others = false;  ///< of free: the block holds other objects of the family, too: an arena
  bool at_return = false;     ///< `after` speaks, not `before`
  EventId first_inside;       ///< for calls watched to their return: the next event id at their entry
  const EventContext* around = nullptr;  ///< null: nothing is in flight, nothing is known of the memory
};

struct Outcome {
  ObjectId object;
  EventId event;  ///< invalid when the call was part of an event already recorded
  std::optional<Finding> finding;
  bool to_zero = false;  ///< this put ends the object
};

class Ledger {
 public:
  explicit Ledger(History& history) : history_(history) {}
  Outcome apply(const Execution& execution);
  /// A get or put of a live object whose counter agrees and that this call does not end: most events. `event`
  /// needs object, `before` and what is known of the call; `origin` is as History::add_event has it. False,
  /// and nothing done, when it is not such a one.
  bool apply_ordinary(Event& event, std::uint32_t& origin) {
    Object& object = history_.object(event.object);
    const int delta = event.role == Role::put ? -1 : 1;
    const bool ordinary = object.state == ObjectState::live && object.base_known &&
                          event.before == object.ledger && object.ledger > 0 && object.ledger + delta > 0;
    if (!ordinary) return false;
    object.ledger += delta;
    object.uncounted = false;
    event.after = object.ledger;
    event.after_source = CountSource::derived;
    history_.add_event(event, origin);
    return true;
  }
  /// The counter was seen changing, by no probe: an event of its own. `event` has the time, thread and stack.
  EventId note_change(ObjectId id, std::int64_t memory, Event event);
  /// A get or put that is left out of the history on the user's wish: only the count follows it.
  void adjust(FamilyId family, Address address, std::int64_t delta);
  /// realloc has moved the object: it lives on, as another object, at the new address. Returns that.
  ObjectId move(ObjectId id, Address to, const Execution& execution);

 private:
  Outcome birth(const Execution& execution);
  /// It goes on without events.
  Outcome leave_immortal(const Execution& execution, const char* why);
  /// The counter still reads what it did at birth, 0 or less, though it should have moved.
  [[nodiscard]] bool is_uncounted(const Execution& execution);
  Outcome change(const Execution& execution);
  Outcome release(const Execution& execution);

  /// The event was made by the execution's thread while the call that now returns was running.
  [[nodiscard]] bool happened_inside(const Execution& execution, EventId event) const;
  ObjectId new_object(const Execution& execution, bool complete);
  void record_allocation(ObjectId id, const Memory& memory);
  void end_unseen(ObjectId id);
  EventId record(ObjectId id, const Execution& execution, Count before, Count after, CountSource source,
                 bool during_death = false);
  void reconcile(ObjectId id, const Execution& execution, std::int64_t memory);
  /// The counter says other than the ledger, and nothing that was seen explains it.
  void note_unobserved(ObjectId id, const Execution& execution, std::int64_t memory);
  /// Judges a get or put on an object whose last reference is gone. Sets `reborn` when it must be another
  /// object.
  std::optional<Finding> judge_dead(ObjectId id, const Execution& execution, bool& reborn,
                                    bool& during_death);
  /// Of late, its finaliser has taken a reference, within its last put.
  [[nodiscard]] bool used_in_own_death(ObjectId id) const;
  void withdraw_moved(ObjectId id);
  /// Its last put has left it alone, as a cache does with what nobody uses: then it may be taken again.
  [[nodiscard]] bool outlives_zero(ObjectId id, const Execution& execution, bool put_runs);
  /// The reference that another thread took from zero, though the memory goes; invalid when none was.
  [[nodiscard]] EventId taken_from_zero(ObjectId id, const Execution& execution) const;
  [[nodiscard]] std::optional<Finding> judge_revived(ObjectId id, const Execution& execution) const;
  [[nodiscard]] bool freed_by(EventId put, const Execution& execution) const;
  /// The thread has had another event since, no deeper in its calls than `depth` frames.
  [[nodiscard]] bool gone_on_since(EventId put, std::size_t depth) const;
  [[nodiscard]] bool stands_in(EventId put, const Execution& execution) const;
  void withdraw_below_zero(ObjectId id, const Execution& execution);
  void withdraw_settled(ObjectId id, const Execution& execution);
  [[nodiscard]] std::optional<Finding> judge_release(ObjectId id, const Execution& execution) const;
  Outcome failed_try(const Execution& execution);
  void apply_delta(Outcome& outcome, const Execution& execution, std::int64_t delta, bool during_death);

  /// What happens to a family's objects that have no references left, by what was seen.
  struct AtZero {
    bool freed = false;  ///< within their last put
    bool kept = false;
  };
  AtZero& at_zero(FamilyId family);

  History& history_;
  std::vector<AtZero> at_zero_;  // by family
};

/// True when `memory` equals `ledger` less some subset of the changes in flight.
bool explained_by(std::int64_t ledger, std::int64_t memory, const std::vector<int>& in_flight);

}  // namespace refhist
