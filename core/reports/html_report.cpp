#include "reports/html_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "analysis/balance_tree.h"
#include "analysis/birthplaces.h"
#include "base/printable.h"
#include "base/text.h"
#include "reports/history_report.h"
#include "reports/leak_report.h"
#include "reports/source_excerpt.h"

extern "C" const char refhist_embedded_page[];
extern "C" const char refhist_embedded_page_end[];

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostObjects = 20000;
constexpr std::size_t kMostEvents = 400;  // of a finding's object: half from its beginning, half from its end
constexpr std::size_t kMostSources = 3;

/// The data of the page. Frames and stacks are told once.
class Page {
 public:
  Page(const Check& check, const SourcePlaces& places) : check_(check), places_(places) {}

  Json data() {
    Json findings = Json::array();
    Json balance = Json::array();
    Json objects = Json::array();
    for (std::size_t i = 0; i < check_.processes.size(); ++i) {
      turn_to(i);
      for (const ReportedFinding& finding : check_.findings) {
        if (finding.process == i) findings.push_back(finding_json(finding));
      }
      add_balance(balance);
      add_objects(objects);
    }
    std::vector<std::string> notes = check_.all_notes();
    notes.push_back(scan_line(check_.program()));
    return {{"title", title(check_.program())},
            {"subtitle", subtitle(check_.program())},
            {"processes", processes_json()},
            {"families", families_},
            {"findings", std::move(findings)},
            {"balance", std::move(balance)},
            {"objects", std::move(objects)},
            {"objects_left", objects_left_},
            {"places", place_texts_},
            {"frames", frames_},
            {"stacks", stacks_},
            {"notes", notes},
            {"failed", check_.why_failed}};
  }

 private:
  static std::string title(const SessionState& state) {
    if (!state.program.arguments.empty()) return join(state.program.arguments, " ");
    return state.program.executable.empty() ? "a program" : state.program.executable;
  }

  std::string subtitle(const SessionState& state) const {
    std::string end = "its end was not seen";
    if (state.end.by_itself())
      end = state.end.by_signal ? fmt::format("killed by signal {}", state.end.status)
                                : fmt::format("exit status {}", state.end.status);
    std::string text = fmt::format("{}; {} on {}", end, plural(state.history.event_count(), "event"),
                                   plural(state.history.objects().size(), "object"));
    if (const std::string children = check_.children_summary(); !children.empty()) text += "; " + children;
    return text + "; " + check_.summary();
  }

  /// What is told from now on is told of this process.
  void turn_to(std::size_t process) {
    process_ = process;
    state_ = check_.processes[process].state;
    birthplaces_ = std::make_unique<Birthplaces>(state_->history, state_->sites, state_->namer);
    family_numbers_.clear();
    place_numbers_.clear();
    stack_numbers_.clear();
  }

  Json processes_json() const {
    Json list = Json::array();
    if (check_.processes.size() < 2) return list;
    for (const CheckedProcess& process : check_.processes)
      list.push_back({{"pid", process.pid}, {"parent", process.parent}, {"title", title(*process.state)}});
    return list;
  }

  Json finding_json(const ReportedFinding& finding) {
    Json suspects = Json::array();
    for (const Suspect& suspect : finding.suspects) {
      suspects.push_back({{"what", suspect.what},
                          {"place", FrameNamer::text(suspect.frame)},
                          {"confidence", suspect.confidence},
                          {"why", suspect.why}});
    }
    std::vector<std::string> objects;
    for (const ObjectId id : finding.alike)
      objects.push_back(fmt::format("{:#x}", state_->history.object(id).address));
    const History::SomeEvents events = state_->history.some_events_of(finding.object, kMostEvents);
    std::vector<std::uint32_t> references;
    for (const EventId id : finding.references) {
      if (std::binary_search(events.listed.begin(), events.listed.end(), id)) references.push_back(id.value);
    }
    return {{"verdict", verdict_name(finding.verdict)},
            {"title", finding_title(*state_, finding)},
            {"family", state_->family_name(state_->history.object(finding.object).family)},
            {"status", status_name(finding.status)},
            {"suppressed_by", finding.suppressed_by},
            {"why", finding.why},
            {"fingerprint", finding.fingerprint},
            {"object", fmt::format("{}: {}", object_title(*state_, finding.object),
                                   state_text(state_->history.object(finding.object)))},
            {"objects", std::move(objects)},
            {"elsewhere", finding.elsewhere},
            {"pids", finding.pids},
            {"suspects", std::move(suspects)},
            {"sources", sources_json(finding)},
            {"references", std::move(references)},
            {"events", events_json(events.listed)},
            {"events_left", events.others.count()}};
  }

  Json events_json(const std::vector<EventId>& events) {
    Json list = Json::array();
    for (const EventId id : events) list.push_back(event_json(id));
    return list;
  }

  Json event_json(EventId id) {
    const Event event = state_->history.event(id);
    const Thread& thread = state_->history.thread(event.thread);
    const auto count = [](const Count& value) { return value ? Json(*value) : Json(nullptr); };
    return {{"seq", id.value},
            {"time_ns", event.time_ns},
            {"thread", thread.name.empty() ? std::to_string(thread.tid)
                                           : fmt::format("{} {}", thread.tid, thread.name)},
            {"role", event.unobserved ? "unseen" : std::string(role_name(event.role))},
            {"before", count(event.before)},
            {"after", count(event.after)},
            {"place", event.stack.valid() ? FrameNamer::text(state_->namer.owner(event))
                                          : std::string(event.unobserved ? "changed without a probe" : "")},
            {"stack", event.stack.valid() ? Json(stack_number(event.stack)) : Json(nullptr)}};
  }

