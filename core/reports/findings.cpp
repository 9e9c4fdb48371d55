#include "reports/findings.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "analysis/frame_module.h"
#include "analysis/statement_lines.h"
#include "base/short_name.h"
#include "base/system_path.h"
#include "base/text.h"
#include "base/text_hash.h"
#include "reports/blind_spots.h"
#include "reports/cycle_path.h"
#include "reports/finding_list.h"
#include "reports/fold_notes.h"

namespace refhist {

namespace {

constexpr std::size_t kFingerprintFrames = 4;

/// Function names of the innermost frames: no addresses, lines or clone suffixes.
std::string normalised(SessionState& state, EventId id) {
  if (!id.valid()) return {};
  std::string text;
  std::size_t used = 0;
  for (const NamedFrame& frame : state.namer.stack(state.history.event(id).stack)) {
    if (frame.function.empty() || used == kFingerprintFrames) break;
    text += fmt::format("/{}", clone_base(frame.function));
    ++used;
  }
  return text;
}

std::string fingerprint(SessionState& state, Verdict verdict, FamilyId family,
                        std::initializer_list<EventId> events) {
  std::string text = fmt::format("{}|{}", verdict_name(verdict), state.family_name(family));
  for (const EventId id : events) text += "|" + normalised(state, id);
  return TextHash().add(text).hex();
}

/// Of what nobody can decide: one for a family and a cause, however many objects and places there are.
std::string fingerprint_of_doubt(const SessionState& state, Verdict verdict, FamilyId family,
                                 const std::string& why) {
  std::string cause = why.substr(0, why.find(';'));
  std::erase_if(cause, [](unsigned char c) { return std::isdigit(c) != 0; });
  return TextHash()
      .add(fmt::format("{}|{}|{}", verdict_name(verdict), state.family_name(family), cause))
      .hex();
}

/// Of what was seen happening. A loop that goes on with a dead object makes millions of them at few places.
class SeenFingerprints {
 public:
  explicit SeenFingerprints(SessionState& state) : state_(state) {}

  std::string of(const Finding& seen) {
    const Object& object = state_.history.object(seen.object);
    if (seen.verdict == Verdict::undecidable)
      return fingerprint_of_doubt(state_, seen.verdict, object.family, seen.why);
    const Place place{seen.verdict, object.family, stack_of(object.born), stack_of(seen.event)};
    std::string& known = known_[place];
    if (known.empty()) known = fingerprint(state_, seen.verdict, object.family, {object.born, seen.event});
    return known;
  }

 private:
  using Place = std::tuple<Verdict, FamilyId, StackId, StackId>;
  [[nodiscard]] StackId stack_of(EventId event) const {
    return event.valid() ? state_.history.event(event).stack : StackId();
  }

