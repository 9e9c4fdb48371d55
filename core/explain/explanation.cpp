#include "explain/explanation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "analysis/helper_frames.h"
#include "analysis/jump_statement.h"
#include "analysis/owners.h"
#include "base/interruption.h"
#include "base/scratch_folder.h"
#include "base/short_name.h"
#include "base/source_lines.h"
#include "base/text.h"
#include "explain/correct_siblings.h"
#include "explain/follow_orders.h"
#include "explain/known_pairs.h"
#include "explain/loss_place.h"
#include "explain/loss_runs.h"
#include "explain/over_put.h"
#include "explain/put_runs.h"
#include "explain/twin_objects.h"
#include "reachability/reachability_places.h"
#include "reports/findings.h"
#include "store/session_reader.h"

namespace refhist {

namespace {

using Line = std::pair<std::string, unsigned>;

constexpr std::array<std::string_view, 5> kDeciding{"if", "while", "for", "switch", "case"};
constexpr std::array<std::string_view, 3> kDecidingSigns{" ? ", "&&", "||"};

Line line_of(const FollowedStep& step) { return {step.file, step.line}; }

/// Steps until the way comes back to where it began: what follows is about the next reference.
std::size_t one_round(const FollowedWay& way) {
  for (std::size_t i = 2; i < way.steps.size(); ++i) {
    if (line_of(way.steps[i]) == line_of(way.steps.front())) return i;
  }
  return way.steps.size();
}

/// Nothing when the source is not there.
std::optional<std::string> source_of(const std::string& file, unsigned line) {
  const std::vector<std::string> source = source_lines(file);
  return line == 0 || line > source.size() ? std::nullopt : std::optional(source[line - 1]);
}

/// The line has a statement that leaves: its source is there, and says so.
bool leaves(const std::string& file, unsigned line) {
  return has_way_out(source_of(file, line).value_or(""));
}

/// By its source, the line puts something somewhere; also where no source is there.
bool assigns(const FollowedStep& step) {
  const auto text = source_of(step.file, step.line);
  return !text || text->find('=') != std::string::npos;
}

/// In its last round a way comes to the head of the loop, where the other one went on to the next reference.
std::size_t until_head(const FollowedWay& way, std::size_t end, const FollowedWay& kept,
                       std::size_t kept_end) {
  if (kept_end == kept.steps.size()) return end;
  const Line head = line_of(kept.steps[kept_end - 1]);
  for (std::size_t i = 1; i < end; ++i) {
    if (line_of(way.steps[i]) == head) return i + 1;
  }
  return end;
}

std::set<Line> lines_of(const FollowedWay& way, std::size_t steps) {
  std::set<Line> lines;
  for (std::size_t i = 0; i < steps; ++i) lines.insert(line_of(way.steps[i]));
  return lines;
}

/// How often a way passes the line in so many steps.
std::size_t times(const FollowedWay& way, std::size_t steps, const Line& line) {
  const auto end = way.steps.begin() + static_cast<std::ptrdiff_t>(steps);
  return static_cast<std::size_t>(
      std::count_if(way.steps.begin(), end, [&](const FollowedStep& step) { return line_of(step) == line; }));
}

/// Lines that either way has passed.
std::set<unsigned> compiled_lines(const FollowedWay& lost, const FollowedWay& kept, const std::string& file) {
  std::set<unsigned> compiled;
  for (const FollowedWay* way : {&lost, &kept}) {
    for (const FollowedStep& step : way->steps) {
      if (step.file == file) compiled.insert(step.line);
    }
  }
  return compiled;
}

/// The line of a jump without code behind the step; else the step's own.
unsigned line_behind(const FollowedStep& step, const FollowedWay& lost, const FollowedWay& kept) {
  return JumpStatements()
      .behind(step.file, step.line, compiled_lines(lost, kept, step.file))
      .value_or(step.line);
}

/// `line` is the step's, or that of a jump without code behind it, which becomes a step of its own.
void set_confirmed(Explanation& explanation, std::size_t step, unsigned line, std::string what,
                   std::string why) {
  std::vector<FollowedStep>& steps = explanation.lost.steps;
  if (line != steps[step].line) {
    const FollowedStep jump{steps[step].function, steps[step].file, line, {}, {}};
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(++step), jump);
  }
  Suspect suspect{frame_of(steps[step]), std::move(what), "confirmed", std::move(why)};
  for (const FollowedStep& passed : steps) suspect.way.push_back(frame_of(passed));
  explanation.confirmed = std::move(suspect);
  explanation.step = step;
}

/// The pointer was the only one, and was overwritten where it was kept, or freed with the memory there.
void confirm_replaced(Explanation& explanation) {
  const FollowedWay& lost = explanation.lost;
  const FollowedStep& step = lost.steps[*lost.replaced];
  set_confirmed(explanation, *lost.replaced, step.line, lost.freed ? "missing put" : "overwritten",
                fmt::format("in the second run, the reference taken on line {} was kept in {} until {} {}, "
                            "and nothing gave it back",
                            lost.steps.front().line, lost.kept_in, short_name(step.function),
                            lost.freed ? "freed that memory" : "put something else there"));
}

/// The last steps of the way, in the function where it ended, and where they begin.
std::pair<FollowedWay, std::size_t> last_part(const FollowedWay& way) {
  std::size_t begin = way.steps.size();
  while (begin > 0 && way.steps[begin - 1].function == way.function) --begin;
  FollowedWay part = way;
  part.steps.erase(part.steps.begin(), part.steps.begin() + static_cast<std::ptrdiff_t>(begin));
  return {std::move(part), begin};
}

/// Later in the same call more was given back than was taken in that line again: it may have been this one.
bool gives_back_later(const FollowedWay& lost) {
  std::int64_t more = 0;
  for (std::size_t i = 0; i < lost.steps.size(); ++i) {
    const bool again = i > 0 && line_of(lost.steps[i]) == line_of(lost.steps.front());
    for (const FollowedEvent& event : lost.steps[i].events) {
      if (event.role == Role::put) ++more;
      if (again && (event.role == Role::get || event.role == Role::try_get)) --more;
    }
  }
  return more > 0;
}

void confirm_parted(Explanation& explanation) {
  const auto [lost, begin] = last_part(explanation.lost);
  const std::string name = short_name(lost.function);
  if (gives_back_later(lost)) {
    explanation.why_not = fmt::format("this call of {} gave a reference back, too", name);
    return;
  }
  const auto kept = std::find_if(explanation.kept.begin(), explanation.kept.end(),
                                 [&, &last = lost](const FollowedWay& way) {
                                   return way.function == last.function && way.whole() && way.gives_back();
                                 });
  if (kept == explanation.kept.end()) {
    explanation.why_not = fmt::format(
        "nothing had the pointer any more when {} returned, and no call of it that gives such a reference "
        "back was found to compare with",
        name);
    return;
  }
  explanation.compared = static_cast<std::size_t>(kept - explanation.kept.begin());
  const auto part = parting(lost, *kept);
  if (!part) {
    explanation.why_not = fmt::format(
        "nothing had the pointer any more when {} returned, and a call that gave it back does not show where "
        "the two paths part for it",
        name);
    return;
  }
  const unsigned put =
      std::find_if(kept->steps.begin(), kept->steps.end(), std::mem_fn(&FollowedStep::gives_back))->line;
  const std::string what = part->taken_again ? "took the next one before it had given this one back"
                                             : "left on this path without giving it back";
  set_confirmed(explanation, begin + part->step, part->line, "missing put",
                fmt::format("in the second run, {} had the reference on line {} and {}, and nothing else had "
                            "it then; another call gave it back on line {}",
                            name, lost.steps.front().line, what, put));
}

/// It tells its caller of an error: then it may be for that one to give back what it has handed in.
bool fails_to_take(const SessionState& state, const FollowedWay& way, const LossPlace& place) {
  constexpr std::array<std::string_view, 8> kErrors{"false", "FALSE", "NULL", "nullptr",
                                                    "error", "err",   "-1",   "-E"};
  const FollowedStep& step = way.steps[place.step];
  const std::string text = source_of(step.file, place.line).value_or("");
  if (std::none_of(kErrors.begin(), kErrors.end(),
                   [&](std::string_view word) { return text.find(word) != std::string::npos; }))
    return false;
  const auto signature = HelperFrames(state.modules).signature(frame_of(step));
  if (!signature) return way.last_use->calls.size() > 1;  // inlined: what it has may be its caller's
  return std::any_of(
      signature->parameters.begin(), signature->parameters.end(),
      [&](const Parameter& parameter) { return way.last_use->variables.contains(parameter.name); });
}

void explain_loss(Explanation& explanation, SessionState& state, EventId begun, const FollowedWay& way) {
  explanation.lost = way;
  explanation.taken = begun;
  explanation.function = state.namer.owner(state.history.event(begun)).function;
}

/// Where the last pointer to the object went, from its last event on. False when that does not show.
bool judge_loss(Explanation& explanation, SessionState& state, EventId begun, const FollowedWay& way) {
  if (!way.why_not.empty()) return false;
  if (way.replaced) {
    const FollowedStep& step = way.steps[*way.replaced];
    if (is_of_unknown_use(way.kept_in) || !(way.freed || assigns(step))) return false;
    explain_loss(explanation, state, begun, way);
    set_confirmed(
        explanation, *way.replaced, step.line, way.freed ? "missing put" : "overwritten",
        fmt::format("in another run, the last pointer to it was in {} until {} {}", way.kept_in,
                    short_name(step.function), way.freed ? "freed that memory" : "put something else there"));
    return true;
  }
  const auto place = loss_place(way);
  if (!place || (!place->overwritten && fails_to_take(state, way, *place))) return false;
  explain_loss(explanation, state, begun, way);
  set_confirmed(explanation, place->step, place->line, place->overwritten ? "overwritten" : "missing put",
                fmt::format("in another run, nothing used the pointer after line {}, and it is {} here",
                            place->used, place->overwritten ? "overwritten" : "dropped"));
  explanation.confirmed->frame.function = place->function;
  return true;
}

/// Fills in what the ways show.
void judge(Explanation& explanation) {
  const FollowedWay& lost = explanation.lost;
  const std::string name = short_name(lost.function.empty() ? explanation.function : lost.function);
  if (!lost.why_not.empty()) {
    explanation.why_not = lost.why_not;
  } else if (lost.end == FollowedWay::End::running && !lost.kept_in.empty()) {
    explanation.why_not =
        fmt::format("nothing has overwritten the pointer in {}, where it was kept", lost.kept_in);
  } else if (lost.end != FollowedWay::End::returned) {
    explanation.why_not = fmt::format("the call of {} did not return", name);
  } else if (!lost.holders_known) {
    explanation.why_not = "whether the reference was passed on could not be seen";
  } else if (!lost.holders.empty()) {
    explanation.why_not = fmt::format("{} has passed it on: {} pointed at the object when it returned", name,
                                      lost.holders.front().where);
  } else if (lost.replaced && std::any_of(lost.steps.begin() + static_cast<std::ptrdiff_t>(*lost.replaced),
                                          lost.steps.end(), std::mem_fn(&FollowedStep::gives_back))) {
    explanation.why_not =
        fmt::format("{}, which took the pointer out of {}, gave a reference back", name, lost.kept_in);
  } else if (lost.replaced && is_of_unknown_use(lost.kept_in)) {
    explanation.why_not = fmt::format(
        "the pointer was in {}, and whether that was still in use when it was overwritten is not known",
        lost.kept_in);
  } else if (lost.replaced && !lost.freed && !assigns(lost.steps[*lost.replaced])) {
    explanation.why_not = fmt::format("the code that overwrote the pointer in {} was inlined into line {}",
                                      lost.kept_in, lost.steps[*lost.replaced].line);
  } else if (lost.replaced) {
    confirm_replaced(explanation);
  } else {
    confirm_parted(explanation);
  }
}

constexpr std::size_t kMostLines = 30;  // of a way that are shown

/// The lines of a way, the first round of each function's, with a mark at one step.
std::string marked(const FollowedWay& way, std::optional<std::size_t> at) {
  FollowedWay shown = way;
  if (!at && !way.steps.empty() && way.steps.front().function == way.function)
    shown.steps.resize(one_round(way));
  if (at && way.steps[*at].function == way.steps.front().function)
    shown.steps.resize(std::min(way.steps.size(), std::max(one_round(way), *at + 1)));
  std::string text;
  std::size_t step = 0;
  std::size_t lines = 0;
  for (const std::string& line : split(shown.text(), '\n')) {
    if (line.empty()) continue;
    const bool is_step =
        line.find_first_not_of(' ') < 8 && line.find_first_of("0123456789") == line.find_first_not_of(' ');
    const bool mark = is_step && at && step == *at;
    if (is_step) ++step;
    if (++lines > kMostLines && !mark) continue;
    text += fmt::format("  {}{}\n", mark ? "->" : "  ", line);
  }
  if (lines > kMostLines) text += fmt::format("           and {} more lines\n", lines - kMostLines);
  return text;
}

/// The line has a statement that decides how it goes on; also where no source is there.
bool decides(const FollowedStep& step) {
  const auto text = source_of(step.file, step.line);
  if (!text) return true;
  return std::any_of(kDeciding.begin(), kDeciding.end(),
                     [&](std::string_view word) { return has_whole_word(*text, word); }) ||
         std::any_of(kDecidingSigns.begin(), kDecidingSigns.end(),
                     [&](std::string_view sign) { return text->find(sign) != std::string::npos; });
}

/// No line tells the ways apart: it is how often a loop is passed, or a branch around the put.
std::optional<Parting> parted_without_lines(const FollowedWay& lost, const FollowedWay& kept,
                                            std::pair<std::size_t, std::size_t> ends) {
  const auto [end, kept_end] = ends;
  // A loop that gives back behind its end, and not in each round.
  if (end < lost.steps.size() && kept_end == kept.steps.size()) {
    // The next one took its place.
    const auto later = lost.steps.begin() + static_cast<std::ptrdiff_t>(end) + 1;
    const bool replaced =
        std::all_of(later, lost.steps.end(), [](const FollowedStep& step) { return step.in_hand == false; });
    if (!lost.steps[end - 1].in_hand.value_or(false) || !replaced) return std::nullopt;
    return Parting{end, lost.steps[end].line, true};
  }
  std::size_t same = 0;
  while (same < std::min(end, kept_end) && line_of(lost.steps[same]) == line_of(kept.steps[same])) ++same;
  if (same == 0 || same == std::max(end, kept_end) ||
      times(kept, kept_end, line_of(lost.steps[same - 1])) > 1 ||
      times(lost, end, line_of(lost.steps[same - 1])) > 1)
    return std::nullopt;
  const FollowedStep& branch = lost.steps[same - 1];
  if (!branch.in_hand.value_or(false) || !decides(branch)) return std::nullopt;
  return Parting{same - 1, line_behind(branch, lost, kept), false};
}

/// A loop is passed again behind the step.
bool goes_back(const FollowedWay& way, std::size_t step) {
  const FollowedStep& next = way.steps[step + 1];
  return next.file == way.steps[step].file && next.line < way.steps[step].line;
}

std::set<Line> lines_behind(const FollowedWay& way, std::size_t step, std::size_t end) {
  std::set<Line> lines;
  for (std::size_t i = step + 1; i < end; ++i) lines.insert(line_of(way.steps[i]));
  return lines;
}

/// The way gives back behind the line where another one parts from it, and before it comes to what that has
/// in common with it again.
bool gives_back_between(const FollowedWay& kept, const Line& branch, const std::set<Line>& common) {
  bool behind = false;
  for (const FollowedStep& step : kept.steps) {
    if (behind && step.gives_back()) return true;
    if (behind && common.contains(line_of(step))) return false;
    behind |= line_of(step) == branch;
  }
  return false;
}

/// A way that parts before step `first` and goes on elsewhere than behind the branch: the jump there, without
/// code of its own.
std::optional<unsigned> jump_to(const FollowedWay& lost, const FollowedWay& kept, std::size_t first) {
  const FollowedStep& branch = lost.steps[first - 1];
  const FollowedStep& next = lost.steps[first];
  if (branch.file != next.file || branch.function != next.function) return std::nullopt;
  const std::set<unsigned> compiled = compiled_lines(lost, kept, branch.file);
  const auto behind = compiled.upper_bound(branch.line);
  if (behind == compiled.end() || *behind == next.line) return std::nullopt;
  return JumpStatements().behind(branch.file, branch.line, compiled);
}

}  // namespace

