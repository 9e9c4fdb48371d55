#include "events/late_changes.h"

#include <algorithm>

namespace refhist {

namespace {
constexpr std::uint32_t kShortlyBefore = 64;  // events
constexpr std::size_t kMostKnown = 1U << 12U;
}  // namespace

std::vector<int> LateChanges::around(EventId first, ObjectId object, ThreadIndex thread) {
  if (known_.size() > kMostKnown) known_.clear();
  Known& known = known_[{first, object}];
  read(first, object, known);
  std::vector<int> changes;
  if (known.puts != 0) changes.push_back(known.puts);
  if (known.gets != 0) changes.push_back(known.gets);
  for (const auto& [other, change] : known.running) {
    if (other != thread) changes.push_back(change);
  }
  return changes;
}

void LateChanges::read(EventId first, ObjectId object, Known& known) const {
  const EventId last = history_.object(object).last_event;
  const bool anew = !known.newest.valid();
  const EventId from(first.value - std::min(first.value, kShortlyBefore));
  history_.read_back_while(object, [&](const EventLog::Entry& entry) {
    if (anew ? entry.id < from : entry.id <= known.newest) return false;
    const Event& event = entry.event;
    const int change = event.failed || event.unobserved ? 0 : direction(event.role);
    if (change == 0) return true;
    if (entry.id >= first) {  // of the same thread: by a signal handler, which interrupts the record
      (change < 0 ? known.puts : known.gets) += change;
    } else if (std::none_of(known.running.begin(), known.running.end(),
                            [&](const auto& one) { return one.first == event.thread; })) {
      known.running.emplace_back(event.thread, change);
    }
    return true;
  });
  if (last.valid()) known.newest = last;
}

}  // namespace refhist
