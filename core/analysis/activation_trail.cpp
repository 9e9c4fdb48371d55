#include "analysis/activation_trail.h"

#include <algorithm>

namespace refhist {

namespace {

constexpr std::size_t kMostFollowed = 20000;  // events

}  // namespace

std::optional<ActivationTrail::Here> ActivationTrail::find(const Event& event,
                                                           const NamedFrame& frame) const {
  const std::vector<StackFrame> frames = history_.stacks().frames(event.stack);
  for (auto at = frames.begin(); at != frames.end(); ++at) {
    const LoadedModule* loaded = at->module.valid() ? namer_.modules().get(at->module) : nullptr;
    if (loaded == nullptr || at->pc + loaded->bias != frame.pc) continue;
    const Module& module = loaded->module->code();
    const auto function = module.function_at(at->exact ? at->pc : at->pc - 1);
    if (!function) return std::nullopt;
    return Here{{at + 1, frames.end()}, *at, loaded->bias, function->address, &module};
  }
  return std::nullopt;
}

std::optional<StackFrame> ActivationTrail::place(const Here& here, StackId stack) const {
  const std::vector<StackFrame> frames = history_.stacks().frames(stack);
  if (frames.size() <= here.outer.size()) return std::nullopt;
  const auto outer = frames.end() - static_cast<std::ptrdiff_t>(here.outer.size());
  if (!std::equal(outer, frames.end(), here.outer.begin())) return std::nullopt;
  const StackFrame& frame = *(outer - 1);
  if (frame.module != here.frame.module) return std::nullopt;
  const auto function = here.module->function_at(frame.exact ? frame.pc : frame.pc - 1);
  return function && function->address == here.function ? std::optional(frame) : std::nullopt;
}

// Also one of the same object: what nothing gave back was not given back there.
bool ActivationTrail::gave_other(const Event& event, const Event& taken, const Here& here,
                                 const StackFrame& at) {
  return gives_back(event) && history_.object(event.object).family == history_.object(taken.object).family &&
         owners_.of(event).frame.pc == at.pc + here.bias;
}

std::optional<Event> ActivationTrail::event_of(EventLog::Reader& reader, EventId id,
                                               ThreadIndex thread) const {
  if (!history_.log().contains(id)) return std::nullopt;
  const Event event = reader.at(id).event;
  return event.thread == thread && event.stack.valid() ? std::optional(event) : std::nullopt;
}

std::vector<Passed> ActivationTrail::behind(EventId id, const NamedFrame& frame) {
  const Event taken = history_.event(id);
  const auto here = taken.stack.valid() ? find(taken, frame) : std::nullopt;
  std::vector<Passed> passed;
  if (!here) return passed;
  EventLog::Reader reader(history_.log());
  const std::size_t end = std::min(history_.log().size(), id.index() + 1 + kMostFollowed);
  std::unordered_map<StackId, std::optional<StackFrame>> places;
  for (std::size_t i = id.index() + 1; i < end; ++i) {
    const auto told = event_of(reader, EventId(i), taken.thread);
    if (!told) continue;
    const Event& event = *told;
    const auto [known, added] = places.try_emplace(event.stack);
    if (added) known->second = place(*here, event.stack);
    const auto& at = known->second;
    if (!at) break;
    if (at->pc == here->frame.pc && (event.stack != taken.stack || event.site != taken.site))
      continue;  // the call that took it does more
    passed.push_back({at->pc, gave_other(event, taken, *here, *at)});
    if (at->pc == here->frame.pc) break;
  }
  return passed;
}

ActivationTrail::Before ActivationTrail::before(EventId id, const NamedFrame& frame) {
  const Event given = history_.event(id);
  const auto here = given.stack.valid() ? find(given, frame) : std::nullopt;
  Before before;
  if (!here) return before;
  EventLog::Reader reader(history_.log());
  Address earliest = here->frame.pc;
  const std::size_t begin = id.index() - std::min(id.index(), kMostFollowed);
  for (std::size_t i = id.index(); i > begin; --i) {
    const auto told = event_of(reader, EventId(i - 1), given.thread);
    if (!told) continue;
    const Event& event = *told;
    const auto at = place(*here, event.stack);
    if (!at || at->pc > earliest) break;
    earliest = at->pc;
    if (event.object != given.object) continue;
    if (gives_back(event)) ++before.given_back;
    if (acquires(event) && stands_in(event, frame)) ++before.taken;
  }
  return before;
}

bool ActivationTrail::stands_in(const Event& event, const NamedFrame& frame) {
  const std::vector<NamedFrame> frames = owners_.outwards(event);
  return std::any_of(frames.begin(), frames.end(),
                     [&](const NamedFrame& one) { return one.function == frame.function; });
}

bool ActivationTrail::leads_to(EventId id, const NamedFrame& frame, EventId next) {
  const Event given = history_.event(id);
  const auto here = given.stack.valid() ? find(given, frame) : std::nullopt;
  if (!here || next.index() - id.index() > kMostFollowed) return false;
  EventLog::Reader reader(history_.log());
  for (std::size_t i = id.index() + 1; i < next.index(); ++i) {
    const auto told = event_of(reader, EventId(i), given.thread);
    if (!told) continue;
    const Event& event = *told;
    const auto at = place(*here, event.stack);
    if (!at || at->pc != here->frame.pc) return false;
  }
  return true;
}

}  // namespace refhist