std::optional<Parting> parting(const FollowedWay& lost, const FollowedWay& kept) {
  const std::size_t kept_end = one_round(kept);
  const std::size_t end = until_head(lost, one_round(lost), kept, kept_end);
  const auto rounds_end = lost.steps.begin() + static_cast<std::ptrdiff_t>(end);
  if (lost.steps.empty() ||
      std::any_of(lost.steps.begin(), rounds_end, std::mem_fn(&FollowedStep::gives_back)))
    return std::nullopt;
  const std::set<Line> common = lines_of(kept, kept_end);
  const auto is_own = [&](std::size_t step) { return !common.contains(line_of(lost.steps[step])); };
  std::size_t first = 0;
  while (first < end && !is_own(first)) ++first;
  if (first == 0) return std::nullopt;
  if (first == end) return parted_without_lines(lost, kept, {end, kept_end});
  // The pointer was still there when they parted.
  if (!lost.steps[first - 1].in_hand.value_or(false)) return std::nullopt;
  std::size_t last = first;
  while (last + 1 < end && is_own(last + 1) && !goes_back(lost, last)) ++last;
  if (!gives_back_between(kept, line_of(lost.steps[first - 1]), lines_behind(lost, last, end)))
    return std::nullopt;
  // Which turn of a loop has lost it cannot be told.
  if (times(lost, end, line_of(lost.steps[last])) > 1) return std::nullopt;
  if (const auto jump = jump_to(lost, kept, first)) return Parting{first - 1, *jump, false};
  const unsigned line = line_behind(lost.steps[last], lost, kept);
  // Where it goes on to the common end, any of several lines may be the one that lost it.
  if (last > first && !leaves(lost.steps[last].file, line)) return std::nullopt;
  return Parting{last, line, false};
}

