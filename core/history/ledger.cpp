#include "history/ledger.h"

#include <fmt/core.h>

#include <algorithm>

namespace refhist {

namespace {
bool is_put(Role role) { return role == Role::put; }

std::vector<int> in_flight(const Execution& execution, ObjectId id) {
  return execution.around != nullptr ? execution.around->in_flight(id) : std::vector<int>{};
}

bool is_explained(const Execution& execution, ObjectId id, std::int64_t ledger, std::int64_t memory) {
  std::vector<int> changes = in_flight(execution, id);
  if (explained_by(ledger, memory, changes)) return true;
  if (execution.around == nullptr) return false;
  const std::vector<int> later = execution.around->after_the_look(id);
  changes.insert(changes.end(), later.begin(), later.end());
  return explained_by(ledger, memory, changes);
}

std::string where_died(const Object& object) {
  return object.freed ? "after its memory was freed" : "after its last put";
}
}  // namespace

bool explained_by(std::int64_t ledger, std::int64_t memory, const std::vector<int>& changes) {
  // With changes of +1 and -1 the subset sums are every value between the sum of the -1s and the sum of the
  // +1s.
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for (const int change : changes) (change < 0 ? lowest : highest) += change;
  const std::int64_t missing = ledger - memory;
  return lowest <= missing && missing <= highest;
}

Outcome Ledger::apply(const Execution& execution) {
  const Count now = execution.at_return ? execution.after : execution.before;
  if (execution.traits.immortal_below_zero && now && *now < 0)
    return leave_immortal(
        execution, "it is immortal now: its counter is negative, and gets and puts no longer change it");
  if (now && now == execution.traits.saturated && direction(execution.role) != 0)
    return leave_immortal(execution, "its counter is full: gets and puts may no longer change it");
  if (is_uncounted(execution))
    return leave_immortal(execution, "it is not counted: gets and puts do not change its counter");
  switch (execution.role) {
    case Role::alloc:
    case Role::init:
      return birth(execution);
    case Role::free:
    case Role::pool_destroy:
      return release(execution);
    default:
      return execution.failed ? failed_try(execution) : change(execution);
  }
}

Outcome Ledger::leave_immortal(const Execution& execution, const char* why) {
  const ObjectId id = history_.newest_at(execution.family, execution.address);
  if (id.valid() && history_.object(id).state == ObjectState::live) {
    history_.object(id).state = ObjectState::unknown;
    history_.set_note(id, why);
  }
  return {};
}

// One that begins at zero, whatever its family says, has its first get then.
bool Ledger::is_uncounted(const Execution& execution) {
  const ObjectId id = history_.newest_at(execution.family, execution.address);
  if (!id.valid() || !history_.object(id).uncounted || !execution.before || direction(execution.role) == 0)
    return false;
  Object& object = history_.object(id);
  if (*execution.before > 0) object.uncounted = false;
  return object.uncounted && object.state == ObjectState::live &&
         (is_put(execution.role) || object.last_event != object.born);
}

bool Ledger::happened_inside(const Execution& execution, EventId event) const {
  return execution.first_inside.valid() && event >= execution.first_inside &&
         history_.event(event).thread == execution.thread;
}

ObjectId Ledger::new_object(const Execution& execution, bool complete) {
  Object object;
  object.address = execution.address;
  object.family = execution.family;
  object.size = execution.memory ? execution.memory->size : execution.size;
  object.complete = complete;
  const ObjectId id = history_.add_object(object);
  if (execution.memory) record_allocation(id, *execution.memory);
  return id;
}

void Ledger::record_allocation(ObjectId id, const Memory& memory) {
  Event event;
  event.time_ns = memory.time_ns;
  event.object = id;
  event.site = memory.site;
  event.thread = memory.thread;
  event.stack = memory.stack;
  event.role = Role::alloc;
  event.after = 0;
  event.after_source = CountSource::derived;
  history_.add_event(event);
}

ObjectId Ledger::move(ObjectId id, Address to, const Execution& execution) {
  Object moved = history_.object(id);
  Object& left = history_.object(id);
  left.state = ObjectState::dead;
  left.freed = true;
  history_.set_note(id, fmt::format("realloc moved it to {:#x}", to));
  moved.address = to;
  moved.events = 0;
  moved.birth_origin = kNoOrigin;
  moved.born = moved.died = moved.first_event = moved.last_event = EventId();
  if (execution.memory) moved.size = execution.memory->size;
  const std::int64_t ledger = moved.ledger;
  const ObjectId now = history_.add_object(moved);
  history_.set_before_seen(now, history_.before_seen(id));
  history_.set_note(now, fmt::format("realloc moved it from {:#x}", history_.object(id).address));
  history_.set_born(now, record(now, execution, ledger, ledger, CountSource::derived));
  return now;
}

void Ledger::end_unseen(ObjectId id) {
  Object& object = history_.object(id);
  if (object.state != ObjectState::live) return;
  object.state = ObjectState::unknown;
  history_.set_note(
      id, fmt::format("its end was not seen: event #{} is the birth of another object at its address",
                      history_.event_count()));
}

EventId Ledger::record(ObjectId id, const Execution& execution, Count before, Count after, CountSource source,
                       bool during_death) {
  Event event;
  event.time_ns = execution.time_ns;
  event.object = id;
  event.site = execution.site;
  event.thread = execution.thread;
  event.stack = execution.stack;
  event.role = execution.role;
  event.before = before;
  event.after = after;
  event.after_source = source;
  event.failed = execution.failed;
  event.during_death = during_death;
  return history_.add_event(event);
}

namespace {
/// More references than anybody has taken: other things lie there, or several counts.
bool is_no_count(std::int64_t count) { return count >= std::int64_t{1} << 31; }
}  // namespace

Outcome Ledger::birth(const Execution& execution) {
  Outcome outcome;
  const bool gives_references = execution.role == Role::init || !execution.traits.has_init;
  const bool existed = execution.may_exist && execution.after != execution.traits.born;
  ObjectId id = history_.newest_at(execution.family, execution.address);
  if (!id.valid() && existed) return outcome;
  if (gives_references && execution.after && is_no_count(*execution.after)) {
    if (id.valid()) end_unseen(id);
    return outcome;
  }
  if (id.valid()) {
    const Object& object = history_.object(id);
    const bool live = object.state == ObjectState::live;
    const bool inside = live && object.events != 0 && happened_inside(execution, object.first_event);
    const bool only_allocated = live && object.born.valid() && object.events == 1 &&
                                history_.event(object.born).role == Role::alloc &&
                                execution.role == Role::init;
    if (inside && object.born.valid() && !only_allocated) {
      outcome.object = id;  // an inner constructor has already told this birth
      return outcome;
    }
    // A constructor may hand out an object that it keeps (a singleton, a cache). One that has more references
    // than a new one can have was not born now: as many as before is nothing, one more is a get.
    const bool kept = live && execution.after && object.base_known &&
                      *execution.after > execution.traits.born &&
                      (*execution.after == object.ledger || *execution.after == object.ledger + 1);
    if (kept && !only_allocated && !inside) {
      outcome.object = id;
      if (*execution.after == object.ledger) return outcome;
      Execution taken = execution;
      taken.role = Role::get;
      apply_delta(outcome, taken, 1, false);
      return outcome;
    }
    if (existed && !only_allocated) {  // what took the reference, inside of the call, is the event
      outcome.object = id;
      return outcome;
    }
    if (!(only_allocated || (inside && live))) {
      end_unseen(id);
      id = ObjectId();
    }
  }
  if (!id.valid()) id = new_object(execution, true);

  std::int64_t references = gives_references ? execution.traits.born : 0;
  CountSource source = CountSource::derived;
  Object& object = history_.object(id);
  if (!object.complete)
    references += object.ledger - history_.before_seen(id);  // seen first inside its own constructor
  if (execution.after) {
    references = *execution.after;
    source = CountSource::read;
  }
  history_.set_complete(id, true);
  object.uncounted = gives_references && execution.traits.born > 0 && references <= 0;
  object.base_known = true;
  history_.set_before_seen(id, 0);
  object.ledger = references;
  outcome.object = id;
  outcome.event = record(id, execution, std::nullopt, references, source);
  history_.set_born(id, outcome.event);
  return outcome;
}

void Ledger::reconcile(ObjectId id, const Execution& execution, std::int64_t memory) {
  Object& object = history_.object(id);
  if (!object.base_known) {
    object.base_known = true;
    history_.set_before_seen(id, memory);
    object.ledger = memory;
    return;
  }
  if (memory != object.ledger && !is_explained(execution, id, object.ledger, memory))
    note_unobserved(id, execution, memory);
}

void Ledger::note_unobserved(ObjectId id, const Execution& execution, std::int64_t memory) {
  const Object& object = history_.object(id);
  Event event;
  event.time_ns = execution.time_ns;
  event.object = id;
  event.thread = execution.thread;
  event.role = memory > object.ledger ? Role::get : Role::put;
  event.unobserved = true;
  event.before = object.ledger;
  event.after = memory;
  event.after_source = CountSource::read;
  history_.add_event(event);
  history_.object(id).ledger = memory;
  history_.object(id).moved_unobserved = !execution.traits.counts_unseen;
  history_.note_unseen(execution.family);
}

EventId Ledger::note_change(ObjectId id, std::int64_t memory, Event event) {
  Object& object = history_.object(id);
  event.object = id;
  event.role = memory > object.ledger ? Role::get : Role::put;
  event.before = object.ledger;
  event.after = memory;
  event.after_source = CountSource::read;
  object.ledger = memory;
  return history_.add_event(event);
}

namespace {
/// No count that an object has: the upper half of a pointer into the heap, a library or a stack, or text.
bool is_other_memory(std::int64_t count) {
  const bool pointer = (count >= 0x5500 && count < 0x5700) || (count >= 0x7e00 && count < 0x8000);
  return count < 0 || pointer || count >= 1 << 24;
}

MemoryFate memory_fate(const Execution& execution) {
  return execution.around == nullptr ? MemoryFate::unknown
                                     : execution.around->memory_fate(execution.family, execution.address);
}
}  // namespace

std::optional<Finding> Ledger::judge_dead(ObjectId id, const Execution& execution, bool& reborn,
                                          bool& during_death) {
  const Object& object = history_.object(id);
  const bool kept = execution.traits.revives && !object.freed && !is_put(execution.role);
  if (kept && execution.before == 0) return std::nullopt;
  const std::vector<int> changes = in_flight(execution, id);
  const bool last_put_runs =
      !object.freed && std::any_of(changes.begin(), changes.end(), [](int change) { return change < 0; });
  const Count memory = execution.before;
  const char* what = is_put(execution.role) ? "put" : "get";
  // A destructor may set the counter to what it likes, and may take the object back: whether that is a
  // mistake is seen when the memory is given back nevertheless. What other threads do to the object can be
  // told by the counter.
  const auto fits = [&] {
    if (!memory) return true;
    constexpr std::int64_t kGuard = -2;  // no put too many leaves that: the destructor holds the object so
    if (execution.around->inside_put(id)) return *memory >= 1 || *memory <= kGuard || !is_put(execution.role);
    return *memory >= 1 && explained_by(object.ledger, *memory, changes);
  };
  // A counter that has references says that this put was not the last one, whatever is told too late.
  const bool counted = memory && *memory >= 1 && *memory <= object.events;
  const bool own_thread_puts = memory && *memory >= 1 && stands_in(object.died, execution);
  if (own_thread_puts || (last_put_runs && (counted || fits()))) {
    during_death = true;
    return std::nullopt;
  }
  // Another object may have been made at the address unseen.
  if (execution.traits.counts_unseen || history_.lost_since(object.died)) {
    reborn = true;
    return std::nullopt;
  }
  if (execution.before == 0 && !is_put(execution.role) && outlives_zero(id, execution, last_put_runs)) {
    history_.object(id).revived = true;
    return std::nullopt;
  }
  Finding finding{Verdict::use_after_free, id, EventId(), {}};
  const MemoryFate fate = object.freed ? memory_fate(execution) : MemoryFate::unknown;
  // In memory that was given back, a new object's first reference may be taken from zero, where none has one
  // from its birth on.
  const bool first_from_zero =
      !execution.traits.has_init || execution.traits.born <= 0 || fate == MemoryFate::handed_out_again;
  const bool at_zero =
      memory && *memory <= 0 && (!object.freed || is_put(execution.role) || !first_from_zero);
  const bool overwritten = memory && object.freed && is_other_memory(*memory);
  if (at_zero || overwritten || last_put_runs || fate == MemoryFate::gone) {
    if (at_zero && !object.freed)
      finding.verdict = is_put(execution.role) ? Verdict::over_put : Verdict::resurrection;
    if (finding.verdict == Verdict::resurrection && memory_fate(execution) == MemoryFate::pooled) {
      if (object.revived) return std::nullopt;
      history_.object(id).revived = true;
      finding.verdict = Verdict::undecidable;
      finding.why = fmt::format(
          "get {}; it is one of several in a block: whether the pool had got it back was not seen",
          where_died(object));
      return finding;
    }
    finding.why = memory ? fmt::format("{} {}; the counter reads {}", what, where_died(object), *memory)
                         : fmt::format("{} {}", what, where_died(object));
    return finding;
  }
  // Nothing else rules out that another object was born there unseen: no family file is known to name every
  // function that makes one, and pools hand out memory that no allocator has got back.
  reborn = true;
  const bool used_again = !object.freed || fate == MemoryFate::handed_out_again;
  if (used_again && memory && !is_other_memory(*memory)) return std::nullopt;
  finding.verdict = Verdict::undecidable;
  finding.why = fmt::format(
      "{} at the address of an object that ended at event #{}: used after its end, or another object whose "
      "birth was not seen",
      what, object.died.value);
  return finding;
}

Ledger::AtZero& Ledger::at_zero(FamilyId family) {
  if (at_zero_.size() <= family.index()) at_zero_.resize(family.index() + 1);
  return at_zero_[family.index()];
}

// A put that has returned has done what it does at zero. One of another thread may stand anywhere: what the
// family's other objects went through decides, and should the memory go after all, its release tells. Where
// others ask before they take a reference, zero is the end, whenever the memory goes.
bool Ledger::outlives_zero(ObjectId id, const Execution& execution, bool put_runs) {
  if (execution.traits.has_try_get && execution.role == Role::get) return false;
  if (history_.object(id).freed || memory_fate(execution) != MemoryFate::kept) return false;
  AtZero& others = at_zero(execution.family);
  if (!put_runs) others.kept = true;
  return others.kept || !others.freed;
}

void Ledger::apply_delta(Outcome& outcome, const Execution& execution, std::int64_t delta,
                         bool during_death) {
  Object& object = history_.object(outcome.object);
  object.ledger += delta;
  Count after;
  CountSource source = CountSource::unknown;
  if (execution.at_return && execution.after) {
    after = execution.after;
    source = CountSource::read;
  } else if (execution.before) {
    after = *execution.before + delta;
    source = CountSource::derived;
  } else if (object.base_known) {
    after = object.ledger;
    source = CountSource::derived;
  }
  Count before = execution.before;
  if (!before && object.base_known && !execution.at_return) before = object.ledger - delta;
  outcome.event = record(outcome.object, execution, before, after, source, during_death);
  Object& changed = history_.object(outcome.object);
  if (delta < 0 && changed.base_known && changed.ledger <= 0 && changed.state == ObjectState::live) {
    changed.state = ObjectState::dead;
    changed.died = outcome.event;
    outcome.to_zero = true;
  } else if (delta > 0 && changed.ledger > 0 && changed.state == ObjectState::dead && !changed.freed) {
    changed.state = ObjectState::live;  // taken again before its last put had taken effect
    changed.died = EventId();
  }
}

// An array of objects grows: they are copied as they are, and the memory that they were in goes. One that is
// seen first with as many references as another one had there is that one.
void Ledger::withdraw_moved(ObjectId id) {
  const Object& object = history_.object(id);
  const ObjectId from = history_.withdraw_finding([&](const Finding& finding) {
    const Object& freed = history_.object(finding.object);
    return finding.verdict == Verdict::free_while_referenced && freed.family == object.family &&
           freed.ledger == object.ledger;
  });
  if (!from.valid()) return;
  history_.set_note(from, fmt::format("it was copied to {:#x} before its memory was freed", object.address));
  history_.set_note(id, fmt::format("it was copied from {:#x}", history_.object(from).address));
}

Outcome Ledger::change(const Execution& execution) {
  Outcome outcome;
  const std::int64_t delta = is_put(execution.role) ? -execution.amount : execution.amount;
  ObjectId id = history_.newest_at(execution.family, execution.address);
  bool reborn = false;
  bool during_death = false;
  std::optional<Finding> finding;
  if (id.valid() && history_.object(id).state == ObjectState::dead) {
    finding = judge_dead(id, execution, reborn, during_death);
  }
  // Its destructor has set the counter so that no use of the object ends it again.
  const bool sets_counter = during_death && execution.before &&
                            !is_explained(execution, id, history_.object(id).ledger, *execution.before);
  const bool first_seen = !id.valid() || reborn || history_.object(id).state == ObjectState::unknown;
  // Static objects have a counter of zero or less that get and put leave alone.
  const bool never_born =
      first_seen && !reborn && execution.before &&
      ((*execution.before <= 0 && execution.traits.born > 0) || is_no_count(*execution.before));
  if (never_born) return outcome;
  if (first_seen) {
    const Count base =
        execution.at_return && execution.after ? Count(*execution.after - delta) : execution.before;
    // Compilers make one store of the zero that it is born with and of its first get.
    const bool just_born =
        !reborn && delta > 0 && base == 0 && execution.traits.born == 0 && execution.traits.has_init;
    id = new_object(execution, just_born);
    Object& object = history_.object(id);
    object.base_known = base.has_value();
    history_.set_before_seen(id, base.value_or(0));
    object.ledger = base.value_or(0);
    if (!reborn && base) withdraw_moved(id);
    if (reborn)
      history_.set_note(id, finding ? finding->why : "it was born unseen where another object had ended");
  } else if (execution.at_return && execution.traits.counts_unseen) {
    // Whatever made the reference, inside of the call, has handed it over.
    if (execution.after == delta) history_.object(id).ledger = 0;
    if (execution.after && *execution.after > delta) reconcile(id, execution, *execution.after - delta);
  } else if (execution.at_return) {
    if (execution.after) {
      const Object& object = history_.object(id);
      const bool wrapper = object.events != 0 && happened_inside(execution, object.last_event) &&
                           *execution.after == object.ledger;
      if (wrapper) {  // the probes inside this call have already told what it did
        outcome.object = id;
        return outcome;
      }
      reconcile(id, execution, *execution.after - delta);
    }
  } else if (execution.before && !sets_counter && !(finding && finding->verdict != Verdict::undecidable)) {
    reconcile(id, execution, *execution.before);
  }
  outcome.object = id;
  if (sets_counter) {
    const Count after = *execution.before + delta;
    outcome.event = record(id, execution, execution.before, after, CountSource::derived, during_death);
    return outcome;
  }
  const bool below =
      is_put(execution.role) && !finding && execution.before && *execution.before <= 0 && !during_death;
  if (below) {
    finding = Finding{Verdict::over_put, id, EventId(),
                      fmt::format("put while the counter reads {}", *execution.before)};
  }
  apply_delta(outcome, execution, delta, during_death);
  if (finding) {
    finding->object = id;
    finding->event = outcome.event;
    outcome.finding = finding;
    history_.add_finding(*finding);
  }
  return outcome;
}

void Ledger::adjust(FamilyId family, Address address, std::int64_t delta) {
  const ObjectId id = history_.newest_at(family, address);
  if (!id.valid() || history_.object(id).state != ObjectState::live) return;
  Object& object = history_.object(id);
  object.ledger += delta;
  if (object.ledger > 0 || !object.base_known || delta > 0) return;
  object.state = ObjectState::dead;
  history_.set_note(id, "its last put was made by an excluded caller");
}

Outcome Ledger::failed_try(const Execution& execution) {
  Outcome outcome;
  outcome.object = history_.newest_at(execution.family, execution.address);
  if (!outcome.object.valid()) return outcome;
  outcome.event = record(outcome.object, execution, execution.before, execution.before, CountSource::derived);
  return outcome;
}

bool Ledger::used_in_own_death(ObjectId id) const {
  constexpr int kMost = 32;  // events
  EventId at = history_.object(id).last_event;
  for (int i = 0; i < kMost && at.valid(); ++i, at = history_.previous(at)) {
    if (history_.event(at).during_death) return true;
  }
  return false;
}

EventId Ledger::taken_from_zero(ObjectId id, const Execution& execution) const {
  constexpr int kMost = 32;  // events
  EventId taken;
  EventId at = history_.object(id).last_event;
  for (int i = 0; i < kMost && at.valid(); ++i, at = history_.previous(at)) {
    const Event event = history_.event(at);
    const bool from_zero = direction(event.role) > 0 && event.before == 0;
    if (from_zero && event.thread != execution.thread) taken = at;
    if (from_zero && event.thread == execution.thread) return {};
    if (is_put(event.role) && event.thread == execution.thread) break;
  }
  return taken;
}

// The thread whose put found zero gives the memory back, though another one has taken a reference since.
std::optional<Finding> Ledger::judge_revived(ObjectId id, const Execution& execution) const {
  const Object& object = history_.object(id);
  if (!object.revived || execution.role != Role::free) return std::nullopt;
  const bool owed = object.state == ObjectState::live && object.ledger > 0;
  const bool by_its_put = execution.around != nullptr && execution.around->inside_put(id);
  if (!owed && !by_its_put) return std::nullopt;
  const EventId taken = taken_from_zero(id, execution);
  if (!taken.valid()) return std::nullopt;
  return Finding{
      Verdict::resurrection, id, taken,
      fmt::format("get after its last put, whose memory was freed at event #{}", history_.event_count())};
}

// Whoever has the only reference may give the memory back without a put: an error path, a constructor that
// throws, a put written out by hand. A use after that is told as such. A finaliser has none: what is left
// within the object's own last put was taken there. Objects that go together, with an arena, may have held
// each other. Without a look at the counter, puts that nobody saw may explain the references.
std::optional<Finding> Ledger::judge_release(ObjectId id, const Execution& execution) const {
  const Object& object = history_.object(id);
  const bool may_go = object.ledger == 1 || execution.among_others;
  if (may_go && !used_in_own_death(id)) return std::nullopt;
  if (!execution.before && execution.traits.blind) return std::nullopt;
  // The compiler drops the last stores to a counter whose memory goes next, and whoever counts unseen may do
  // so once more.
  if (object.moved_unobserved || execution.traits.counts_unseen) return std::nullopt;
  if (execution.around != nullptr && execution.around->may_miss_puts(execution.family, execution.stack))
    return std::nullopt;
  const std::int64_t references = object.ledger;
  const std::string what =
      fmt::format("{} while {} reference{} outstanding",
                  execution.role == Role::pool_destroy ? "its pool is destroyed" : "free", references,
                  references == 1 ? " is" : "s are");
  const bool certain =
      execution.before || (!execution.traits.copies_unknown && !history_.births_in_doubt(execution.family));
  if (certain) return Finding{Verdict::free_while_referenced, id, EventId(), what};
  return Finding{Verdict::undecidable, id, EventId(),
                 what +
                     " by what was seen; puts may have been missed, and its counter was not read at that "
                     "point (break-on-imbalance reads it)"};
}

// That call has not returned, or has jumped to where the memory is given back.
bool Ledger::freed_by(EventId put, const Execution& execution) const {
  constexpr std::size_t kInner = 4;  // frames
  const Event event = history_.event(put);
  if (event.thread != execution.thread || !event.stack.valid() || !execution.stack.valid()) return false;
  const std::vector<StackFrame> at_put = history_.stacks().frames(event.stack);
  const std::vector<StackFrame> at_free = history_.stacks().frames(execution.stack);
  if (at_put.size() < 2) return false;
  const auto end = at_free.begin() + static_cast<std::ptrdiff_t>(std::min(kInner, at_free.size()));
  return std::find(at_free.begin(), end, at_put[1]) != end && !gone_on_since(put, at_put.size());
}

// Of a put that was inlined, the stack does not tell that it is over: the next event that the thread has no
// deeper than there does.
bool Ledger::gone_on_since(EventId put, std::size_t depth) const {
  constexpr std::uint64_t kMost = 1000;  // events
  const Event event = history_.event(put);
  const std::uint64_t end = history_.event_count();
  for (std::uint64_t at = put.value + 1; at < end; ++at) {
    if (at - put.value > kMost) return true;
    if (!history_.log().contains(EventId(at))) continue;
    const Event later = history_.event(EventId(at));
    const bool same = later.thread == event.thread && later.stack.valid() && later.role != Role::free;
    if (same && history_.stacks().frames(later.stack).size() <= depth) return true;
  }
  return false;
}

// The thread has gone on in that call, or deeper, and has not returned to where it was made.
bool Ledger::stands_in(EventId put, const Execution& execution) const {
  if (!put.valid()) return false;
  const Event event = history_.event(put);
  if (event.thread != execution.thread || !event.stack.valid() || !execution.stack.valid()) return false;
  const std::vector<StackFrame> at_put = history_.stacks().frames(event.stack);
  const std::vector<StackFrame> now = history_.stacks().frames(execution.stack);
  const bool later =
      now.size() > at_put.size() || (now.size() == at_put.size() && now.front() != at_put.front());
  return later && at_put.size() > 1 && std::equal(at_put.rbegin(), at_put.rend() - 1, now.rbegin());
}

// The put that found zero has given the memory back, and the one before, which left zero, has not: the
// counter is one below the references, and nobody has put too often.
void Ledger::withdraw_below_zero(ObjectId id, const Execution& execution) {
  const EventId put = history_.object(id).last_event;
  if (!put.valid() || !freed_by(put, execution)) return;
  const ObjectId below = history_.withdraw_finding(
      [&](const Finding& finding) { return finding.verdict == Verdict::over_put && finding.event == put; });
  if (below.valid())
    history_.set_note(id, "its counter is one below its references: its last put found zero");
}

// Readers may be counted in another place. Their puts here may come before that count is added. The call that
// adds it then frees the object at zero.
void Ledger::withdraw_settled(ObjectId id, const Execution& execution) {
  const EventId last = history_.object(id).last_event;
  const Event event = last.valid() ? history_.event(last) : Event();
  const bool from_below = direction(event.role) > 0 && event.before && *event.before < 0 && event.after == 0;
  if (!from_below || !freed_by(last, execution)) return;
  const EventId died = history_.object(id).died;
  const auto is_its = [&](const Finding& finding) {
    return finding.object == id && finding.event >= died &&
           (finding.verdict == Verdict::over_put || finding.verdict == Verdict::resurrection);
  };
  while (history_.withdraw_finding(is_its).valid())
    history_.set_note(id, "its counter was below zero until what it owed was added");
}

Outcome Ledger::release(const Execution& execution) {
  Outcome outcome;
  ObjectId id = history_.newest_at(execution.family, execution.address);
  // Its allocator is its own, and may have handed the memory out again unseen.
  const bool kept = !execution.traits.counts_unseen && memory_fate(execution) == MemoryFate::gone;
  const bool other_object = id.valid() && (history_.object(id).state == ObjectState::unknown ||
                                           (history_.object(id).freed && !kept));
  if (!id.valid() || other_object) {
    id = new_object(execution, false);
    Object& object = history_.object(id);
    object.base_known = execution.before.has_value();
    object.ledger = execution.before.value_or(0);
    history_.set_before_seen(id, object.ledger);
  }
  std::optional<Finding> finding;
  const bool was_dead = history_.object(id).state == ObjectState::dead;
  if (!was_dead && execution.before) {
    reconcile(id, execution, *execution.before);
    // What other threads did since the look at the counter explains no reference that it does not count: they
    // have none to take one from.
    const std::int64_t ledger = history_.object(id).ledger;
    if (*execution.before <= 0 && ledger > 0 &&
        !explained_by(ledger, *execution.before, in_flight(execution, id)))
      note_unobserved(id, execution, *execution.before);
  }
  const Object& object = history_.object(id);
  if (was_dead && !object.freed) {
    withdraw_below_zero(id, execution);
    withdraw_settled(id, execution);
    if (execution.around != nullptr && execution.around->inside_put(id))
      at_zero(execution.family).freed = true;
  }
  if (auto revived = judge_revived(id, execution)) {
    finding = std::move(revived);
  } else if (object.freed && !history_.lost_since(object.died)) {
    finding = Finding{Verdict::use_after_free, id, EventId(), "free of memory that was already freed"};
  } else if (!was_dead && object.base_known && object.ledger > 0) {
    finding = judge_release(id, execution);
    if (!finding && object.ledger == 1)
      history_.set_note(id, "its memory was freed without its last put, while one reference was left");
    else if (!finding && execution.among_others)
      history_.set_note(id, "its memory was freed together with other objects, while references were left");
  }
  outcome.object = id;
  outcome.event = record(id, execution, execution.before, execution.before, CountSource::derived);
  Object& changed = history_.object(id);
  changed.state = ObjectState::dead;
  changed.freed = true;
  if (!was_dead) changed.died = outcome.event;
  if (finding) {
    if (!finding->event.valid()) finding->event = outcome.event;
    outcome.finding = finding;
    history_.add_finding(*finding);
  }
  return outcome;
}

}  // namespace refhist
