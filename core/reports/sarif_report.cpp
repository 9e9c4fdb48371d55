#include "reports/sarif_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "reports/history_report.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSarifSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr const char* kRootId = "SRCROOT";
constexpr std::size_t kMostSteps = 200;  // events of an object that are told

struct Rule {
  Verdict verdict;
  const char* name;
  const char* text;
};
constexpr std::array<Rule, 9> kRules{{
    {Verdict::leak, "ReferenceLeak",
     "A reference is never given back, and nothing reaches the object any more."},
    {Verdict::over_put, "OverPut", "A reference is given back more often than it was taken."},
    {Verdict::use_after_free, "UseAfterFree", "An object is used after its memory was freed."},
    {Verdict::resurrection, "Resurrection", "A reference is taken after the last one was given back."},
    {Verdict::free_while_referenced, "FreeWhileReferenced",
     "Memory is freed while references are outstanding."},
    {Verdict::unobserved_change, "UnobservedChange", "The counter changed, and no get or put was seen."},
    {Verdict::undecidable, "Undecidable", "What was seen is not enough to tell whether this is a mistake."},
    {Verdict::held, "Held", "An object is still held at the end, while others like it were released."},
    {Verdict::second_owner, "SecondOwner", "Two control blocks own one object, which is deleted twice."},
}};

bool is_note(Verdict verdict) { return verdict == Verdict::undecidable || verdict == Verdict::held; }

Json rules_json() {
  Json rules = Json::array();
  for (const Rule& rule : kRules) {
    rules.push_back({{"id", verdict_name(rule.verdict)},
                     {"name", rule.name},
                     {"shortDescription", {{"text", rule.text}}},
                     {"defaultConfiguration", {{"level", is_note(rule.verdict) ? "note" : "error"}}}});
  }
  return rules;
}

Json artifact(const std::string& file, const SourcePlaces& places) {
  if (places.is_below_root(file))
    return {{"uri", SourcePlaces::uri(places.shown(file))}, {"uriBaseId", kRootId}};
  return {{"uri", SourcePlaces::uri(file)}};
}

/// Where no source is known, the module stands for it.
Json location_json(const NamedFrame& frame, const SourcePlaces& places, const std::string& text = {}) {
  Json location = Json::object();
  const std::string& file = frame.file.empty() ? frame.module : frame.file;
  if (!file.empty()) {
    location["physicalLocation"] = {
        {"artifactLocation", artifact(file, places)},
        {"region", {{"startLine", std::max(1U, frame.file.empty() ? 1U : frame.line)}}}};
  }
  if (!frame.function.empty())
    location["logicalLocations"] =
        Json::array({{{"fullyQualifiedName", frame.function}, {"kind", "function"}}});
  if (!text.empty()) location["message"] = {{"text", text}};
  return location;
}

/// Of the first of some events with the same stack.
Json stack_json(SessionState& state, EventId id, std::size_t times, const SourcePlaces& places) {
  Json frames = Json::array();
  for (const NamedFrame& frame : state.namer.stack(state.history.event(id).stack)) {
    Json entry{{"location", location_json(frame, places)}};
    if (!frame.module.empty()) entry["module"] = file_name(frame.module);
    frames.push_back(std::move(entry));
  }
  const std::string more =
      times == 1 ? std::string() : fmt::format(", and {} more from the same place", times - 1);
  return {{"message", {{"text", event_line(state, id) + more}}}, {"frames", std::move(frames)}};
}

/// The life of the object, step by step.
Json flow_json(SessionState& state, const ReportedFinding& finding, const SourcePlaces& places) {
  Json steps = Json::array();
  for (const EventId id : state.history.some_events_of(finding.object, kMostSteps).listed) {
    const Event event = state.history.event(id);
    if (!event.stack.valid()) continue;
    steps.push_back({{"location", location_json(state.namer.owner(event), places, event_line(state, id))}});
  }
  return steps;
}

/// The way by which the reference was lost, where a second run has shown it.
Json way_json(const ReportedFinding& finding, const SourcePlaces& places) {
  Json steps = Json::array();
  if (finding.suspects.empty()) return steps;
  for (const NamedFrame& step : finding.suspects.front().way) {
    if (steps.size() == kMostSteps) break;
    steps.push_back({{"location", location_json(step, places)}});
  }
  return steps;
}

