#include "agent/rule_watch.h"

#include "agent/counter_place.h"
#include "agent/event_clock.h"
#include "agent/instructions.h"
#include "agent/malloc_block.h"
#include "agent/site_values.h"

namespace refhist::agent {

namespace {

constexpr unsigned kPatience = 200;  // looks at a count that another thread may be about to change
constexpr unsigned kSpins = 2000;    // pauses, until the other calls on a dying object have returned
constexpr unsigned kSleeps = 2000;  // of 100 us, after them: a thread inside may have to wait for a processor
constexpr unsigned kLongestHold = 20000;  // sleeps
constexpr uint16_t kMostInside = 0xffff;
constexpr uint64_t kLongestBlock = 4U << 20U;  // bytes that are searched for objects

}  // namespace

struct RuleWatch::Step {
  ObjectWord old;
  ObjectWord now;
  Moment moment;
  int64_t memory;  // references in memory, when moment.has_count
  int32_t delta;
  bool returned;
  bool patient;  // the count may be looked at again
  bool stop;
  bool nothing;  // no event of the object's
  bool last;     // a put that may be the last one
};

int32_t RuleWatch::after(const Step& step) {
  return static_cast<int32_t>(step.returned ? step.memory : step.memory + step.delta);
}

Moment RuleWatch::look() const {
  Moment moment{};
  const bool wanted = site_.at_return != 0 || site_.counts_at_entry != 0;
  moment.has_count = wanted && has_counter(*shared_, site_, call_.object);
  EventClock clock(*shared_, thread_, call_.thread);
  do {
    clock.begin();
    if (moment.has_count)
      moment.count = load(call_.object + static_cast<uint64_t>(site_.counter_offset), site_.counter_size);
    moment.time = clock.stamp();
  } while (!clock.holds(moment.time));
  return moment;
}

int64_t RuleWatch::references(const Moment& moment) const {
  return agent::references(moment.count, site_.counter_size, site_.counter_unsigned != 0, site_.counter_shift,
                           site_.counter_scale, site_.counter_bias, site_.counter_bits);
}

uint8_t RuleWatch::each() const {
  const bool wanted =
      (site_.watch & kWatchEach) != 0 && (site_.each == call_.object || site_.each == kEveryObject);
  return wanted ? kCandidate : 0;
}

bool RuleWatch::too_high(const Step& step) const {
  if ((site_.watch & kWatchCount) == 0 || step.delta < 0) return false;
  if (step.moment.has_count) return after(step) > site_.above;
  return step.now.based != 0 && step.now.count > site_.above;
}

uint8_t RuleWatch::effect_at_entry(Moment& moment) {
  switch (site_.effect) {
    case Effect::get:
    case Effect::put:
      return change(moment, false);
    case Effect::birth:
      birth(moment, false);
      return 0;
    case Effect::free:
      return free(moment) && wanted() ? kCandidate : 0;
    case Effect::free_block:
      return free_block(moment) ? kCandidate : 0;
    case Effect::end_pool:
      moment = look();
      return balances() ? kCandidate : 0;
    default:
      moment = look();
      return 0;
  }
}

uint8_t RuleWatch::effect_at_return(uint64_t result, Moment& moment) {
  moment = look();
  if (!call_succeeded(site_.success, result)) return 0;
  switch (site_.effect) {
    case Effect::get:
    case Effect::put:
      return change(moment, true);
    case Effect::birth:
      birth(moment, true);
      return 0;
    default:
      return 0;
  }
}

void RuleWatch::birth(Moment& moment, bool returned) {
  ObjectEntry* entry = table_.find(object_key(site_.family, call_.object), true);
  moment = look();
  if (!returned) moment.has_count = false;  // nobody has set the counter yet
  if (entry == nullptr) return;
  table_.mark(call_.object);
  ObjectWord old{};
  ObjectWord now{};
  do {
    old = WatchedObjects::load(*entry);
    if (returned) moment = look();
    if (moment.time <= old.stamp) moment.time = old.stamp + 1;
    now = ObjectWord{site_.born, 0, ObjectState::live, 1, moment.time};
    if (moment.has_count) now.count = static_cast<int32_t>(references(moment));
  } while (!WatchedObjects::replace(*entry, old, now));
  entry->last_thread = 0;
  entry->dying_thread = 0;
}

bool RuleWatch::part_of_outer_call(const ObjectEntry& entry) const {
  if (entry.last_thread != call_.thread || entry.last_site == 0) return false;
  const auto& outer = *reinterpret_cast<const Site*>(entry.last_site);
  // Next to each other in one function, inlined copies have its stack pointer and return address both.
  if (&outer == &site_ || outer.effect != site_.effect || outer.inlined != 0) return false;
  const uint64_t place = site_.inlined != 0 ? site_.function + 1 : call_.return_pc;
  const bool further_in = entry.last_sp > call_.sp || (site_.inlined != 0 && entry.last_sp == call_.sp);
  const bool called_by_it =
      further_in && place > outer.function && place - outer.function <= outer.function_size;
  const bool tail_called =
      site_.inlined == 0 && entry.last_sp == call_.sp && entry.last_return == call_.return_pc;
  return called_by_it || tail_called;
}

// The call of this thread on the same object that has not returned, if there is one.
const Site* RuleWatch::outer_call(const ObjectEntry& entry) const {
  OuterCall& outer = thread_.outer;
  const uint64_t offset = reinterpret_cast<uint64_t>(&entry) - reinterpret_cast<uint64_t>(shared_);
  const auto lasts = [this](uint64_t sp, uint64_t return_pc) {
    return sp > call_.sp && *reinterpret_cast<const uint64_t*>(sp) == return_pc;
  };
  if (entry.last_thread == call_.thread && entry.last_site != 0 && lasts(entry.last_sp, entry.last_return))
    outer = OuterCall{offset, entry.last_site, entry.last_sp, entry.last_return};
  if (outer.entry != offset || !lasts(outer.sp, outer.return_pc)) return nullptr;
  return reinterpret_cast<const Site*>(outer.site);
}

bool RuleWatch::inside_own_put(const ObjectEntry& entry) const {
  const Site* outer = outer_call(entry);
  return outer != nullptr && outer->tells_end != 0 && outer->effect == Effect::put;
}

// The counter lacks just what the outer call was said to do at its beginning: it has not done it yet.
bool RuleWatch::told_before(const ObjectEntry& entry, int64_t more) const {
  const Site* outer = outer_call(entry);
  if (outer == nullptr || outer->at_return != 0) return false;
  return (outer->effect == Effect::put && more == 1) || (outer->effect == Effect::get && more == -1);
}

void RuleWatch::first_sight(Step& step) const {
  step.now.state = ObjectState::live;
  if (!step.moment.has_count) {
    step.now.count = step.delta;
    return;
  }
  // Static objects have a counter of zero or less that get and put leave alone.
  step.nothing = step.memory <= 0 && site_.born > 0 && !step.returned;
  step.now.based = 1;
  step.now.count = after(step);
}

// False: another thread may be about to explain the count; look again.
bool RuleWatch::on_live(Step& step, const ObjectEntry& entry) const {
  step.now.count = step.old.count + step.delta;
  if (!step.moment.has_count) return true;
  if (step.old.based == 0) {
    step.now.based = 1;
    step.now.count = after(step);
    return true;
  }
  if (step.returned && step.memory == step.old.count) {  // probes inside this call have told already
    step.now.count = step.old.count;
    return true;
  }
  const int64_t more = step.memory - (step.returned ? step.now.count : step.old.count);
  const int others = step.old.inside - (site_.tells_end != 0 ? 1 : 0);
  if (more == 0 || (more > 0 && more <= others)) return true;
  if (told_before(entry, more)) return true;
  if (step.patient) return false;
  step.stop = balances() && site_.blind == 0;
  step.now.count = after(step);
  return true;
}

void RuleWatch::on_dead(Step& step, const ObjectEntry& entry) const {
  step.now.count = step.old.count + step.delta;
  const bool in_last_put =
      step.old.state == ObjectState::dead && entry.dying_thread == call_.thread && call_.sp < entry.dying_sp;
  const bool allowed = !step.moment.has_count || step.memory >= 1 || step.delta > 0;
  step.stop = balances() && !(in_last_put && allowed);
  if (step.old.state == ObjectState::dead && step.now.count > 0) step.now.state = ObjectState::live;
}

// What a put adds to the above.
void RuleWatch::on_put(Step& step) const {
  const bool counted = step.moment.has_count && !step.returned;
  if (counted && step.memory <= 0) step.stop = step.stop || balances();
  const bool last = counted ? step.memory == 1 : step.now.based != 0 && step.now.count <= 0;
  if (step.now.state == ObjectState::live && step.now.based != 0 && step.now.count <= 0)
    step.now.state = ObjectState::dead;
  step.last = !step.returned && (last || step.now.state == ObjectState::dead);
}

bool RuleWatch::try_change(Step& step, ObjectEntry& entry) const {
  step.old = WatchedObjects::load(entry);
  step.moment = look();
  step.memory = step.moment.has_count ? references(step.moment) : 0;
  if (step.moment.time <= step.old.stamp) step.moment.time = step.old.stamp + 1;
  step.now = step.old;
  step.now.stamp = step.moment.time;
  step.stop = false;
  step.last = false;
  switch (step.old.state) {
    case ObjectState::unknown:
      first_sight(step);
      break;
    case ObjectState::live:
      if (!on_live(step, entry)) return false;
      break;
    default:
      on_dead(step, entry);
  }
  if (step.nothing) return true;
  if (step.delta < 0) on_put(step);
  return WatchedObjects::replace(entry, step.old, step.now);
}

uint8_t RuleWatch::change(Moment& moment, bool returned) {
  ObjectEntry* entry = table_.find(object_key(site_.family, call_.object), true);
  moment = look();
  if (entry == nullptr) {
    const bool last = site_.effect == Effect::put && moment.has_count && references(moment) <= 1;
    if (last && wanted()) return kCandidate | kLastPut;
    const bool may_be_high = (site_.watch & kWatchCount) != 0 && site_.effect == Effect::get &&
                             (!moment.has_count || references(moment) >= site_.above);
    return may_be_high && wanted() ? kCandidate : 0;
  }
  const unsigned own = (site_.tells_end != 0 ? 1 : 0) + (inside_own_put(*entry) ? 1 : 0);
  const bool part = !returned && part_of_outer_call(*entry);
  if (!returned && site_.tells_end != 0) come_in(*entry);
  if (part) return 0;
  Step step{};
  step.delta = site_.effect == Effect::put ? -1 : 1;
  step.returned = returned;
  step.patient = true;
  for (unsigned looks = 0; !try_change(step, *entry); ++looks) {
    step.patient = looks < kPatience;
    pause();
  }
  moment = step.moment;
  if (step.nothing) return 0;
  table_.mark(call_.object);
  remember(*entry, step.old, step.now);
  if (!wanted()) return 0;
  const bool zero = step.last && (site_.watch & kWatchZero) != 0;
  if (zero && (!step.moment.has_count || is_last_put(*entry, own))) return kCandidate | kLastPut;
  return step.stop || too_high(step) ? kCandidate : 0;
}

void RuleWatch::remember(ObjectEntry& entry, const ObjectWord& old, const ObjectWord& now) const {
  entry.last_site = reinterpret_cast<uint64_t>(&site_);
  entry.last_sp = call_.sp;
  entry.last_return = call_.return_pc;
  entry.last_thread = call_.thread;
  if (now.state != ObjectState::dead || old.state == ObjectState::dead) return;
  entry.dying_sp = call_.sp;
  entry.dying_thread = call_.thread;
}

bool RuleWatch::count_inside(ObjectEntry& entry, int change) const {
  ObjectWord old{};
  ObjectWord now{};
  do {
    old = WatchedObjects::load(entry);
    if (old.inside == (change < 0 ? 0 : kMostInside)) return false;
    now = old;
    now.inside = static_cast<uint16_t>(old.inside + change);
  } while (!WatchedObjects::replace(entry, old, now));
  return true;
}

void RuleWatch::wait_for_holder(ObjectEntry& entry) const {
  uint32_t holder = 0;
  for (unsigned i = 0; i < kSpins + kLongestHold; ++i) {
    holder = __atomic_load_n(&entry.holder, __ATOMIC_SEQ_CST);
    if (holder == 0 || holder == call_.thread) return;
    if (i < kSpins) {
      pause();
    } else {
      sleep_a_little(is_confined(*shared_));
    }
  }
  // Its thread has ended there.
  __atomic_compare_exchange_n(&entry.holder, &holder, 0U, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// Inside or waiting, never both: who holds the object waits for those inside.
void RuleWatch::come_in(ObjectEntry& entry) {
  while (count_inside(entry, 1)) {
    const uint32_t holder = __atomic_load_n(&entry.holder, __ATOMIC_SEQ_CST);
    if (holder == 0 || holder == call_.thread) return;
    count_inside(entry, -1);
    wait_for_holder(entry);
  }
}

// This put may take the counter to zero. Others that have begun may do so instead, or take the object again.
// No call comes in meanwhile; once those inside are gone, the counter tells.
bool RuleWatch::is_last_put(ObjectEntry& entry, unsigned own) {
  uint32_t nobody = 0;
  while (!__atomic_compare_exchange_n(&entry.holder, &nobody, call_.thread, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST) &&
         nobody != call_.thread) {
    ended();
    wait_for_holder(entry);
    come_in(entry);
    nobody = 0;
  }
  thread_.held = reinterpret_cast<uint64_t>(&entry) - reinterpret_cast<uint64_t>(shared_);
  for (unsigned i = 0; i < kSpins + kSleeps && WatchedObjects::load(entry).inside > own; ++i) {
    if (i < kSpins) {
      pause();
    } else {
      sleep_a_little(is_confined(*shared_));
    }
  }
  if (references(look()) == 1) return true;
  if (WatchedObjects::load(entry).inside > own) __atomic_fetch_add(&shared_->undecided, 1U, __ATOMIC_RELAXED);
  release();
  return false;
}

void RuleWatch::release() {
  if (thread_.held == 0) return;
  auto& entry = *reinterpret_cast<ObjectEntry*>(reinterpret_cast<char*>(shared_) + thread_.held);
  uint32_t holder = call_.thread;
  thread_.held = 0;
  __atomic_compare_exchange_n(&entry.holder, &holder, 0U, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void RuleWatch::begun() {
  if (site_.tells_end == 0) return;
  if (ObjectEntry* entry = table_.find(object_key(site_.family, call_.object), true)) come_in(*entry);
}

void RuleWatch::ended() {
  if (site_.tells_end == 0) return;
  if (ObjectEntry* entry = table_.find(object_key(site_.family, call_.object), false))
    count_inside(*entry, -1);
}

bool RuleWatch::free(Moment& moment) {
  ObjectEntry* entry = table_.find(object_key(site_.family, call_.object), true);
  moment = look();
  if (entry == nullptr) return balances();
  ObjectWord old{};
  ObjectWord now{};
  do {
    old = WatchedObjects::load(*entry);
    moment = look();
    if (moment.time <= old.stamp) moment.time = old.stamp + 1;
    now = ObjectWord{0, 0, ObjectState::freed, 1, moment.time};
  } while (!WatchedObjects::replace(*entry, old, now));
  const bool referenced = moment.has_count ? references(moment) > 0 : old.count > 0;
  switch (old.state) {
    case ObjectState::unknown:
      return balances() && moment.has_count && referenced;
    case ObjectState::live:
      return balances() && (referenced || old.count > 0);
    case ObjectState::dead:
      return false;
    case ObjectState::freed:
      return balances();
  }
  return false;
}

bool RuleWatch::free_block(Moment& moment) {
  moment = look();
  const uint64_t end = site_.size_argument != 0 ? call_.object + call_.extra : block_end(call_.object);
  if (end - call_.object > kLongestBlock || shared_->watched > kWatchedFamilies) return balances();
  bool stop = false;
  table_.for_each_in(call_.object, end, [&](ObjectEntry& entry) {
    ObjectWord old{};
    ObjectWord now{};
    do {
      old = WatchedObjects::load(entry);
      now = ObjectWord{0, 0, ObjectState::freed, 1, moment.time > old.stamp ? moment.time : old.stamp + 1};
    } while (!WatchedObjects::replace(entry, old, now));
    if (old.state == ObjectState::live && old.count > 0) stop = true;
  });
  return stop && balances();
}

void RuleWatch::forget_block() {
  const uint64_t end = block_end(call_.object);
  if (end - call_.object > kLongestBlock) return;
  table_.for_each_in(call_.object, end, [&](ObjectEntry& entry) {
    ObjectWord old{};
    do {
      old = WatchedObjects::load(entry);
    } while (!WatchedObjects::replace(entry, old, ObjectWord{0, 0, ObjectState::unknown, 0, old.stamp}));
  });
}

}  // namespace refhist::agent