  std::size_t stack_number(StackId id) {
    const auto [entry, added] = stack_numbers_.try_emplace(id, stacks_.size());
    if (!added) return entry->second;
    Json frames = Json::array();
    for (const NamedFrame& frame : state_->namer.stack(id)) frames.push_back(frame_number(frame));
    stacks_.push_back({{"frames", std::move(frames)}, {"truncated", state_->history.stacks().truncated(id)}});
    return entry->second;
  }

  std::size_t frame_number(const NamedFrame& frame) {
    const std::string name = frame.function.empty() ? FrameNamer::text(frame) : frame.function;
    const auto [entry, added] =
        frame_numbers_.try_emplace({name, frame.file, frame.line, frame.inlined}, frames_.size());
    if (added) frames_.push_back(Json::array({name, places_.shown(frame.file), frame.line, frame.inlined}));
    return entry->second;
  }

  /// The lines of the suspects, and of where the object was born.
  Json sources_json(const ReportedFinding& finding) {
    std::vector<NamedFrame> frames;
    for (const Suspect& suspect : finding.suspects) frames.push_back(suspect.frame);
    frames.push_back(finding_place(*state_, finding));
    const EventId born = state_->history.object(finding.object).born;
    if (born.valid()) frames.push_back(state_->namer.owner(state_->history.event(born)));
    Json sources = Json::array();
    std::set<std::pair<std::string, unsigned>> told;
    for (const NamedFrame& frame : frames) {
      if (sources.size() == kMostSources || !told.emplace(frame.file, frame.line).second) continue;
      if (const auto excerpt = source_excerpt(places_.readable(frame.file), frame.line))
        sources.push_back({{"file", places_.shown(frame.file)},
                           {"line", frame.line},
                           {"first", excerpt->first},
                           {"lines", excerpt->lines}});
    }
    return sources;
  }

  static Json node_json(const BalanceTree::Node& node) {
    Json calls = Json::array();
    for (const auto& [name, call] : node.calls) calls.push_back(node_json(*call));
    return {{"text", node.text()},
            {"sum", node.sum()},
            {"taken", node.taken},
            {"given_back", node.given},
            {"calls", std::move(calls)}};
  }

  void add_balance(Json& trees) {
    std::map<FamilyId, std::vector<ObjectId>> live;
    for (const auto& [id, object] : state_->history.objects()) {
      if (object.state == ObjectState::live) live[object.family].push_back(id);
    }
    for (const auto& [family, objects] : live) {
      BalanceTree tree(state_->history, state_->namer);
      for (const ObjectId id : objects) tree.add(id);
      trees.push_back({{"process", process_},
                       {"family", state_->family_name(family)},
                       {"objects", objects.size()},
                       {"tree", node_json(tree.pruned())}});
    }
  }

  /// Those that live first, then those that ended last.
  std::vector<ObjectId> chosen_objects(std::size_t most) {
    std::vector<ObjectId> live;
    std::vector<ObjectId> others;
    for (const auto& [id, object] : state_->history.objects())
      (object.state == ObjectState::live ? live : others).push_back(id);
    live.insert(live.end(), others.rbegin(), others.rend());
    objects_left_ += live.size() - std::min(most, live.size());
    live.resize(std::min(most, live.size()));
    return live;
  }

  void add_objects(Json& list) {
    const char* states[] = {"live", "dead", "end not seen"};
    for (const ObjectId id : chosen_objects(kMostObjects - std::min(kMostObjects, list.size()))) {
      const Object& object = state_->history.object(id);
      list.push_back(Json::array({fmt::format("{:#x}", object.address), object.generation,
                                  family_number(object.family), states[static_cast<int>(object.state)],
                                  object.base_known ? Json(object.ledger) : Json(nullptr),
                                  place_number(birthplaces_->of(object)), object.events, process_}));
    }
  }

  std::size_t family_number(FamilyId id) {
    const auto [entry, added] = family_numbers_.try_emplace(id);
    if (!added) return entry->second;
    // Children have the families of the program, too.
    const std::string name = state_->family_name(id);
    const auto found = std::find(families_.begin(), families_.end(), name);
    entry->second = static_cast<std::size_t>(found - families_.begin());
    if (found == families_.end()) families_.push_back(name);
    return entry->second;
  }

  std::size_t place_number(const Birthplace& place) {
    const auto [entry, added] = place_numbers_.try_emplace(&place, place_texts_.size());
    if (added) place_texts_.push_back(place.text());
    return entry->second;
  }

  const Check& check_;
  const SourcePlaces& places_;
  std::size_t process_ = 0;
  SessionState* state_ = nullptr;
  std::unique_ptr<Birthplaces> birthplaces_;
  std::vector<std::string> families_;
  std::map<FamilyId, std::size_t> family_numbers_;
  std::vector<std::string> place_texts_;
  std::map<const Birthplace*, std::size_t> place_numbers_;
  Json frames_ = Json::array();
  std::map<std::tuple<std::string, std::string, unsigned, bool>, std::size_t> frame_numbers_;
  Json stacks_ = Json::array();
  std::map<StackId, std::size_t> stack_numbers_;
  std::size_t objects_left_ = 0;
};

}  // namespace

std::string html_report(const Check& check, const SourcePlaces& places) {
  constexpr std::string_view kHole = "@DATA@";
  const std::string_view page(refhist_embedded_page,
                              static_cast<std::size_t>(refhist_embedded_page_end - refhist_embedded_page));
  // Nothing in the data may end the element that it stands in.
  const std::string data =
      replace_all(printable(Page(check, places).data().dump(-1, ' ', false, Json::error_handler_t::replace)),
                  "<", "\\u003c");
  const std::size_t hole = page.find(kHole);
  return std::string(page.substr(0, hole)) + data + std::string(page.substr(hole + kHole.size()));
}

}  // namespace refhist
