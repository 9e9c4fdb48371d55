#include "events/late_changes.h"

#include <algorithm>

namespace refhist {

namespace {
constexpr std::uint32_t kShortlyBefore = 64;  // events
constexpr std::size_t kMostKnown = 1U << 12U;
constexpr std::size_t kMostRead = 1U << 14U;  // events
constexpr int kAnything = 1 << 30;

EventId shortly_before(EventId first) { return EventId(first.value - std::min(first.value, kShortlyBefore)); }

int change_of(const Event& event) { return event.failed || event.unobserved ? 0 : direction(event.role); }
}  // namespace

void LateChanges::Running::add(ThreadIndex thread, int change, bool last_only) {
  Changes& known = of_thread_[thread];
  int Changes::*const kind = change < 0 ? &Changes::put : &Changes::get;
  const bool another = known.get != 0 || known.put != 0;
  if (known.*kind != 0 || (last_only && another)) return;
  known.*kind = change;
  all_.*kind += change;
}

void LateChanges::Running::append_to(std::vector<int>& changes, ThreadIndex except) const {
  const auto own = of_thread_.find(except);
  const Changes left_out = own == of_thread_.end() ? Changes{} : own->second;
  if (const int puts = all_.put - left_out.put; puts != 0) changes.push_back(puts);
  if (const int gets = all_.get - left_out.get; gets != 0) changes.push_back(gets);
}

void LateChanges::forget() {
  known_.clear();
  lives_.clear();
}

std::vector<int> LateChanges::around(EventId first, ObjectId object, ThreadIndex thread) {
  if (known_.size() > kMostKnown) known_.clear();
  Known& known = known_[{first, object}];
  read(first, object, known);
  std::vector<int> changes;
  if (known.puts != 0) changes.push_back(known.puts);
  if (known.gets != 0) changes.push_back(known.gets);
  known.running.append_to(changes, thread);
  return changes;
}

void LateChanges::read(EventId first, ObjectId object, Known& known) const {
  const EventId last = history_.object(object).last_event;
  const bool anew = !known.newest.valid();
  const EventId from = shortly_before(first);
  history_.read_back_while(object, [&](const EventLog::Entry& entry) {
    if (anew ? entry.id < from : entry.id <= known.newest) return false;
    const Event& event = entry.event;
    const int change = change_of(event);
    if (change == 0) return true;
    if (entry.id >= first) {  // of the same thread: by a signal handler, which interrupts the record
      (change < 0 ? known.puts : known.gets) += change;
    } else {
      known.running.add(event.thread, change, true);
    }
    return true;
  });
  if (last.valid()) known.newest = last;
}

std::vector<int> LateChanges::since(EventId first, ObjectId object, ThreadIndex thread) const {
  const std::int64_t now = history_.object(object).ledger;
  const EventId from = shortly_before(first);
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  std::size_t read = 0;
  bool whole = history_.listed_events(object) == history_.object(object).events;
  bool before = false;  // the count that the window began with is known
  Running running;
  history_.read_back_while(object, [&](const EventLog::Entry& entry) {
    const bool through = before && entry.id < from;
    if (through || ++read > kMostRead) {
      whole = through;
      return false;
    }
    if (!before && entry.event.after) {
      lowest = std::min(lowest, now - *entry.event.after);
      highest = std::max(highest, now - *entry.event.after);
    }
    const bool inside = entry.id >= first;
    before = before || !inside;
    const int change = change_of(entry.event);
    if (change != 0 && entry.id >= from) running.add(entry.event.thread, change, !inside);
    return true;
  });
  if (!whole) return {-kAnything, kAnything};
  std::vector<int> changes{static_cast<int>(lowest), static_cast<int>(highest)};
  running.append_to(changes, thread);
  return changes;
}

std::vector<int> LateChanges::ever(ObjectId object, ThreadIndex thread) {
  const std::size_t listed = history_.listed_events(object);
  if (lives_.size() > kMostKnown) lives_.clear();
  Life& life = lives_[object];
  if (listed != history_.object(object).events || listed - life.events > kMostRead)
    return {-kAnything, kAnything};
  read_life(object, life);
  std::vector<int> changes;
  if (life.most && life.fewest) {
    const std::int64_t now = history_.object(object).ledger;
    changes.push_back(static_cast<int>(std::min<std::int64_t>(0, now - *life.most)));
    changes.push_back(static_cast<int>(std::max<std::int64_t>(0, now - *life.fewest)));
  }
  life.running.append_to(changes, thread);
  return changes;
}

void LateChanges::read_life(ObjectId object, Life& life) const {
  history_.read_back_while(object, [&](const EventLog::Entry& entry) {
    if (life.newest.valid() && entry.id <= life.newest) return false;
    ++life.events;
    if (const Count& after = entry.event.after) {
      life.fewest = std::min(life.fewest.value_or(*after), *after);
      life.most = std::max(life.most.value_or(*after), *after);
    }
    if (const int change = change_of(entry.event); change != 0)
      life.running.add(entry.event.thread, change, false);
    return true;
  });
  if (const EventId last = history_.object(object).last_event; last.valid()) life.newest = last;
}

}  // namespace refhist
