#include "reports/folded_report.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "base/interruption.h"
#include "base/printable.h"
#include "base/text.h"

namespace refhist {

namespace {

constexpr std::size_t kBetweenQuestions = 1 << 16;

using Counts = std::map<std::pair<StackId, SiteId>, std::size_t>;

void count_births(const SessionState& state, const std::vector<ObjectId>& objects, Counts& counts) {
  for (const ObjectId id : objects) {
    const EventId born = state.history.object(id).born;
    const Event event = born.valid() ? state.history.event(born) : Event();
    ++counts[{event.stack, event.site}];
  }
}

std::vector<ObjectId> live_objects(const SessionState& state, const FindingFilter& filter) {
  std::vector<ObjectId> live;
  for (const auto& [id, object] : state.history.objects()) {
    if (object.state == ObjectState::live && filter.wants(state.family_name(object.family)))
      live.push_back(id);
  }
  return live;
}

void count_events(const SessionState& state, const FindingFilter& filter, Counts& counts) {
  const History& history = state.history;
  const auto wanted = [&](const Event& event) {
    return filter.wants(state.family_name(history.object(event.object).family));
  };
  std::size_t told = 0;
  history.log().for_each(EventId(0U), [&](const EventLog::Entry& entry) {
    if (told++ % kBetweenQuestions == 0)
      Interruption::check(
          [&] { return fmt::format("folding: {} of {} events", told, history.log().kept()); });
    if (wanted(entry.event)) ++counts[{entry.event.stack, entry.event.site}];
  });
  for (const auto& [id, folded] : history.all_folded_events()) {
    for (const auto& [event, times] : history.folded_life_of(id)) {
      if (wanted(event)) counts[{event.stack, event.site}] += times;
    }
  }
}

Counts counts_of(SessionState& state, const FindingFilter& filter, Folded what) {
  Counts counts;
  if (what == Folded::live) count_births(state, live_objects(state, filter), counts);
  if (what == Folded::leaked) {
    for (const ReportedFinding& finding : collect_findings(state, filter)) {
      if (finding.verdict == Verdict::leak) count_births(state, finding.alike, counts);
    }
  }
  if (what == Folded::events) count_events(state, filter, counts);
  return counts;
}

/// Semicolons separate frames, so none may stand in a name.
std::string frame_text(const NamedFrame& frame) {
  std::string text = one_line(frame.function);
  if (text.empty())
    text = frame.module.empty() ? "[unknown]" : fmt::format("[{}]", one_line(file_name(frame.module)));
  return replace_all(text, ";", ",");
}

std::string stack_text(SessionState& state, StackId stack, SiteId site) {
  std::string text;
  for (const NamedFrame& frame : state.namer.stack(stack))
    text = frame_text(frame) + (text.empty() ? "" : ";") + text;
  if (!text.empty()) return text;
  return site.valid() ? replace_all(one_line(state.sites.get(site).function), ";", ",") : "[unknown]";
}

}  // namespace

std::optional<Folded> folded_from_name(std::string_view name) {
  if (name == "leaked") return Folded::leaked;
  if (name == "live") return Folded::live;
  if (name == "events") return Folded::events;
  return std::nullopt;
}

std::string folded_report(SessionState& state, const FindingFilter& filter, Folded what) {
  std::map<std::string, std::size_t> lines;  // different addresses may have one name
  for (const auto& [key, count] : counts_of(state, filter, what))
    lines[stack_text(state, key.first, key.second)] += count;
  std::string text;
  for (const auto& [stack, count] : lines) text += fmt::format("{} {}\n", stack, count);
  return text;
}

}  // namespace refhist
