#include "reports/fold_notes.h"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "analysis/owners.h"
#include "base/text.h"

namespace refhist {

namespace {

struct FoldedAt {
  std::uint64_t times = 0;
  NamedFrame frame;
};

/// By role and place.
std::map<std::pair<Role, std::string>, FoldedAt> folded_by_place(SessionState& state, ObjectId id) {
  std::map<std::pair<Role, std::string>, FoldedAt> places;
  for (const auto& [event, times] : state.history.folded_life_of(id)) {
    const NamedFrame frame = state.namer.owner(event);
    FoldedAt& at = places[{event.role, FrameNamer::text(frame)}];
    at.times += times;
    at.frame = frame;
  }
  return places;
}

std::string why_folded(const SessionState& state) {
  if (state.folded.by_limit)
    return state.memory_limit == 0 ? "for a limit of memory"
                                   : fmt::format("for the limit of {}", bytes_text(state.memory_limit));
  return "set keep";
}

}  // namespace

std::vector<std::string> fold_notes(const SessionState& state) {
  std::vector<std::string> notes;
  if (const std::uint64_t objects = state.folded.objects(); objects != 0) {
    notes.push_back(fmt::format("{} that died clean ({}) {} counted by birthplace and not listed ({})",
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
        "the history takes {}, more than its limit of {}: what lives and what is wrong is not left out",
        bytes_text(state.memory()), bytes_text(state.memory_limit)));
  }
  return notes;
}

std::string folded_event_lines(SessionState& state, ObjectId id, const std::string& indent) {
  const History::FoldedEvents* folded = state.history.folded_events(id);
  if (folded == nullptr) return {};
  std::string text = fmt::format("{}... {} between #{} and #{} counted only:\n", indent,
                                 plural(folded->count(), "event"), folded->first.value, folded->last.value);
  for (const auto& [place, at] : folded_by_place(state, id))
    text += fmt::format("{}    {} {} in {}\n", indent, at.times, role_name(place.first), place.second);
  return text;
}

nlohmann::ordered_json folded_events_json(SessionState& state, ObjectId id) {
  const History::FoldedEvents* folded = state.history.folded_events(id);
  if (folded == nullptr) return nullptr;
  nlohmann::ordered_json places = nlohmann::ordered_json::array();
  for (const auto& [place, at] : folded_by_place(state, id)) {
    places.push_back({{"role", role_name(place.first)},
                      {"times", at.times},
                      {"function", at.frame.function},
                      {"file", at.frame.file},
                      {"line", at.frame.line}});
  }
  return {{"events", folded->count()},
          {"first", folded->first.value},
          {"last", folded->last.value},
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