namespace {

struct Ordered {
  std::optional<std::size_t> lost;  ///< none: that is known
  std::vector<std::size_t> kept;
};

Ordered order(LeakFinder& finder, const Explanation& explanation, const LostCall& call,
              FollowOrders& orders) {
  constexpr std::size_t kMostKept = 3;
  Ordered ordered;
  if (!explanation.confirmed) ordered.lost = orders.add(call.taken, call.function, Follow::pointer);
  std::vector<std::string> functions{call.function};
  functions.insert(functions.end(), call.outer.begin(), call.outer.end());
  for (const std::string& function : functions) {
    if (ordered.kept.size() == kMostKept) break;
    if (explanation.confirmed && function != explanation.confirmed->frame.function) continue;
    const EventId kept = finder.kept_call(explanation.object, call, function);
    if (kept.valid()) ordered.kept.push_back(orders.add(kept, function, Follow::call));
  }
  return ordered;
}

/// Beside the confirmed way one is shown that gave such a reference back.
void compare(Explanation& explanation) {
  const std::vector<FollowedWay>& kept = explanation.kept;
  const auto found = std::find_if(kept.begin(), kept.end(),
                                  [](const FollowedWay& way) { return way.whole() && way.gives_back(); });
  if (found != kept.end()) explanation.compared = static_cast<std::size_t>(found - kept.begin());
}

/// What the way shows of where the reference has gone.
void explain_call(Explanation& explanation, const SessionState& state, FollowedWay lost) {
  explanation.lost = std::move(lost);
  if (explanation.lost.why_not.empty() && !same_course(state, explanation.object, explanation.lost)) {
    explanation.why_not =
        "in the second run, other events followed the one that took it: the program is not deterministic";
  } else {
    judge(explanation);
  }
}

/// Calls that gave such a reference back; and the one that lost it, where that is not known yet.
void follow_calls(SessionState& state, LeakFinder& finder, std::vector<Explanation>& all,
                  const SecondRun& second) {
  const ScratchFolder scratch;
  FollowOrders orders(state, scratch.path());
  std::vector<std::optional<Ordered>> ordered(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].object.valid()) continue;
    const auto call = finder.lost_call(all[i].object);
    if (!call) {
      if (!all[i].confirmed) all[i].why_not = "it is not known which of its references was lost";
      continue;
    }
    if (!all[i].confirmed) {
      all[i].taken = call->taken;
      all[i].function = call->function;
    }
    ordered[i] = order(finder, all[i], *call, orders);
  }
  if (orders.words().empty()) return;
  try {
    second.run(orders.words());
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    const bool any = std::any_of(all.begin(), all.end(), [](const Explanation& one) {
      return one.confirmed.has_value() || !one.references.empty();
    });
    if (!any) throw;  // what other runs have shown stays
    for (Explanation& one : all) {
      if (one.object.valid() && !one.confirmed) one.why_not = error.what();
    }
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!ordered[i]) continue;
    for (const std::size_t number : ordered[i]->kept) all[i].kept.push_back(orders.way(number));
    if (ordered[i]->lost) {
      explain_call(all[i], state, orders.way(*ordered[i]->lost));
    } else {
      compare(all[i]);
    }
  }
}

