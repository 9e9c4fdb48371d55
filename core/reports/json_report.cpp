#include "reports/json_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/lifetime.h"
#include "base/error.h"
#include "base/printable.h"
#include "reports/cycle_path.h"
#include "reports/fold_notes.h"
#include "reports/leak_report.h"
#include "reports/listed_leaks.h"
#include "reports/reference_report.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostOfFinding = 1'000;  // events of its object, and references: half from each end

std::string hex(Address address) { return fmt::format("{:#x}", address); }

/// What a document may take: each event has its whole stack there. A recording has far fewer frames; a file
/// can name stacks so long that the document would not fit into memory.
class DocumentLimit {
 public:
  explicit DocumentLimit(const SessionState& state) : before_(left_) {
    const std::size_t most = state.opened ? kMostFramesOfFile : kMostFrames;
    left_ = std::min(most, kFrames + kFramesOfEvent * state.history.log().kept());
  }
  ~DocumentLimit() { left_ = before_; }
  DocumentLimit(const DocumentLimit&) = delete;
  DocumentLimit& operator=(const DocumentLimit&) = delete;
  static void take(const NamedFrame& frame) {
    const std::size_t size =
        1 + (frame.function.size() + frame.file.size() + frame.module.size()) / kBytesOfFrame;
    if (size > left_)
      fail("its stacks are too long to be written out: narrow the request (an address, --events N)");
    left_ -= size;
  }

 private:
  static constexpr std::size_t kMostFrames = 4'000'000;
  static constexpr std::size_t kMostFramesOfFile = 1'000'000;  // half a gigabyte, and its text
  static constexpr std::size_t kFrames = 100'000;
  static constexpr std::size_t kFramesOfEvent = 1'024;
  static constexpr std::size_t kBytesOfFrame = 512;
  static thread_local std::size_t left_;
  std::size_t before_;
};
thread_local std::size_t DocumentLimit::left_ = 0;

Json count_json(const Count& count) { return count ? Json(*count) : Json(nullptr); }

Json frame_json(const NamedFrame& frame) {
  DocumentLimit::take(frame);
  Json json{{"function", frame.function}, {"file", frame.file},  {"line", frame.line},
            {"module", frame.module},     {"pc", hex(frame.pc)}, {"inlined", frame.inlined}};
  if (frame.lost) {
    json["lost_callers"] = {
        {"called", frame.lost->called}, {"ways", frame.lost->ways}, {"complete", frame.lost->complete}};
  }
  return json;
}

Json event_json(SessionState& state, EventId id) {
  if (!id.valid()) return nullptr;
  const Event& event = state.history.event(id);
  const Thread& thread = state.history.thread(event.thread);
  Json stack = Json::array();
  for (const NamedFrame& frame : state.namer.stack(event.stack)) stack.push_back(frame_json(frame));
  const char* sources[] = {"unknown", "derived", "read"};
  Json json{{"seq", id.value},
            {"time_ns", event.time_ns},
            {"thread", {{"id", thread.tid}, {"name", thread.name}}},
            {"role", event.unobserved ? "unobserved" : role_name(event.role)},
            {"family", state.family_name(state.history.object(event.object).family)},
            {"site", event.site.valid() ? Json(state.sites.get(event.site).function) : Json(nullptr)},
            {"count_before", count_json(event.before)},
            {"count_after", count_json(event.after)},
            {"count_after_is", sources[static_cast<int>(event.after_source)]},
            {"stack", std::move(stack)},
            {"truncated", event.stack.valid() && state.history.stacks().truncated(event.stack)}};
  if (event.failed) json["failed"] = true;
  return json;
}

Json events_json(SessionState& state, const std::vector<EventId>& events) {
  Json json = Json::array();
  for (const EventId id : events) json.push_back(event_json(state, id));
  return json;
}

/// The first and the last of them.
Json references_json(SessionState& state, std::vector<EventId> references) {
  if (references.size() > kMostOfFinding) {
    constexpr std::ptrdiff_t kHalf = kMostOfFinding / 2;
    references.erase(references.begin() + kHalf, references.end() - kHalf);
  }
  return events_json(state, references);
}

