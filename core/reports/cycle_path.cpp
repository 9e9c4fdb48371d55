#include "reports/cycle_path.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "reports/member_names.h"

namespace refhist {

namespace {

std::string member_label(SessionState& state, const LostStep& step) {
  const TypedObject object = typed_object(state, step.object, step.begin, step.word);
  const std::string member = member_at(state, object, step.word);
  return member.empty() ? member : object.short_type() + "." + member;
}

std::string place_label(const SessionState& state, const LostStep& step) {
  if (!step.object.valid()) return fmt::format("heap block {:#x}+{:#x}", step.begin, step.word - step.begin);
  const Object& tracked = state.history.object(step.object);
  return fmt::format("{} {:#x}+{:#x}", state.family_name(tracked.family), tracked.address,
                     step.word - tracked.address);
}

bool leads_to_managed(SessionState& state, const LostStep& step, const LostStep& next) {
  if (!step.object.valid()) return false;
  const auto managed = state.managed.of(step.object);
  return managed && managed->address == next.begin && step.begin != next.begin;
}

std::string end_of(SessionState& state, const LostStep& first) {
  if (const auto managed = state.managed.of(first.object); managed && !managed->type.empty())
    return TypedObject{managed->address, managed->type}.short_type();
  const Object& tracked = state.history.object(first.object);
  return fmt::format("{} {:#x}", state.family_name(tracked.family), tracked.address);
}

}  // namespace

std::vector<std::string> cycle_path(SessionState& state, const std::vector<LostStep>& way) {
  std::vector<std::string> path;
  bool in_member = false;  // the block belongs to the member that was named before it
  for (std::size_t i = 0; i < way.size(); ++i) {
    const LostStep& next = way[(i + 1) % way.size()];
    if (leads_to_managed(state, way[i], next)) continue;
    const std::string member = member_label(state, way[i]);
    const bool tracked = way[i].object.valid();
    if (!member.empty() || tracked || !in_member)
      path.push_back(member.empty() ? place_label(state, way[i]) : member);
    in_member = !member.empty() || (in_member && !tracked);
  }
  return path;
}

std::string cycle_text(SessionState& state, const std::vector<LostStep>& way, const std::string& indent) {
  constexpr std::size_t kListed = 8;
  if (way.empty()) return {};
  std::vector<std::string> names = cycle_path(state, way);
  std::vector<std::string> places;
  for (const LostStep& step : way)
    places.push_back(fmt::format("{:#x}+{:#x}", step.begin, step.word - step.begin));
  for (std::vector<std::string>* steps : {&names, &places}) {
    if (steps->size() <= kListed) continue;
    const std::string rest = fmt::format("{} more", steps->size() - kListed);
    steps->resize(kListed);
    steps->push_back(rest);
  }
  return fmt::format("{0}cycle: {1} -> {2}\n{0}       {3} -> {4:#x}\n", indent, fmt::join(names, " -> "),
                     end_of(state, way.front()), fmt::join(places, " -> "), way.front().begin);
}

}  // namespace refhist
