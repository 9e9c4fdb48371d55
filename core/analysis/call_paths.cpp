#include "analysis/call_paths.h"

#include <algorithm>

namespace refhist {

namespace {

CallDoes call_of(const Event& event) {
  if (gives_back(event)) return CallDoes::give_back;
  return event.role == Role::init ? CallDoes::make : CallDoes::take;
}

}  // namespace

std::uint32_t CallPaths::number_of(const std::string& function) {
  const auto [entry, added] = numbers_.try_emplace(function, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(function);
  return entry->second;
}

const CallPath& CallPaths::of(const Event& event) {
  const auto [entry, added] = known_.try_emplace(std::uint64_t{event.site.value} << 32U | event.stack.value);
  CallPath& path = entry->second;
  if (!added) return path;
  const Owner& owner = owners_.of(event);
  const auto add = [&](const std::string& function, const NamedFrame& frame) {
    path.steps.push_back({number_of(function), frame.pc, frame.inlined, namer_.hands_nothing_out(frame)});
  };
  add(owner.place, owner.frame);
  const std::vector<NamedFrame> frames = owners_.outwards(event);
  for (std::size_t i = 1; i < frames.size(); ++i) add(frames[i].function, frames[i]);
  path.by_library = namer_.by_library(event);
  if (counts_itself(event)) {
    path.held = ways_.held(owner.frame, call_of(event));
    const SlotNames::Name& place = ways_.kept_in(owner.frame, call_of(event));
    if (!place.holder.empty()) path.slot = {number_of(place.holder), number_of(place.member)};
    if (!place.inner_holder.empty())
      path.inner = {number_of(place.inner_holder), number_of(place.inner_member)};
  }
  return path;
}

bool CallPaths::counts_itself(const Event& event) {
  const bool counts = event.role == Role::get || event.role == Role::try_get || gives_back(event);
  return counts && namer_.calls_itself(event);
}

// What was taken or made inside of what the owner calls is what that returns, or what it was given, as
// constructors are.
const SlotNames::Name& CallPaths::kept_in(const Event& event) {
  static const SlotNames::Name kNowhere;
  const NamedFrame& frame = owners_.of(event).frame;
  if (counts_itself(event)) return ways_.kept_in(frame, call_of(event));
  if (!acquires(event)) return kNowhere;
  const SlotNames::Name& made = ways_.kept_in(frame, CallDoes::make);
  return made.holder.empty() && event.role == Role::init ? ways_.kept_in(frame, CallDoes::take) : made;
}

namespace {

// From the outermost frame inwards, as long as the same calls lead there; then the one in which the ways
// part, and what the same functions are inlined into it.
std::size_t steps_in_common(const std::vector<CallPath::Step>& a, const std::vector<CallPath::Step>& b) {
  const std::size_t most = std::min(a.size(), b.size());
  bool parted = false;
  for (std::size_t i = 0; i < most; ++i) {
    const CallPath::Step& one = a[a.size() - 1 - i];
    const CallPath::Step& other = b[b.size() - 1 - i];
    if (one.function != other.function || one.inlined != other.inlined || (parted && !one.inlined)) return i;
    parted |= one.pc != other.pc;
  }
  return most;
}

}  // namespace

std::optional<CallPaths::Relation> CallPaths::relation(const CallPath& get, const CallPath& put) {
  constexpr std::size_t kFarthest = 2;  // everything is called by main, in the end
  const std::size_t common = steps_in_common(get.steps, put.steps);
  if (common != 0) {
    const Relation relation{true, get.steps.size() - common, put.steps.size() - common};
    if (relation.put == 0 || (relation.get == 0 && relation.put <= kFarthest)) return relation;
  }
  const auto found = std::find_if(get.steps.begin(), get.steps.end(), [&](const CallPath::Step& step) {
    return step.function == put.steps.front().function;
  });
  if (found == get.steps.end()) return std::nullopt;
  return Relation{false, static_cast<std::size_t>(found - get.steps.begin()), 0};
}

}  // namespace refhist
