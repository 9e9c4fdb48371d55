#include "history/ledger.h"

#include <fmt/core.h>

#include <algorithm>

namespace refhist {

namespace {
bool is_put(Role role) { return role == Role::put; }

std::vector<int> in_flight(const Arrival& arrival, ObjectId id) {
  return arrival.around != nullptr ? arrival.around->in_flight(id) : std::vector<int>{};
}

bool is_explained(const Arrival& arrival, ObjectId id, std::int64_t ledger, std::int64_t memory) {
  std::vector<int> changes = in_flight(arrival, id);
  if (explained_by(ledger, memory, changes)) return true;
  if (arrival.around == nullptr) return false;
  const std::vector<int> later = arrival.around->after_the_look(id);
  changes.insert(changes.end(), later.begin(), later.end());
  return explained_by(ledger, memory, changes);
}

std::string where_died(const Object& object) {
  return object.freed ? "after its memory was given back" : "after its last put";
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

Outcome Ledger::apply(const Arrival& arrival) {
  const Count now = arrival.at_return ? arrival.after : arrival.before;
  if (arrival.traits.immortal_below_zero && now && *now < 0) return leave_immortal(arrival);
  switch (arrival.role) {
    case Role::alloc:
    case Role::init:
      return birth(arrival);
    case Role::free:
    case Role::pool_destroy:
      return release(arrival);
    default:
      return arrival.failed ? failed_try(arrival) : change(arrival);
  }
}

Outcome Ledger::leave_immortal(const Arrival& arrival) {
  const ObjectId id = history_.newest_at(arrival.family, arrival.address);
  if (id.valid() && history_.object(id).state == ObjectState::live) {
    history_.object(id).state = ObjectState::unknown;
    history_.set_note(id, "it is immortal now: its counter is negative, and gets and puts leave it alone");
  }
  return {};
}

bool Ledger::happened_inside(const Arrival& arrival, EventId event) const {
  return arrival.first_inside.valid() && event >= arrival.first_inside &&
         history_.event(event).thread == arrival.thread;
}

ObjectId Ledger::new_object(const Arrival& arrival, bool complete) {
  Object object;
  object.address = arrival.address;
  object.family = arrival.family;
  object.size = arrival.memory ? arrival.memory->size : arrival.size;
  object.complete = complete;
  const ObjectId id = history_.add_object(object);
  if (arrival.memory) record_allocation(id, *arrival.memory);
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

ObjectId Ledger::move(ObjectId id, Address to, const Arrival& arrival) {
  Object moved = history_.object(id);
  Object& left = history_.object(id);
  left.state = ObjectState::dead;
  left.freed = true;
  history_.set_note(id, fmt::format("realloc moved it to {:#x}", to));
  moved.address = to;
  moved.events = 0;
  moved.birth_origin = kNoOrigin;
  moved.born = moved.died = moved.first_event = moved.last_event = EventId();
  if (arrival.memory) moved.size = arrival.memory->size;
  const std::int64_t ledger = moved.ledger;
  const ObjectId now = history_.add_object(moved);
  history_.set_before_seen(now, history_.before_seen(id));
  history_.set_note(now, fmt::format("realloc moved it from {:#x}", history_.object(id).address));
  history_.set_born(now, record(now, arrival, ledger, ledger, CountSource::derived));
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

EventId Ledger::record(ObjectId id, const Arrival& arrival, Count before, Count after, CountSource source,
                       bool during_death) {
  Event event;
  event.time_ns = arrival.time_ns;
  event.object = id;
  event.site = arrival.site;
  event.thread = arrival.thread;
  event.stack = arrival.stack;
  event.role = arrival.role;
  event.before = before;
  event.after = after;
  event.after_source = source;
  event.failed = arrival.failed;
  event.during_death = during_death;
  return history_.add_event(event);
}

Outcome Ledger::birth(const Arrival& arrival) {
  Outcome outcome;
  const bool gives_references = arrival.role == Role::init || !arrival.traits.has_init;
  const bool existed = arrival.may_exist && arrival.after != arrival.traits.born;
  ObjectId id = history_.newest_at(arrival.family, arrival.address);
  if (!id.valid() && existed) return outcome;
  if (id.valid()) {
    const Object& object = history_.object(id);
    const bool live = object.state == ObjectState::live;
    const bool inside = live && object.events != 0 && happened_inside(arrival, object.first_event);
    const bool only_allocated = live && object.born.valid() && object.events == 1 &&
                                history_.event(object.born).role == Role::alloc && arrival.role == Role::init;
    if (inside && object.born.valid() && !only_allocated) {
      outcome.object = id;  // an inner constructor has already told this birth
      return outcome;
    }
    // A constructor may hand out an object that it keeps (a singleton, a cache). One that has more references
    // than a new one can have was not born now: as many as before is nothing, one more is a get.
    const bool kept = live && arrival.after && object.base_known && *arrival.after > arrival.traits.born &&
                      (*arrival.after == object.ledger || *arrival.after == object.ledger + 1);
    if (kept && !only_allocated && !inside) {
      outcome.object = id;
      if (*arrival.after == object.ledger) return outcome;
      Arrival taken = arrival;
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
  if (!id.valid()) id = new_object(arrival, true);

  std::int64_t references = gives_references ? arrival.traits.born : 0;
  CountSource source = CountSource::derived;
  Object& object = history_.object(id);
  if (!object.complete)
    references += object.ledger - history_.before_seen(id);  // seen first inside its own constructor
  if (arrival.after) {
    references = *arrival.after;
    source = CountSource::read;
  }
  history_.set_complete(id, true);
  object.uncounted = gives_references && arrival.traits.born > 0 && references <= 0;
  object.base_known = true;
  history_.set_before_seen(id, 0);
  object.ledger = references;
  outcome.object = id;
  outcome.event = record(id, arrival, std::nullopt, references, source);
  history_.set_born(id, outcome.event);
  return outcome;
}

void Ledger::reconcile(ObjectId id, const Arrival& arrival, std::int64_t memory) {
  Object& object = history_.object(id);
  if (!object.base_known) {
    object.base_known = true;
    history_.set_before_seen(id, memory);
    object.ledger = memory;
    return;
  }
  if (memory == object.ledger || is_explained(arrival, id, object.ledger, memory)) return;
  Event event;
  event.time_ns = arrival.time_ns;
  event.object = id;
  event.thread = arrival.thread;
  event.role = memory > object.ledger ? Role::get : Role::put;
  event.unobserved = true;
  event.before = object.ledger;
  event.after = memory;
  event.after_source = CountSource::read;
  history_.add_event(event);
  history_.object(id).ledger = memory;
  history_.object(id).moved_unobserved = true;
  history_.note_unseen(arrival.family);
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

MemoryFate memory_fate(const Arrival& arrival) {
  return arrival.around == nullptr ? MemoryFate::unknown
                                   : arrival.around->memory_fate(arrival.family, arrival.address);
}
}  // namespace

std::optional<Finding> Ledger::judge_dead(ObjectId id, const Arrival& arrival, bool& reborn,
                                          bool& during_death) {
  const Object& object = history_.object(id);
  const bool kept = arrival.traits.revives && !object.freed && !is_put(arrival.role);
  if (kept && arrival.before == 0) return std::nullopt;
  const std::vector<int> changes = in_flight(arrival, id);
  const bool last_put_runs =
      !object.freed && std::any_of(changes.begin(), changes.end(), [](int change) { return change < 0; });
  const Count memory = arrival.before;
  const char* what = is_put(arrival.role) ? "put" : "get";
  // A destructor may set the counter to what it likes, and may take the object back: whether that is a
  // mistake is seen when the memory is given back nevertheless. What other threads do to the object can be
  // told by the counter.
  const auto fits = [&] {
    if (!memory) return true;
    if (arrival.around->inside_put(id)) return *memory >= 1 || !is_put(arrival.role);
    return *memory >= 1 && explained_by(object.ledger, *memory, changes);
  };
  if (last_put_runs && fits()) {
    during_death = true;
    return std::nullopt;
  }
  Finding finding{Verdict::use_after_free, id, EventId(), {}};
  const MemoryFate fate = object.freed ? memory_fate(arrival) : MemoryFate::unknown;
  // In memory that was given back, a new object's first reference may be taken from zero, where none has one
  // from its birth on.
  const bool first_from_zero =
      !arrival.traits.has_init || arrival.traits.born <= 0 || fate == MemoryFate::handed_out_again;
  const bool at_zero = memory && *memory <= 0 && (!object.freed || is_put(arrival.role) || !first_from_zero);
  const bool overwritten = memory && object.freed && is_other_memory(*memory);
  if (at_zero || overwritten || last_put_runs || fate == MemoryFate::gone) {
    if (at_zero && !object.freed)
      finding.verdict = is_put(arrival.role) ? Verdict::over_put : Verdict::resurrection;
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

void Ledger::apply_delta(Outcome& outcome, const Arrival& arrival, std::int64_t delta, bool during_death) {
  Object& object = history_.object(outcome.object);
  object.ledger += delta;
  Count after;
  CountSource source = CountSource::unknown;
  if (arrival.at_return && arrival.after) {
    after = arrival.after;
    source = CountSource::read;
  } else if (arrival.before) {
    after = *arrival.before + delta;
    source = CountSource::derived;
  } else if (object.base_known) {
    after = object.ledger;
    source = CountSource::derived;
  }
  Count before = arrival.before;
  if (!before && object.base_known && !arrival.at_return) before = object.ledger - delta;
  outcome.event = record(outcome.object, arrival, before, after, source, during_death);
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

Outcome Ledger::change(const Arrival& arrival) {
  Outcome outcome;
  const std::int64_t delta = is_put(arrival.role) ? -arrival.amount : arrival.amount;
  ObjectId id = history_.newest_at(arrival.family, arrival.address);
  bool reborn = false;
  bool during_death = false;
  std::optional<Finding> finding;
  if (id.valid() && history_.object(id).state == ObjectState::dead) {
    finding = judge_dead(id, arrival, reborn, during_death);
  }
  const bool first_seen = !id.valid() || reborn || history_.object(id).state == ObjectState::unknown;
  // Static objects have a counter of zero or less that get and put leave alone.
  const bool never_born =
      first_seen && !reborn && arrival.before && *arrival.before <= 0 && arrival.traits.born > 0;
  if (never_born) return outcome;
  if (first_seen) {
    id = new_object(arrival, false);
    Object& object = history_.object(id);
    const Count base = arrival.at_return && arrival.after ? Count(*arrival.after - delta) : arrival.before;
    object.base_known = base.has_value();
    history_.set_before_seen(id, base.value_or(0));
    object.ledger = base.value_or(0);
    if (reborn)
      history_.set_note(id, finding ? finding->why : "it was born unseen where another object had ended");
  } else if (arrival.at_return) {
    if (arrival.after) {
      const Object& object = history_.object(id);
      const bool wrapper = object.events != 0 && happened_inside(arrival, object.last_event) &&
                           *arrival.after == object.ledger;
      if (wrapper) {  // the probes inside this call have already told what it did
        outcome.object = id;
        return outcome;
      }
      reconcile(id, arrival, *arrival.after - delta);
    }
  } else if (arrival.before && !(finding && finding->verdict != Verdict::undecidable)) {
    reconcile(id, arrival, *arrival.before);
  }
  outcome.object = id;
  const bool below =
      is_put(arrival.role) && !finding && arrival.before && *arrival.before <= 0 && !during_death;
  const Object& object = history_.object(id);
  if (below && object.uncounted) {
    finding = Finding{Verdict::undecidable, id, EventId(),
                      fmt::format("put while the counter reads {}, as it did at birth: the object may not be "
                                  "counted",
                                  *arrival.before)};
  } else if (below) {
    finding = Finding{Verdict::over_put, id, EventId(),
                      fmt::format("put while the counter reads {}", *arrival.before)};
  }
  apply_delta(outcome, arrival, delta, during_death);
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

Outcome Ledger::failed_try(const Arrival& arrival) {
  Outcome outcome;
  outcome.object = history_.newest_at(arrival.family, arrival.address);
  if (!outcome.object.valid()) return outcome;
  outcome.event = record(outcome.object, arrival, arrival.before, arrival.before, CountSource::derived);
  return outcome;
}

// Without a look at the counter, puts that nobody saw may explain the references.
std::optional<Finding> Ledger::judge_release(ObjectId id, const Arrival& arrival) const {
  if (!arrival.before && arrival.traits.blind) return std::nullopt;
  const std::int64_t references = history_.object(id).ledger;
  const std::string what = fmt::format("{} while {} reference{} outstanding",
                                       arrival.role == Role::pool_destroy ? "its pool is destroyed" : "free",
                                       references, references == 1 ? " is" : "s are");
  const bool certain =
      arrival.before || (!arrival.traits.copies_unknown && !history_.births_in_doubt(arrival.family));
  if (certain) return Finding{Verdict::free_while_referenced, id, EventId(), what};
  return Finding{Verdict::undecidable, id, EventId(),
                 what +
                     " by what was seen; puts may have been unseen, and its counter was not read then "
                     "(break-on-imbalance reads it)"};
}

Outcome Ledger::release(const Arrival& arrival) {
  Outcome outcome;
  ObjectId id = history_.newest_at(arrival.family, arrival.address);
  const bool other_object =
      id.valid() && (history_.object(id).state == ObjectState::unknown ||
                     (history_.object(id).freed && memory_fate(arrival) != MemoryFate::gone));
  if (!id.valid() || other_object) {
    id = new_object(arrival, false);
    Object& object = history_.object(id);
    object.base_known = arrival.before.has_value();
    object.ledger = arrival.before.value_or(0);
    history_.set_before_seen(id, object.ledger);
  }
  std::optional<Finding> finding;
  const bool was_dead = history_.object(id).state == ObjectState::dead;
  if (!was_dead && arrival.before) reconcile(id, arrival, *arrival.before);
  const Object& object = history_.object(id);
  if (object.freed) {
    finding = Finding{Verdict::use_after_free, id, EventId(), "free of memory that was given back before"};
  } else if (!was_dead && object.base_known && object.ledger > 0) {
    finding = judge_release(id, arrival);
  }
  outcome.object = id;
  outcome.event = record(id, arrival, arrival.before, arrival.before, CountSource::derived);
  Object& changed = history_.object(id);
  changed.state = ObjectState::dead;
  changed.freed = true;
  if (!was_dead) changed.died = outcome.event;
  if (finding) {
    finding->event = outcome.event;
    outcome.finding = finding;
    history_.add_finding(*finding);
  }
  return outcome;
}

}  // namespace refhist
