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
  const bool known = std::any_of(changes_.begin(), changes_.end(), [&](const auto& one) {
    return one.first == thread && (last_only || one.second == change);
  });
  if (!known) changes_.emplace_back(thread, change);
}

void LateChanges::Running::append_to(std::vector<int>& changes, ThreadIndex except) const {
  for (const auto& [thread, change] : changes_) {
    if (thread != except) changes.push_back(change);
  }
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

}  // namespace refhist
