#include "reports/fold_notes.h"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "analysis/owners.h"
#include "base/text.h"

namespace refhist {

namespace {

struct CountedAt {
  std::uint64_t times = 0;
  NamedFrame frame;
};

/// By role and place.
std::map<std::pair<std::string, std::string>, CountedAt> counted_by_place(
    SessionState& state, ObjectId id, const History::FoldedEvents& counted) {
  std::map<std::pair<std::string, std::string>, CountedAt> places;
  for (const auto& [event, times] : state.history.kinds_of(counted, id)) {
    const NamedFrame frame = state.namer.owner(event);
    const std::string role(event.unobserved ? "unobserved" : role_name(event.role));
    CountedAt& at = places[{role, FrameNamer::text(frame)}];
    at.times += times;
    at.frame = frame;
  }
  return places;
}

std::string why_folded(const SessionState& state) {
  if (state.folded.by_limit)
    return state.memory_limit == 0
               ? "because of a memory limit"
               : fmt::format("because of the limit of {}", bytes_text(state.memory_limit));
  return "because of set keep";
}

}  // namespace

std::vector<std::string> fold_notes(const SessionState& state) {
  std::vector<std::string> notes;
  if (const std::uint64_t objects = state.folded.objects(); objects != 0) {
    notes.push_back(fmt::format("{} released cleanly ({}) {} summarized by birthplace and not listed ({})",
                                plural(objects, "object"), plural(state.folded.events(), "event"),
                                objects == 1 ? "is" : "are", why_folded(state)));
  }
  std::size_t events = 0;
  for (const auto& [id, folded] : state.history.all_folded_events()) events += folded.count();
  if (events != 0) {
    notes.push_back(fmt::format("{} of {} {} counted by place and not listed ({})",
                                plural(events, "early event"),
                                plural(state.history.all_folded_events().size(), "object"),
                                events == 1 ? "is" : "are", why_folded(state)));
  }
  if (state.over_limit) {
    notes.push_back(fmt::format(
        "the history takes {}, more than its limit of {}: live objects and findings are never left out",
        bytes_text(state.memory()), bytes_text(state.memory_limit)));
  }
  return notes;
}

std::string folded_event_lines(SessionState& state, ObjectId id, const std::string& indent) {
  const History::FoldedEvents* folded = state.history.folded_events(id);
  return folded == nullptr ? std::string() : counted_event_lines(state, id, *folded, "only counted", indent);
}

std::string counted_event_lines(SessionState& state, ObjectId id, const History::FoldedEvents& counted,
                                const std::string& how, const std::string& indent) {
  std::string text =
      fmt::format("{}... {} between #{} and #{} {}:\n", indent, plural(counted.count(), "event"),
                  counted.first.value, counted.last.value, how);
  for (const auto& [place, at] : counted_by_place(state, id, counted))
    text += fmt::format("{}    {} {} in {}\n", indent, at.times, place.first, place.second);
  return text;
}

nlohmann::ordered_json counted_events_json(SessionState& state, ObjectId id,
                                           const History::FoldedEvents& counted) {
  nlohmann::ordered_json places = nlohmann::ordered_json::array();
  for (const auto& [place, at] : counted_by_place(state, id, counted)) {
    places.push_back({{"role", place.first},
                      {"times", at.times},
                      {"function", at.frame.function},
                      {"file", at.frame.file},
                      {"line", at.frame.line}});
  }
  return {{"events", counted.count()},
          {"first", counted.first.value},
          {"last", counted.last.value},
          {"by_place", std::move(places)}};
}

std::string keep_text(const SessionState& state) {
  std::string text;
  if (state.keep != Keep::all)
    text += fmt::format("; keep: {}", kKeepNames[static_cast<std::size_t>(state.keep)]);
  if (state.memory_limit != 0) text += fmt::format("; limit: {}", bytes_text(state.memory_limit));
  return text;
}

}  // namespace refhist
