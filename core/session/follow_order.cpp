#include "session/follow_order.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/replaced_file.h"
#include "base/text_hash.h"
#include "session/followed_way.h"
#include "session/session_state.h"

namespace refhist {

namespace {

void add(TextHash& sum, std::uint64_t word) {
  for (int i = 0; i < 8; ++i) sum.add(static_cast<std::uint8_t>(word >> (8 * i)));
}

void add(TextHash& sum, const Count& count) {
  add(sum, count ? static_cast<std::uint64_t>(*count) : ~std::uint64_t{0});
}

}  // namespace

std::string_view follow_option(Follow what) {
  switch (what) {
    case Follow::pointer:
      return "--pointer";
    case Follow::loss:
      return "--lost";
    case Follow::holders:
      return "--holders";
    case Follow::store:
      return "--stored";
    case Follow::call:
      break;
  }
  return "";
}

std::string history_sum(const SessionState& state, ObjectId object, EventId last, bool with_memory) {
  TextHash sum;
  state.history.read_back(object, [&](const EventLog::Entry& entry) {
    if (entry.id > last) return;
    const Event& event = entry.event;
    const bool memory = event.role == Role::alloc || event.role == Role::free;
    if (memory && !with_memory) return;
    add(sum, static_cast<std::uint64_t>(event.role));
    add(sum, event.before);
    add(sum, event.after);
    if (!event.stack.valid()) return;
    for (const StackFrame& frame : state.history.stacks().frames(event.stack)) {
      const LoadedModule* loaded = frame.module.valid() ? state.modules.get(frame.module) : nullptr;
      if (loaded != nullptr) sum.add(loaded->module->path()).add(std::uint8_t{0});
      add(sum, frame.pc);
    }
  });
  return sum.hex();
}

std::int64_t number_in_history(const SessionState& state, EventId event) {
  const ObjectId object = state.history.event(event).object;
  std::int64_t behind = 0;
  state.history.read_back(object, [&](const EventLog::Entry& entry) { behind += entry.id > event ? 1 : 0; });
  return static_cast<std::int64_t>(state.history.object(object).events) - behind;
}

EventId event_in_history(const SessionState& state, ObjectId object, std::int64_t number) {
  auto at = static_cast<std::int64_t>(state.history.object(object).events);
  EventId found;
  state.history.read_back(object, [&](const EventLog::Entry& entry) {
    if (at-- == number) found = entry.id;
  });
  return found;
}

void add_sum(const SessionState& state, ObjectId object, EventId told, FollowedWay& way) {
  if (!told.valid()) return;
  try {
    way.events = number_in_history(state, told);
    way.sum = history_sum(state, object, told);
  } catch (const Error& error) {  // the object may have been folded meanwhile
    if (way.why_not.empty()) way.why_not = error.what();
  }
}

namespace {

/// For the user.
std::string told(const FollowOrder& order, const FollowedWay& way) {
  const bool seen = way.why_not.empty();
  if (!seen || (order.what != Follow::holders && order.what != Follow::store))
    return way.title() + way.text();
  if (order.what == Follow::store)
    return fmt::format("a pointer to {:#x} was stored at {:#x}\n", way.object, order.word) + way.text();
  if (way.holders.empty()) return fmt::format("no word of memory points at {:#x}\n", way.object);
  std::string text = fmt::format("what points at {:#x}:\n", way.object);
  for (const NewHolder& holder : way.holders) text += fmt::format("  {:#x}  {}\n", holder.at, holder.where);
  return text;
}

}  // namespace

void tell_way(DebuggerPort& port, const FollowOrder& order, const FollowedWay& way) {
  if (order.file.empty()) return port.print("refhist: " + told(order, way));
  try {
    replace_file(order.file, way.json());
  } catch (const Error& error) {
    port.print(fmt::format("refhist: {}\n", error.what()));
  }
}

}  // namespace refhist