/// What is to be explained of an object.
struct Wanted {
  ObjectId object;
  bool over_put = false;  ///< else a leak
  FailingPut failing;
};

/// One line a reference: where it was taken, what kept it, and what gave it back.
std::string references_text(const std::vector<TracedReference>& references) {
  std::string text;
  for (const TracedReference& one : references) {
    text += fmt::format("    {}\n", one.taken.empty() ? "without a reference" : "taken: " + one.taken);
    if (!one.stored.empty()) text += fmt::format("      kept in {}\n", one.stored);
    if (!one.given.empty()) text += fmt::format("      given back: {}\n", one.given);
  }
  return text.empty() ? text : "  the references to it, in another run:\n" + text;
}

/// More was given back than had been taken.
bool is_deficit(Verdict verdict) {
  return verdict == Verdict::over_put || verdict == Verdict::use_after_free;
}

/// A put that comes too late may fail before it counts.
bool puts(SessionState& state, EventId id) {
  const Event event = state.history.event(id);
  if (gives_back(event)) return true;
  const std::vector<NamedFrame> stack = state.namer.stack(event.stack);
  return std::any_of(stack.begin(), stack.end(),
                     [&](const NamedFrame& frame) { return state.namer.is_put(frame.function); });
}

Wanted wanted(SessionState& state, LeakFinder& finder, ObjectId object) {
  Wanted wanted{object, false, {}};
  for (const Finding& finding : state.history.findings()) {
    if (finding.object != object || !is_deficit(finding.verdict) || wanted.over_put) continue;
    wanted.over_put = true;
    if (finding.event.valid() && puts(state, finding.event))
      wanted.failing = failing_put(state, finder, finding.event);
  }
  return wanted;
}