std::size_t not_listed(const std::vector<EventId>& events) {
  return events.size() - std::min(events.size(), kMostOfFinding);
}

Json object_json(SessionState& state, ObjectId id) {
  const Object& object = state.history.object(id);
  const char* states[] = {"live", "dead", "unknown"};
  Json json{{"address", hex(object.address)},
            {"generation", object.generation},
            {"family", state.family_name(object.family)},
            {"type", state.families[object.family.index()].family.counter.type},
            {"size", object.size},
            {"state", states[static_cast<int>(object.state)]},
            {"count", object.base_known ? Json(object.ledger) : Json(nullptr)},
            {"born", event_json(state, object.born)},
            {"died", event_json(state, object.died)},
            {"complete", object.complete}};
  if (const std::string type = dynamic_type(state, id); !type.empty()) json["dynamic_type"] = type;
  const bool manages = !state.families[object.family.index()].family.managed.empty();
  if (const auto managed = state.managed.of(id); managed && manages)
    json["managed"] = {{"address", managed->address == 0 ? Json(nullptr) : Json(hex(managed->address))},
                       {"type", managed->type}};
  if (!state.history.note(id).empty()) json["note"] = state.history.note(id);
  return json;
}

/// With its events, those before `until`.
Json life_json(SessionState& state, ObjectId id, std::size_t most, EventId until = EventId()) {
  Json json = object_json(state, id);
  const History::SomeEvents some = state.history.some_events_of(id, most, until);
  json["events"] = events_json(state, some.listed);
  if (some.others.count() != 0) json["events_not_listed"] = counted_events_json(state, id, some.others);
  if (const auto* folded = state.history.folded_events(id); folded != nullptr)
    json["folded"] = counted_events_json(state, id, *folded);
  return json;
}

/// The object at an earlier moment.
Json past_json(SessionState& state, ObjectId id, EventId moment, std::size_t most) {
  Json json = life_json(state, id, most, moment);
  const Lifetime life = lifetime_of(state.history.object(id));
  json["count"] = count_json(count_at(state.history, id, moment));
  json["state"] = life.covers(moment) ? "live" : life.first >= moment ? "unborn" : "dead";
  if (!life.end.valid() || life.end >= moment) json["died"] = nullptr;
  if (life.first >= moment) json["born"] = nullptr;
  json["at"] = moment.value - 1;
  return json;
}

Json suspect_json(const Suspect& suspect) {
  Json json{{"function", suspect.frame.function}, {"file", suspect.frame.file},
            {"line", suspect.frame.line},         {"what", suspect.what},
            {"confidence", suspect.confidence},   {"why", suspect.why}};
  if (suspect.frame.offset != 0) json["offset"] = suspect.frame.offset;
  if (suspect.way.empty()) return json;
  Json way = Json::array();
  for (const NamedFrame& step : suspect.way) way.push_back({{"file", step.file}, {"line", step.line}});
  json["way"] = std::move(way);
  return json;
}

Json finding_json(SessionState& state, const ReportedFinding& finding) {
  Json suspects = Json::array();
  for (const Suspect& suspect : finding.suspects) suspects.push_back(suspect_json(suspect));
  return {{"verdict", verdict_name(finding.verdict)},
          {"why", finding.why},
          {"object", life_json(state, finding.object, kMostOfFinding)},
          {"references", references_json(state, finding.references)},
          {"references_not_listed", not_listed(finding.references)},
          {"suspects", std::move(suspects)},
          {"fingerprint", finding.fingerprint},
          {"alike", finding.alike.size() + finding.elsewhere},
          {"processes", finding.pids},
          {"status", status_name(finding.status)},
          {"suppressed_by", finding.suppressed_by}};
}

Json findings_array(const Check& check) {
  Json array = Json::array();
  for (const ReportedFinding& finding : check.findings)
    array.push_back(finding_json(check.state_of(finding), finding));
  return array;
}

Json totals_json(const SessionState& state) {
  std::size_t live = 0;
  for (const auto& [id, object] : state.history.objects()) live += object.state == ObjectState::live ? 1 : 0;
  return {{"events", state.history.event_count()},
          {"objects", state.history.objects().size()},
          {"live", live},
          {"folded_objects", state.folded.objects()},
          {"listed_events", state.history.log().kept()},
          {"lost_events", state.lost_events()},
          {"refused_records", state.agent.damaged().records},
          {"repaired_words", state.agent.damaged().words},
          {"forks", state.forks}};
}