  SessionState& state_;
  std::map<Place, std::string> known_;
};

/// Whoever made the second control block.
Suspect second_owner(SessionState& state, const Finding& seen) {
  Suspect suspect;
  suspect.frame = state.namer.owner(state.history.event(seen.event));
  if (const unsigned line = StatementLines(state.modules).of_call(suspect.frame); line != 0)
    suspect.frame.line = line;
  suspect.what = "second owner";
  suspect.confidence = "named";
  suspect.why = seen.why;
  return suspect;
}

void add_seen(SessionState& state, const FindingFilter& filter, FindingList& all) {
  LeakFinder finder = state.leak_finder();
  SeenFingerprints fingerprints(state);
  for (const Finding& seen : state.history.findings()) {
    const Object& object = state.history.object(seen.object);
    if (!filter.wants(state.family_name(object.family))) continue;
    ReportedFinding finding;
    finding.fingerprint = fingerprints.of(seen);
    if (all.add_alike(finding.fingerprint, seen.object)) continue;
    finding.verdict = seen.verdict;
    finding.object = seen.object;
    finding.event = seen.event;
    finding.why = seen.why;
    finding.references = {seen.event};
    if (seen.verdict == Verdict::second_owner) {
      finding.suspects = {second_owner(state, seen)};
    } else if (seen.verdict != Verdict::undecidable) {
      finding.suspects = finder.suspects_of(seen.object);
    }
    all.add(std::move(finding));
  }
}

/// Why nothing can be said of what is outstanding where nobody has seen whether the program still reaches it.
std::string why_not_judged(const SessionState& state) {
  const ProcessEnd& end = state.end;
  if (end.by_signal) return fmt::format("outstanding when the program was killed by signal {}", end.status);
  if (end.detached)
    return end.status == 0 ? "outstanding when the debugger detached; the program went on unrecorded"
                           : "outstanding when the debugger killed the program or detached";
  if (!state.scan.why_not.empty())
    return fmt::format("outstanding; whether it is reachable is not known ({})", state.scan.why_not);
  return end.ended ? "outstanding when the program ended; it did not call _exit, so what it still reached is "
                     "not known"
                   : "outstanding; whether it is reachable was not looked at";
}

/// A library, or an interpreter, has made the object inside of itself and counts it unseen: nobody can do
/// anything about that without its source.
bool is_inner_doubt(const SessionState& state, const LeakGroup& group) {
  if (group.verdict != Verdict::undecidable || state.history.lost()) return false;
  return state.families[group.family.index()].family.counts_unseen || is_inside_library(group.born);
}

/// An interpreter has lost what no code of the program's has touched, as far as that was seen.
bool is_inner_leak(SessionState& state, const LeakGroup& group) {
  if (!state.families[group.family.index()].family.counts_unseen || group.verdict != Verdict::leak)
    return false;
  return is_inside_library(group.born) &&
         std::all_of(group.references.begin(), group.references.end(), [&](EventId event) {
           return is_inside_library(state.namer.owner(state.history.event(event)));
         });
}

void add_leaks(SessionState& state, const FindingFilter& filter, FindingList& all) {
  for (LeakGroup& group : state.leak_finder().find(state.scan.objects)) {
    if (!filter.wants(state.family_name(group.family))) continue;
    const bool reachable = group.reach_known && group.reach == Reach::reachable;
    const bool held = is_held(state, group) && !filter.reachable;
    if (group.consequence || (reachable && !filter.reachable && !held)) continue;
    if ((is_inner_doubt(state, group) || is_inner_leak(state, group)) && !filter.reachable) continue;
    ReportedFinding finding;
    finding.verdict = held ? Verdict::held : group.verdict;
    finding.object = group.objects.front();
    finding.references = group.references;
    finding.suspects = group.suspects;
    finding.why = held ? held_text(state, group) : group.why;
    const bool judged = group.reach_known || filter.reachable || group.verdict == Verdict::undecidable;
    if (!judged) {
      finding.verdict = Verdict::undecidable;
      finding.suspects.clear();
      finding.why = why_not_judged(state);
    }
    if (group.reach_known && group.reach == Reach::from_leaked) {
      finding.why = (group.cycle.empty() ? "held by lost memory"
                                         : fmt::format("in a cycle that nothing else points at: {}",
                                                       fmt::join(cycle_path(state, group.cycle), " -> "))) +
                    (group.why.empty() ? "" : "; " + group.why);
    }
    const Object& object = state.history.object(finding.object);
    const EventId last = group.references.empty() ? EventId() : group.references.back();
    finding.fingerprint = finding.verdict == Verdict::undecidable && judged
                              ? fingerprint_of_doubt(state, finding.verdict, group.family, finding.why)
                              : fingerprint(state, finding.verdict, group.family, {object.born, last});
    finding.alike = std::move(group.objects);
    all.add(std::move(finding));
  }
}

/// Copies of the family's functions that ran unseen, if they ran, and change a count in this direction: a
/// hint where the change may have happened. Empty when there are none.
std::string unarmed_copies(const SessionState& state, FamilyId family, const Event& change) {
  constexpr std::size_t kNamed = 3;
  if (!change.before || !change.after) return {};
  const bool down = *change.after < *change.before;
  std::vector<std::string> copies;
  for (const Site& site : state.sites.all()) {
    const bool copy = site.inlined || (site.clone != CloneKind::whole && site.clone != CloneKind::cold);
    if (site.family != family || !site.current || site.why_not.empty() || !copy) continue;
    if (site.hits != 0 || (site.role == Role::put) != down || site.role == Role::free) continue;
    copies.push_back(site.inlined ? fmt::format("{} inlined in {}", site.function, site.inlined_into)
                                  : site.function);
  }
  if (copies.empty()) return {};
  return fmt::format("; it may have happened in a copy that is not armed: {}{}", some_of(copies, kNamed),
                     copies.size() > kNamed ? " (refhist status --sites)" : "");
}

/// A library of the system has called its own function for it.
bool is_made_inside(SessionState& state, const Object& object) {
  if (!object.born.valid()) return false;
  const std::vector<NamedFrame> frames = state.namer.stack(state.history.event(object.born).stack);
  return frames.size() > 1 && is_inside_library(frames[1]);
}

void add_unobserved(SessionState& state, const FindingFilter& filter, FindingList& all) {
  const History& history = state.history;
  for (const auto& [id, object] : history.objects()) {
    if (!object.moved_unobserved || !filter.wants(state.family_name(object.family))) continue;
    const std::vector<std::pair<EventId, Event>> life = history.life_of(id);
    // Behind a loss, the change may be one of the lost events.
    const auto seen = std::find_if(life.begin(), life.end(), [&](const auto& step) {
      const auto* next = &step + 1;
      const bool by_hand = next != life.data() + life.size() && is_put_by_hand(step.second, next->second);
      return step.second.unobserved && !history.lost_before(step.first) && !by_hand;
    });
    if (seen == life.end()) continue;
    const auto& [event, change] = *seen;
    const std::string copies = unarmed_copies(state, object.family, change);
    if (copies.empty() && is_made_inside(state, object)) continue;
    ReportedFinding finding;
    finding.verdict = Verdict::unobserved_change;
    finding.object = id;
    finding.event = event;
    finding.why = fmt::format("the count went from {} to {} without a probe{}", change.before.value_or(0),
                              change.after.value_or(0), copies);
    finding.fingerprint =
        fingerprint_of_doubt(state, Verdict::unobserved_change, object.family, "changed without a probe");
    all.add(std::move(finding));
  }
}

}  // namespace

bool is_held(const SessionState& state, const LeakGroup& group) {
  // What libraries, and an interpreter, register for themselves is theirs to keep.
  const bool program = group.born.module == state.program.executable && !group.born.file.empty();
  const bool own = program || !is_system_path(group.born.module);
  return own && group.held && group.verdict != Verdict::undecidable && state.scan.at_exit;
}

std::string held_text(const SessionState& state, const LeakGroup& group) {
  const auto found = state.scan.objects.find(group.objects.front());
  const std::string where = found == state.scan.objects.end() ? std::string() : found->second.where;
  return fmt::format("still held at the end{}, while {} born at the same place {} released",
                     where.empty() ? "" : " by " + where, group.clean_siblings,
                     group.clean_siblings == 1 ? "was" : "were");
}

bool FindingFilter::wants(const std::string& family) const {
  return families.empty() || std::any_of(families.begin(), families.end(),
                                         [&](const std::string& glob) { return glob_match(glob, family); });
}

std::vector<ReportedFinding> collect_findings(SessionState& state, const FindingFilter& filter) {
  FindingList all;
  add_seen(state, filter, all);
  add_leaks(state, filter, all);
  add_unobserved(state, filter, all);
  return all.take();
}

bool same_birth(const SessionState& state, ObjectId one, ObjectId other) {
  const EventId first = state.history.object(one).born;
  const EventId second = state.history.object(other).born;
  if (!first.valid() || !second.valid()) return first == second;
  const Event a = state.history.event(first);
  const Event b = state.history.event(second);
  return a.site == b.site && a.stack == b.stack;
}

std::string finding_title(SessionState& state, const ReportedFinding& finding) {
  const Object& object = state.history.object(finding.object);
  const std::string what =
      fmt::format("{} of {}", verdict_name(finding.verdict), state.family_name(object.family));
  if (!object.born.valid()) return what + ", born unseen";
  return fmt::format("{} born in {}", what,
                     FrameNamer::text(state.namer.owner(state.history.event(object.born))));
}

NamedFrame finding_place(SessionState& state, const ReportedFinding& finding) {
  for (const Suspect& suspect : finding.suspects) {
    if (!suspect.frame.file.empty()) return suspect.frame;
  }
  EventId event = finding.event;
  if (!event.valid() && !finding.references.empty()) event = finding.references.back();
  if (!event.valid() || !state.history.event(event).stack.valid())
    event = state.history.object(finding.object).born;
  return event.valid() ? state.namer.owner(state.history.event(event)) : NamedFrame{};
}

std::string dynamic_type(SessionState& state, ObjectId id) {
  const auto managed = state.managed.of(id);
  return managed ? short_name(managed->type) : std::string();
}

std::string managed_text(SessionState& state, ObjectId id) {
  const auto managed = state.managed.of(id);
  if (!managed || managed->address == state.history.object(id).address) return {};
  const std::string type = managed->type.empty() ? "an object" : short_name(managed->type);
  return managed->address == 0 ? type : fmt::format("{} at {:#x}", type, managed->address);
}

std::string object_title(SessionState& state, ObjectId id) {
  const Object& object = state.history.object(id);
  const std::string managed = managed_text(state, id);
  const std::string type = managed.empty() ? dynamic_type(state, id) : std::string();
  std::string text = fmt::format("{}{} {:#x}", state.family_name(object.family),
                                 type.empty() ? "" : fmt::format(" ({})", type), object.address);
  if (object.generation > 1) text += fmt::format(" (generation {})", object.generation);
  if (!managed.empty()) text += " of " + managed;
  return text;
}

std::string type_title(SessionState& state, FamilyId family, const std::vector<ObjectId>& objects) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> types;
  for (const ObjectId id : objects) {
    const std::string type = dynamic_type(state, id);
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    if (type.empty() || types.size() > kNamed) return state.family_name(family);
  }
  const bool block = state.families[family.index()].family.has_control_blocks();
  return fmt::format(fmt::runtime(block ? "{}<{}>" : "{} ({})"), state.family_name(family),
                     join(types, ", "));
}