/// Invalid objects stay unexplained.
std::vector<ObjectId> chosen(const std::vector<Wanted>& all, bool over_puts) {
  std::vector<ObjectId> objects;
  objects.reserve(all.size());
  for (const Wanted& one : all) objects.push_back(one.over_put == over_puts ? one.object : ObjectId());
  return objects;
}

/// What correct objects show of the ways of those that more than one place may explain.
KnownPairs known_pairs(SessionState& state, LeakFinder& finder, const std::vector<ObjectId>& unclear,
                       const SecondRun& second) {
  constexpr std::size_t kMostOfEach = 3;
  constexpr std::size_t kMostSiblings = 12;
  KnownPairs known;
  std::vector<ObjectId> siblings;
  for (const ObjectId object : unclear) {
    for (const ObjectId sibling : correct_siblings(state, finder, object, kMostOfEach)) {
      const bool is_new = std::find(siblings.begin(), siblings.end(), sibling) == siblings.end();
      if (is_new && siblings.size() < kMostSiblings) siblings.push_back(sibling);
    }
  }
  if (siblings.empty()) return known;
  try {
    for (const PutCourse& course : put_courses(state, siblings, second))
      learn_from(state, finder, course, known);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {  // what other runs have shown stays
  }
  return known;
}

void explain_over_puts(SessionState& state, LeakFinder& finder, const std::vector<Wanted>& wanted,
                       const SecondRun& second, std::vector<Explanation>& all) {
  std::vector<PutCourse> courses;
  std::string why_not;
  try {
    courses = put_courses(state, chosen(wanted, true), second);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {  // what other runs have shown stays
    why_not = error.what();
  }
  std::vector<OverPut> judged(all.size());
  std::vector<ObjectId> unclear;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!wanted[i].over_put) continue;
    judged[i].why_not = why_not;
    if (!why_not.empty()) continue;
    judged[i] = judge_over_put(state, finder, courses[i], wanted[i].failing, {});
    if (judged[i].unclear) unclear.push_back(wanted[i].object);
  }
  const KnownPairs known = known_pairs(state, finder, unclear, second);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!wanted[i].over_put) continue;
    if (judged[i].unclear && !known.empty())
      judged[i] = judge_over_put(state, finder, courses[i], wanted[i].failing, known);
    all[i].references = std::move(judged[i].references);
    all[i].confirmed = std::move(judged[i].suspect);
    all[i].why_not = std::move(judged[i].why_not);
  }
}

