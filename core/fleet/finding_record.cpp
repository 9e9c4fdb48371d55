#include "fleet/finding_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "reports/leak_report.h"
#include "reports/source_excerpt.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLines = 40;
constexpr std::size_t kMostSuspects = 8;
constexpr std::size_t kMostSources = 3;
constexpr std::size_t kMostEvents = 40;  // of the example
constexpr std::size_t kMostFrames = 16;
constexpr std::size_t kLongestName = 190;
constexpr std::size_t kLongestLine = 900;
constexpr std::size_t kLargest = 200'000;  // bytes; the database takes 262,144

Json stack_of(SessionState& state, const Event& event) {
  Json frames = Json::array();
  if (!event.stack.valid()) return frames;
  for (const NamedFrame& frame : state.namer.stack(event.stack)) {
    if (frames.size() == kMostFrames) break;
    frames.push_back(sent_text(FrameNamer::text(frame), kLongestName * 2));
  }
  return frames;
}

Json event_of(SessionState& state, EventId id) {
  const Event& event = state.history.event(id);
  Json json{{"seq", id.value},
            {"line", sent_text(event_line(state, id), kLongestLine)},
            {"role", role_name(event.role)},
            {"stack", stack_of(state, event)}};
  json["before"] = event.before ? Json(*event.before) : Json(nullptr);
  json["after"] = event.after ? Json(*event.after) : Json(nullptr);
  return json;
}

Json example_of(SessionState& state, const ReportedFinding& finding) {
  const Object& object = state.history.object(finding.object);
  Json events = Json::array();
  const History::SomeEvents some = state.history.some_events_of(finding.object, kMostEvents, EventId());
  for (const EventId id : some.listed) events.push_back(event_of(state, id));
  Json references = Json::array();
  for (const EventId id : finding.references) {
    if (id.valid() && references.size() < kMostEvents) references.push_back(id.value);
  }
  return {{"object", sent_text(object_title(state, finding.object), kLongestLine)},
          {"size", object.size},
          {"events", std::move(events)},
          {"events_not_listed", some.others.count()},
          {"references", std::move(references)}};
}

Json suspects_of(const ReportedFinding& finding, const SourcePlaces& places) {
  Json suspects = Json::array();
  for (const Suspect& suspect : finding.suspects) {
    if (suspects.size() == kMostSuspects) break;
    suspects.push_back({{"function", sent_text(suspect.frame.function, kLongestName)},
                        {"file", sent_text(places.shown(suspect.frame.file), kLongestName)},
                        {"line", suspect.frame.line},
                        {"what", suspect.what},
                        {"confidence", suspect.confidence},
                        {"why", sent_text(suspect.why, kLongestLine)}});
  }
  return suspects;
}

}  // namespace

std::string sent_text(std::string_view text, std::size_t most) {
  std::string line = one_line(text);
  if (line.size() <= most) return line;
  std::size_t at = 0;
  for (std::size_t next = 0; next + 3 <= most;
       next += std::max<std::size_t>(length_of_character(line, next), 1))
    at = next;
  return line.substr(0, at) + "…";
}

const std::vector<LeakGroup>& FindingRecords::groups(std::size_t process) {
  while (groups_.size() <= process) {
    SessionState& state = *check_.processes[groups_.size()].state;
    groups_.push_back(list_leaks(state, {}, "").groups);
  }
  return groups_[process];
}

std::vector<std::string> FindingRecords::lines(const ReportedFinding& finding) {
  SessionState& state = check_.state_of(finding);
  std::string text = finding_lines(state, finding);
  for (const LeakGroup& group : groups(finding.process)) {
    if (!finding.event.valid() && group.objects.front() == finding.object)
      text = leak_group_text(state, group);
  }
  std::vector<std::string> lines = split(text, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.size() > kMostLines) lines.resize(kMostLines);
  for (std::string& line : lines) line = sent_text(line, kLongestLine);
  return lines;
}

Json FindingRecords::sources(const ReportedFinding& finding, const NamedFrame& place) const {
  Json all = Json::array();
  std::set<std::pair<std::string, unsigned>> seen;
  const auto add = [&](const NamedFrame& frame) {
    if (all.size() == kMostSources || frame.line == 0 || !seen.emplace(frame.file, frame.line).second) return;
    const std::string file = places_.readable(frame.file);
    const auto excerpt = file.empty() ? std::nullopt : source_excerpt(file, frame.line);
    if (!excerpt) return;
    Json lines = Json::array();
    for (const std::string& line : excerpt->lines)
      lines.push_back(sent_text(replace_all(line, "\t", "    "), kLongestLine));
    all.push_back({{"file", sent_text(places_.shown(frame.file), kLongestName)},
                   {"first", excerpt->first},
                   {"line", frame.line},
                   {"lines", std::move(lines)}});
  };
  for (const Suspect& suspect : finding.suspects) add(suspect.frame);
  add(place);
  return all;
}

Json FindingRecords::of(const ReportedFinding& finding) {
  SessionState& state = check_.state_of(finding);
  const NamedFrame place = finding_place(state, finding);
  Json json{
      {"verdict", verdict_name(finding.verdict)},
      {"family", sent_text(state.family_name(state.history.object(finding.object).family), kLongestName)},
      {"title", sent_text(finding_title(state, finding), kLongestLine)},
      {"place",
       place.function.empty() && place.file.empty() ? "" : sent_text(FrameNamer::text(place), kLongestLine)},
      {"why", sent_text(finding.why, kLongestLine)},
      {"lines", lines(finding)},
      {"suspects", suspects_of(finding, places_)},
      {"example", example_of(state, finding)},
      {"sources", sources(finding, place)}};
  if (json.dump(-1, ' ', false, Json::error_handler_t::replace).size() > kLargest) {
    json["example"]["events"] = Json::array();
    json["sources"] = Json::array();
  }
  return json;
}

}  // namespace refhist