std::string message(SessionState& state, const ReportedFinding& finding) {
  std::string text = finding_title(state, finding);
  if (const std::size_t objects = finding.alike.size() + finding.elsewhere; objects > 1)
    text += fmt::format(" ({})", plural(objects, "object"));
  if (const std::string where = processes_text(finding); !where.empty()) text += " in " + where;
  if (!finding.why.empty()) text += ": " + finding.why;
  for (const Suspect& suspect : finding.suspects)
    text += fmt::format("\nsuspect ({}): {}", suspect.confidence, suspect.text());
  return text;
}

Json result_json(const Check& check, const ReportedFinding& finding, const SourcePlaces& places) {
  SessionState& state = check.state_of(finding);
  const auto rule = std::find_if(kRules.begin(), kRules.end(),
                                 [&](const Rule& one) { return one.verdict == finding.verdict; });
  Json result{{"ruleId", verdict_name(finding.verdict)},
              {"ruleIndex", rule - kRules.begin()},
              {"level", check.fails(finding) ? "error" : "note"},
              {"message", {{"text", message(state, finding)}}},
              {"locations", Json::array({location_json(finding_place(state, finding), places)})},
              {"partialFingerprints", {{"refhist/1", finding.fingerprint}}}};
  Json flows = Json::array();
  for (Json& flow : std::vector<Json>{way_json(finding, places), flow_json(state, finding, places)}) {
    if (!flow.empty()) flows.push_back({{"threadFlows", Json::array({{{"locations", std::move(flow)}}})}});
  }
  if (!flows.empty()) result["codeFlows"] = std::move(flows);
  Json stacks = Json::array();
  for (const auto& [id, times] : apart(state, finding.references)) {
    if (stacks.size() == kMostSteps) break;
    if (state.history.event(id).stack.valid()) stacks.push_back(stack_json(state, id, times, places));
  }
  if (!stacks.empty()) result["stacks"] = std::move(stacks);
  if (check.processes.size() > 1) result["provenance"] = {{"invocationIndex", finding.process}};
  if (finding.status == FindingStatus::known) result["baselineState"] = "unchanged";
  if (finding.status == FindingStatus::suppressed)
    result["suppressions"] = Json::array({{{"kind", "external"}, {"justification", finding.suppressed_by}}});
  return result;
}

Json invocation_json(const Check& check, const CheckedProcess& process) {
  const SessionState& state = *process.state;
  Json notifications = Json::array();
  const auto tell = [&](const std::string& text, const char* level) {
    notifications.push_back({{"level", level}, {"message", {{"text", text}}}});
  };
  if (!process.why_failed.empty()) tell(process.why_failed, "error");
  if (process.parent == 0) {
    for (const std::string& line : check.notes) tell(line, "note");
  }
  for (const std::string& line : caveats(*process.state)) tell(line, "note");
  Json invocation{{"executionSuccessful", process.why_failed.empty()},
                  {"commandLine", join(state.program.arguments, " ")},
                  {"toolExecutionNotifications", std::move(notifications)}};
  if (process.pid != 0) invocation["processId"] = process.pid;
  if (state.end.by_itself())
    invocation[state.end.by_signal ? "exitSignalNumber" : "exitCode"] = state.end.status;
  return invocation;
}

}  // namespace

std::string sarif_report(const Check& check, const SourcePlaces& places) {
  Json results = Json::array();
  for (const ReportedFinding& finding : check.findings)
    results.push_back(result_json(check, finding, places));
  Json invocations = Json::array();
  for (const CheckedProcess& process : check.processes)
    invocations.push_back(invocation_json(check, process));
  Json run{{"tool", {{"driver", {{"name", "refhist"}, {"version", version()}, {"rules", rules_json()}}}}},
           {"invocations", std::move(invocations)},
           {"columnKind", "utf16CodeUnits"},
           {"results", std::move(results)}};
  if (!places.root().empty())
    run["originalUriBaseIds"] = {{kRootId, {{"uri", SourcePlaces::uri(places.root())}}}};
  const Json sarif{{"$schema", kSarifSchema}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}};
  return printable(sarif.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace refhist