std::vector<Explanation> follow_all(SessionState& state, const std::vector<Wanted>& wanted,
                                    const SecondRun& second) {
  std::vector<Explanation> all(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].over_put) all[i].object = wanted[i].object;
    if (!wanted[i].object.valid()) all[i].why_not = kNoTwin;
  }
  LeakFinder finder = state.leak_finder();
  explain_over_puts(state, finder, wanted, second, all);
  follow_losses(state, finder, chosen(wanted, false), second,
                [&](std::size_t object, EventId begun, const FollowedWay& way) {
                  return judge_loss(all[object], state, begun, way);
                });
  follow_calls(state, finder, all, second);
  for (std::size_t i = 0; i < wanted.size(); ++i) all[i].object = wanted[i].object;
  return all;
}

/// Where objects lie elsewhere in each run, one that moves none comes first, and the next one follows it.
std::vector<Explanation> follow_twins(SessionState& state, const std::vector<Wanted>& wanted,
                                      const SecondRun& second) {
  const ScratchFolder scratch;
  const std::string history = scratch.path() + "/again.rh";
  second.run({}, history);
  SessionState again;
  SessionReader(history).open(again);
  std::vector<ObjectId> objects;
  for (const Wanted& one : wanted) objects.push_back(one.object);
  const std::vector<ObjectId> twins = twins_of(state, objects, again);
  std::vector<Wanted> in_again = wanted;
  for (std::size_t i = 0; i < twins.size(); ++i) in_again[i].object = twins[i];
  std::vector<Explanation> all = follow_all(again, in_again, second);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    Explanation& explanation = all[i];
    explanation.object = objects[i];
    if (explanation.taken.valid())
      explanation.taken = event_in_history(state, objects[i], number_in_history(again, explanation.taken));
  }
  return all;
}

}  // namespace

