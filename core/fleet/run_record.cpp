#include "fleet/run_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "analysis/birthplaces.h"
#include "analysis/growth.h"
#include "base/text.h"
#include "base/version.h"
#include "fleet/finding_record.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kProtocol = 1;
constexpr std::size_t kMostPlaces = 500;
constexpr std::size_t kMostFindings = 5000;
constexpr std::size_t kNameBytes = 190;  // the database takes 200 characters
constexpr std::int64_t kMicroseconds = 1'000'000;
constexpr std::int64_t kNanoseconds = 1'000;

std::int64_t now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

/// Of the last event.
std::int64_t recorded_us(const SessionState& state) {
  const std::size_t events = state.history.event_count();
  if (events == 0) return 0;
  return static_cast<std::int64_t>(state.history.event(EventId(events - 1)).time_ns) / kNanoseconds;
}

/// Told by the history alone: the same for the file, whoever sends it and when.
std::int64_t started_us(const SessionState& state) {
  return state.opened ? state.opened->saved_at * kMicroseconds - recorded_us(state) : now_us();
}

struct Totals {
  std::uint64_t events = 0, objects = 0, live = 0, lost = 0;
};

Totals totals_of(const Check& check) {
  Totals totals;
  for (const CheckedProcess& process : check.processes) {
    const SessionState& state = *process.state;
    totals.events += state.history.event_count();
    totals.objects += state.history.objects().size() + state.folded.objects();
    totals.lost += state.lost_events();
    for (const auto& [id, object] : state.history.objects())
      totals.live += object.state == ObjectState::live ? 1 : 0;
  }
  return totals;
}

bool is_complete(const Check& check) {
  return check.why_failed.empty() &&
         std::all_of(check.processes.begin(), check.processes.end(),
                     [](const CheckedProcess& process) { return process.state->end.by_itself(); });
}

std::string arguments_text(const SessionState& state) {
  std::vector<std::string> quoted;
  for (const std::string& word : state.program.arguments) quoted.push_back(quoted_word(word));
  return sent_text(join(quoted, " "), 4000);
}

Json header(const Check& check, const RunFacts& facts) {
  const SessionState& state = check.program();
  const Totals totals = totals_of(check);
  const std::string program = file_name(state.program.executable);
  const bool ended = state.end.by_itself();
  Json labels = Json::object();
  for (const auto& [key, value] : facts.labels)
    labels[sent_text(key, kNameBytes)] = sent_text(value, kNameBytes);
  return {{"protocol", kProtocol},
          {"project", sent_text(facts.project, kNameBytes)},
          {"name", sent_text(!facts.name.empty() ? facts.name
                             : program.empty()   ? "unknown"
                                                 : program,
                             kNameBytes)},
          {"branch", sent_text(facts.branch, kNameBytes)},
          {"commit", sent_text(facts.commit, kNameBytes)},
          {"labels", std::move(labels)},
          {"host", sent_text(facts.host, kNameBytes)},
          {"pid", state.program.pid},
          {"debugger", facts.debugger},
          {"refhist", version()},
          {"program", sent_text(state.program.executable, kNameBytes * 4)},
          {"arguments", arguments_text(state)},
          {"started_us", started_us(state)},
          {"seconds", static_cast<double>(recorded_us(state)) / static_cast<double>(kMicroseconds)},
          {"exit_status", ended && !state.end.by_signal ? Json(state.end.status) : Json(nullptr)},
          {"signal", ended && state.end.by_signal ? Json(state.end.status) : Json(nullptr)},
          {"events", totals.events},
          {"objects", totals.objects},
          {"live", totals.live},
          {"lost_events", totals.lost},
          {"complete", is_complete(check)},
          {"failed", sent_text(check.why_failed, kNameBytes * 4)},
          {"failing", check.failing}};
}

/// A birthplace without its line, and what is counted there.
using PlaceKey =
    std::tuple<std::string, std::string, std::string, std::string>;  // family, by, function, file
struct PlaceNumbers {
  std::uint64_t born = 0, live = 0, peak = 0, live_bytes = 0, peak_bytes = 0;
};

void add_places(SessionState& state, std::map<PlaceKey, PlaceNumbers>& all) {
  Birthplaces places(state.history, state.sites, state.namer);
  for (const PlaceUsage& entry : usage_of(state.history, places, state.folded, 1)) {
    const Birthplace& place = *entry.place;
    PlaceNumbers& numbers = all[{
        sent_text(state.family_name(place.family), kNameBytes), sent_text(place.by, kNameBytes * 2),
        sent_text(place.frame.function, kNameBytes * 2), sent_text(file_name(place.frame.file), kNameBytes)}];
    numbers.born += entry.usage.born;
    numbers.live += entry.usage.live;
    numbers.peak += entry.usage.peak.objects;
    numbers.live_bytes += entry.usage.live_bytes;
    numbers.peak_bytes += entry.usage.peak.bytes;
  }
}

/// Those with most bytes, then objects, at the end.
Json places_json(const Check& check) {
  std::map<PlaceKey, PlaceNumbers> all;
  for (const CheckedProcess& process : check.processes) add_places(*process.state, all);
  std::vector<std::pair<PlaceKey, PlaceNumbers>> sorted(all.begin(), all.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.second.live_bytes, a.second.live, a.second.born) >
           std::tuple(b.second.live_bytes, b.second.live, b.second.born);
  });
  if (sorted.size() > kMostPlaces) sorted.resize(kMostPlaces);
  Json places = Json::array();
  for (const auto& [key, n] : sorted) {
    const auto& [family, by, function, file] = key;
    places.push_back({{"place", {{"family", family}, {"by", by}, {"function", function}, {"file", file}}},
                      {"numbers", {n.born, n.live, n.peak, n.live_bytes, n.peak_bytes}}});
  }
  return places;
}

}  // namespace

Json run_record(const Check& check, const RunFacts& facts, const SourcePlaces& places) {
  FindingRecords records(check, places);
  Json findings = Json::array();
  for (const ReportedFinding& finding : check.findings) {
    if (finding.status == FindingStatus::suppressed || findings.size() == kMostFindings) continue;
    findings.push_back({{"fingerprint", finding.fingerprint},
                        {"alike", finding.alike.size() + finding.elsewhere},
                        {"detail", records.of(finding)}});
  }
  return {{"schema", kRunRecordSchema},
          {"run", header(check, facts)},
          {"findings", std::move(findings)},
          {"places", places_json(check)}};
}

}  // namespace refhist
