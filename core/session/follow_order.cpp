#include "session/follow_order.h"

#include <fmt/core.h>

#include <string_view>

#include "session/session_state.h"

namespace refhist {

namespace {

/// FNV-1a, of words.
class Sum {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<std::uint8_t>(word >> (8 * i)));
  }
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
    add_byte(0);
  }
  void add(const Count& count) { add(count ? static_cast<std::uint64_t>(*count) : ~std::uint64_t{0}); }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", sum_); }

 private:
  void add_byte(std::uint8_t byte) { sum_ = (sum_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t sum_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::string history_sum(const SessionState& state, ObjectId object, EventId last) {
  Sum sum;
  state.history.read_back(object, [&](const EventLog::Entry& entry) {
    if (entry.id > last) return;
    const Event& event = entry.event;
    sum.add(static_cast<std::uint64_t>(event.role));
    sum.add(event.before);
    sum.add(event.after);
    if (!event.stack.valid()) return;
    for (const StackFrame& frame : state.history.stacks().frames(event.stack)) {
      const LoadedModule* loaded = frame.module.valid() ? state.modules.get(frame.module) : nullptr;
      if (loaded != nullptr) sum.add(loaded->module->path());
      sum.add(frame.pc);
    }
  });
  return sum.text();
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

}  // namespace refhist