std::vector<Explanation> explain(SessionState& state, const std::vector<ObjectId>& objects,
                                 const SecondRun& second) {
  std::vector<Wanted> wanted;
  LeakFinder finder = state.leak_finder();
  for (const ObjectId object : objects) wanted.push_back(refhist::wanted(state, finder, object));
  std::vector<Explanation> all = second.moves_objects()
                                     ? follow_twins(state, wanted, second.without_quarantine())
                                     : follow_all(state, wanted, second);
  for (const Explanation& explanation : all) {
    std::erase_if(state.confirmed,
                  [&](const ConfirmedPlace& place) { return place.object == explanation.object; });
    if (explanation.confirmed) state.confirmed.push_back({explanation.object, *explanation.confirmed});
  }
  return all;
}

std::vector<ObjectId> explainable(SessionState& state, std::size_t most) {
  LeakFinder finder = state.leak_finder();
  std::vector<ObjectId> objects;
  const std::size_t for_leaks = most / 2;
  for (const ReportedFinding& finding : collect_findings(state, {})) {
    const bool known = std::find(objects.begin(), objects.end(), finding.object) != objects.end();
    if (is_deficit(finding.verdict) && !known && objects.size() < most - for_leaks)
      objects.push_back(finding.object);
  }
  for (const LeakGroup& group : finder.find(state.scan.objects)) {
    const bool reachable = group.reach_known && group.reach == Reach::reachable;
    if (objects.size() == most || group.consequence || reachable || group.verdict != Verdict::leak) continue;
    const auto found = std::find_if(group.objects.begin(), group.objects.end(),
                                    [&](ObjectId id) { return finder.lost_call(id).has_value(); });
    objects.push_back(found == group.objects.end() ? group.objects.front() : *found);
  }
  return objects;
}

std::string Explanation::text(SessionState& state) const {
  std::string text = object_title(state, object) + "\n";
  if (!lost.steps.empty())
    text += fmt::format("  the reference of event #{}, which nothing gave back, in {}:\n{}", taken.value,
                        short_name(function), marked(lost, step));
  text += references_text(references);
  if (compared)
    text += fmt::format("  another call of {}, with {:#x}, gave it back:\n{}",
                        short_name(kept[*compared].function), kept[*compared].object,
                        marked(kept[*compared], std::nullopt));
  if (confirmed) return text + fmt::format("  confirmed: {}\n", confirmed->text());
  return text + fmt::format("  not confirmed: {}\n", why_not);
}

}  // namespace refhist