std::string finish(Json json) {
  return printable(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

Json site_json(const SessionState& state, const Site& site) {
  const LoadedModule* module = state.modules.get(site.module);
  return {{"probe", site.function},
          {"family", state.family_name(site.family)},
          {"role", role_name(site.role)},
          {"module", module == nullptr ? "" : module->module->path()},
          {"address", hex(site.address)},
          {"backend", state.sites.armed_by(site).in_agent ? Json("agent")
                      : site.armed                        ? Json("breakpoint")
                                                          : Json(nullptr)},
          {"inlined", site.inlined},
          {"hits", site.hits},
          {"why_not", site.why_not},
          {"why_breakpoint", state.sites.armed_by(site).why_breakpoint}};
}

Json family_json(const TrackedFamily& tracked) {
  return {{"name", tracked.family.name},
          {"tracked", tracked.shown_as_tracked()},
          {"by_default", tracked.by_default},
          {"origin", tracked.family.origin},
          {"counter", tracked.counter.has_value()},
          {"counter_note", tracked.counter_note},
          {"births_note", tracked.births_note},
          {"null_calls", tracked.null_puts}};
}

Json families_json(const SessionState& state) {
  Json families = Json::array();
  for (const TrackedFamily& tracked : state.families) {
    if (state.shows(tracked)) families.push_back(family_json(tracked));
  }
  return families;
}

Json sites_json(const SessionState& state) {
  Json sites = Json::array();
  for (const Site& site : state.sites.all()) {
    if (site.current) sites.push_back(site_json(state, site));
  }
  return sites;
}

Json program_json(const SessionState& state) {
  const bool by_itself = state.end.by_itself();
  return {{"argv", state.program.arguments},
          {"executable", state.program.executable},
          {"exit_status", by_itself && !state.end.by_signal ? Json(state.end.status) : Json(nullptr)},
          {"signal", by_itself && state.end.by_signal ? Json(state.end.status) : Json(nullptr)}};
}

Json child_json(const CheckedProcess& child) {
  return {{"pid", child.pid},
          {"parent", child.parent},
          {"program", program_json(*child.state)},
          {"totals", totals_json(*child.state)},
          {"failed", child.why_failed}};
}

bool any_in_agent(const SessionState& state) {
  return std::any_of(state.sites.all().begin(), state.sites.all().end(),
                     [](const Site& site) { return site.current && site.in_agent; });
}

Json rule_json(const StopRule& rule) {
  return {{"number", rule.number},
          {"rule", rule.describe()},
          {"enabled", rule.enabled},
          {"hits", rule.hits},
          {"undecided", rule.undecided}};
}

Json modules_json(const std::vector<UnreadModule>& modules) {
  Json all = Json::array();
  for (const UnreadModule& module : modules)
    all.push_back({{"path", module.path}, {"reason", module.reason}});
  return all;
}

}  // namespace

std::string objects_json(SessionState& state, const std::vector<ObjectId>& objects,
                         const ObjectsJsonOptions& options) {
  const DocumentLimit limit(state);
  LeakFinder finder = state.leak_finder();
  Json array = Json::array();
  for (const ObjectId id : objects) {
    array.push_back(options.moment.valid() ? past_json(state, id, options.moment, options.most)
                                           : life_json(state, id, options.most));
    if (options.references) array.back()["references"] = references_of_json(state, finder.pairs(), id);
  }
  return finish({{"schema", kJsonSchema}, {"objects", std::move(array)}, {"notes", caveats(state)}});
}

std::string check_json(const Check& check) {
  const DocumentLimit limit(check.program());
  return finish({{"schema", kJsonSchema},
                 {"totals", totals_json(check.program())},
                 {"findings", findings_array(check)},
                 {"failing", check.failing},
                 {"failed", check.why_failed},
                 {"notes", check.all_notes()}});
}

std::string session_json(const Check& check) {
  const DocumentLimit limit(check.program());
  const SessionState& state = check.program();
  Json children = Json::array();
  bool complete = check.why_failed.empty();
  for (const CheckedProcess& process : check.processes) {
    complete = complete && process.state->end.by_itself();
    if (process.parent != 0) children.push_back(child_json(process));
  }
  return finish({{"schema", kJsonSchema},
                 {"program", program_json(state)},
                 {"backend", any_in_agent(state) ? "agent" : "breakpoint"},
                 {"families", families_json(state)},
                 {"sites", sites_json(state)},
                 {"totals", totals_json(state)},
                 {"children", std::move(children)},
                 {"findings", findings_array(check)},
                 {"failing", check.failing},
                 {"failed", check.why_failed},
                 {"notes", check.all_notes()},
                 {"complete", complete}});
}

std::string leaks_json(SessionState& state, const FindingFilter& filter, const std::string& suppressions) {
  const DocumentLimit limit(state);
  const char* reaches[] = {"unreachable", "from-leaked", "reachable"};
  Json groups = Json::array();
  const ListedLeaks listed = list_leaks(state, filter, suppressions);
  for (const LeakGroup& group : listed.groups) {
    Json objects = Json::array();
    for (const ObjectId id : group.objects) objects.push_back(object_json(state, id));
    Json cycle = Json::array();
    for (const LostStep& step : group.cycle) {
      if (!step.object.valid()) continue;
      const Address address = state.history.object(step.object).address;
      cycle.push_back({{"object", hex(address)}, {"pointer", hex(step.word)}});
    }
    Json suspects = Json::array();
    for (const Suspect& suspect : group.suspects) suspects.push_back(suspect_json(suspect));
    groups.push_back(
        {{"verdict", verdict_name(group.verdict)},
         {"family", state.family_name(group.family)},
         {"reach", group.reach_known ? Json(reaches[static_cast<int>(group.reach)]) : Json(nullptr)},
         {"consequence", group.consequence},
         {"born_by", group.born_by},
         {"born_in", frame_json(group.born)},
         {"clean_siblings", group.clean_siblings},
         {"cycle", std::move(cycle)},
         {"cycle_path", cycle_path(state, group.cycle)},
         {"suspects", std::move(suspects)},
         {"references", references_json(state, group.references)},
         {"references_not_listed", group.folded_references + not_listed(group.references)},
         {"why", group.why},
         {"objects", std::move(objects)}});
  }
  std::vector<std::string> notes = listed.notes;
  for (std::string& line : caveats(state)) notes.push_back(std::move(line));
  return finish(
      {{"schema", kJsonSchema},
       {"leaks", std::move(groups)},
       {"reachable", listed.reachable},
       {"suppressed", listed.suppressed},
       {"scan", {{"done", state.scan.done}, {"at_exit", state.scan.at_exit}, {"text", scan_line(state)}}},
       {"totals", totals_json(state)},
       {"notes", std::move(notes)}});
}

std::string status_json(SessionState& state, DebuggerPort& port) {
  Json rules = Json::array();
  for (const StopRule& rule : state.rules.all()) rules.push_back(rule_json(rule));
  return finish({{"schema", kJsonSchema},
                 {"alive", state.alive},
                 {"opened", state.opened ? Json(state.opened->path) : Json(nullptr)},
                 {"recording", state.recording},
                 {"backend", state.agent.attached() ? "agent" : "breakpoint"},
                 {"families", families_json(state)},
                 {"sites", sites_json(state)},
                 {"rules", std::move(rules)},
                 {"totals", totals_json(state)},
                 {"memory_bytes", state.memory()},
                 {"truncated_stacks", state.recorder.truncated_stacks()},
                 {"modules_not_read", modules_json(state.modules.unread())},
                 {"modules_from_memory", modules_json(state.modules.from_memory())},
                 {"breakpoints_removed", state.alive ? state.breakpoints.count_lost(port) : 0},
                 {"notes", caveats(state)}});
}

std::string rules_json(const SessionState& state, RuleKind kind) {
  Json rules = Json::array();
  for (const StopRule& rule : state.rules.all()) {
    if (rule.kind == kind) rules.push_back(rule_json(rule));
  }
  return finish({{"schema", kJsonSchema}, {"rules", std::move(rules)}});
}

}  // namespace refhist