std::string processes_text(const ReportedFinding& finding) {
  constexpr std::size_t kNamed = 5;
  if (finding.pids.empty()) return {};
  std::vector<std::string> pids;
  for (const auto pid : finding.pids) pids.push_back(std::to_string(pid));
  return fmt::format("{} {}", pids.size() == 1 ? "process" : "processes", some_of(pids, kNamed));
}

std::vector<std::string> caveats(SessionState& state) {
  if (state.opened) {
    std::vector<std::string> lines = state.opened->notes;
    lines.insert(lines.end(), state.warnings.begin(), state.warnings.end());
    return lines;
  }
  std::vector<std::string> lines = state.warnings;
  for (std::string& line : fold_notes(state)) lines.push_back(std::move(line));
  if (state.lost_hits != 0)
    lines.push_back(
        fmt::format("{} lost: totals and counts may be too low", plural(state.lost_hits, "event")));
  if (state.forks > state.followed_children) {
    const std::string followed =
        state.followed_children == 0
            ? "what its children do is not recorded"
            : fmt::format("{} of its children have sessions of their own, what the others do is not recorded",
                          state.followed_children);
    lines.push_back(fmt::format("the program forked {}: {}",
                                state.forks == 1 ? "once" : fmt::format("{} times", state.forks), followed));
  }
  if (state.agent.lost() != 0) {
    lines.push_back(
        fmt::format("{} in the program not recorded (too many at once, more threads than there is room for, "
                    "or the debugger was stopped): totals and counts may be too low",
                    plural(state.agent.lost(), "event")));
  }
  if (const auto damaged = state.agent.damaged(); damaged.any()) {
    const std::string repaired =
        damaged.words == 0 ? "" : fmt::format(", {} repaired", plural(damaged.words, "word"));
    lines.push_back(fmt::format(
        "the program has damaged refhist's memory: {} rejected{}: what was recorded may be wrong or missing",
        plural(damaged.records, "record"), repaired));
  }
  if (state.agent.undecided_puts() != 0) {
    lines.push_back(
        fmt::format("{} ran while other calls on the same object did not return in time: one of them may "
                    "have been a put to zero that no rule stopped at",
                    plural(state.agent.undecided_puts(), "put")));
  }
  for (const StopRule& rule : state.rules.all()) {
    if (rule.undecided == 0) continue;
    lines.push_back(fmt::format("rule {} ({}) could not check {}: events were lost meanwhile", rule.number,
                                rule.describe(), plural(rule.undecided, "call")));
  }
  if (state.agent.unwatched_events() != 0) {
    lines.push_back(fmt::format("stop rules missed {}: there were too many objects",
                                plural(state.agent.unwatched_events(), "event")));
  }
  if (!state.agent.why_not().empty())
    lines.push_back(fmt::format("nothing is recorded inside the program, only by breakpoints: {}",
                                state.agent.why_not()));
  if (state.runs != 0) {
    if (std::string gap = state.agent.quarantine_gap(); !gap.empty()) lines.push_back(std::move(gap));
  }
  std::map<std::string, std::size_t> copies;
  for (const Site& site : state.sites.all()) {
    if (site.current && !site.unloaded && !site.why_not.empty() && site.clone != CloneKind::cold)
      ++copies[state.family_name(site.family)];
  }
  for (const auto& [family, count] : copies) {
    lines.push_back(fmt::format("{}: {} of its functions not armed (refhist status --sites says why)", family,
                                count == 1 ? "1 copy" : fmt::format("{} copies", count)));
  }
  for (std::string& line : blind_spots(state)) lines.push_back(std::move(line));
  if (state.recorder.truncated_stacks() != 0) {
    lines.push_back(
        fmt::format("{} could not be walked to the end", plural(state.recorder.truncated_stacks(), "stack")));
  }
  if (state.recorder.excluded_calls() != 0) {
    lines.push_back(fmt::format("{} left out by --exclude", plural(state.recorder.excluded_calls(), "call")));
  }
  if (!state.recording) lines.emplace_back("recording is off (refhist start)");
  return lines;
}

}  // namespace refhist
