#include "session/given_back.h"

#include <algorithm>

namespace refhist {

namespace {

/// Who took or gave back, and from where that was called.
struct Hand {
  std::string owner;
  std::vector<Address> callers;
  bool operator==(const Hand&) const = default;
};

Hand hand_of(SessionState& state, const Event& event) {
  Hand hand{state.namer.owner(event).function, {}};
  const std::vector<StackFrame> frames = state.history.stacks().frames(event.stack);
  const auto depth = depth_of(state.namer, frames, hand.owner);
  if (!depth) return {};
  for (std::size_t i = *depth + 1; i < frames.size(); ++i) hand.callers.push_back(frames[i].pc);
  return hand;
}

}  // namespace

/// How deep in a stack the function's frame is, its own or what it was inlined into.
std::optional<std::size_t> depth_of(FrameNamer& namer, const std::vector<StackFrame>& frames,
                                    const std::string& function) {
  const auto found = std::find_if(frames.begin(), frames.end(), [&](const StackFrame& frame) {
    const std::vector<NamedFrame>& names = namer.name(frame);
    return std::any_of(names.begin(), names.end(),
                       [&](const NamedFrame& name) { return name.function == function; });
  });
  if (found == frames.end()) return std::nullopt;
  return static_cast<std::size_t>(found - frames.begin());
}

bool given_back_since(SessionState& state, ObjectId object, EventId followed, EventId begin) {
  std::vector<EventLog::Entry> events;
  state.history.read_back_while(object, [&](const EventLog::Entry& entry) {
    if (!entry.event.failed) events.push_back(entry);
    return true;
  });
  struct Taken {
    Hand hand;
    bool since = false;
  };
  std::vector<Taken> taken;
  std::int64_t more = 0;
  for (auto entry = events.rbegin(); entry != events.rend(); ++entry) {
    const Event& event = entry->event;
    const bool since = entry->id > begin;
    const bool takes = event.role == Role::init || event.role == Role::get || event.role == Role::try_get;
    if (takes && entry->id != followed) taken.push_back({hand_of(state, event), since});
    if (event.role != Role::put) continue;
    const Hand hand = hand_of(state, event);
    const auto own =
        std::find_if(taken.rbegin(), taken.rend(), [&](const Taken& one) { return one.hand == hand; });
    if (own != taken.rend() && !hand.owner.empty()) {
      taken.erase(std::next(own).base());
    } else if (since) {
      ++more;
    }
  }
  return more > std::count_if(taken.begin(), taken.end(), [](const Taken& one) { return one.since; });
}

}  // namespace refhist
