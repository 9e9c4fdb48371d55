#include "session/counter_watches.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "events/program_access.h"
#include "session/watchpoint.h"

namespace refhist {

bool CounterWatches::has_ended(const Watch& watch) const {
  const History& history = state_.history;
  return !history.objects().contains(watch.object) || history.object(watch.object).state != ObjectState::live;
}

void CounterWatches::add(DebuggerPort& port, ObjectId id) {
  const Object& object = state_.history.object(id);
  const TrackedFamily& tracked = state_.families[object.family.index()];
  if (!state_.alive) fail("there is no process: a counter can be watched while the program is stopped");
  if (object.state != ObjectState::live) fail("{:#x} is no longer live", object.address);
  if (!tracked.counter) fail("the counter of {} is not read: {}", tracked.family.name, tracked.counter_note);
  const Address counter = object.address + tracked.counter->offset;
  settle(port);
  if (std::any_of(watches_.begin(), watches_.end(), [&](const Watch& w) { return w.counter == counter; }))
    fail("{:#x} is already watched", object.address);
  if (watches_.size() == kMost)
    fail("{} objects are watched, and the processor has no more watchpoints: refhist watch --delete ADDR",
         kMost);
  const std::string why_not = place_watchpoint(port, state_.process, counter, tracked.counter->size);
  if (!why_not.empty()) fail("the counter at {:#x} cannot be watched: {}", counter, why_not);
  watches_.push_back(Watch{id, counter, 0, false});
}

bool CounterWatches::remove(DebuggerPort& port, ObjectId id) {
  const auto found =
      std::find_if(watches_.begin(), watches_.end(), [&](const Watch& watch) { return watch.object == id; });
  if (found == watches_.end()) return false;
  if (!found->removed) port.remove_watchpoint(found->counter);
  watches_.erase(found);
  return true;
}

void CounterWatches::changed(DebuggerPort& port, long tid, Address counter) {
  const auto found = std::find_if(watches_.begin(), watches_.end(),
                                  [&](const Watch& watch) { return watch.counter == counter; });
  if (found == watches_.end() || !state_.recording) return;
  if (has_ended(*found)) {
    // The memory is used again: what it is used for now would be slow.
    if (!found->removed) port.remove_watchpoint(counter);
    found->removed = true;
    return;
  }
  const ProgramAccess access(port, state_.process, state_.tracer_here);
  const auto registers = access.registers(tid);
  // A moved instruction of a probe: the agent tells of it, perhaps in a moment.
  if (!registers || state_.modules.original(registers->pc() - 1) != 0) return;
  if (state_.recorder.on_seen_change(access, tid, *registers, found->object)) ++found->changes;
}

void CounterWatches::settle(DebuggerPort& port) {
  std::erase_if(watches_, [&](const Watch& watch) {
    if (!has_ended(watch)) return false;
    if (!watch.removed) port.remove_watchpoint(watch.counter);
    return true;
  });
  for (Watch& watch : watches_) {
    if (watch.removed || port.watchpoint_alive(watch.counter)) continue;
    watch.removed = true;
    state_.warnings.push_back(fmt::format(
        "the watchpoint on the counter at {:#x} was removed: refhist no longer watches it", watch.counter));
  }
}

}  // namespace refhist
