#include "explain/put_references.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/assignment.h"
#include "analysis/owners.h"
#include "base/error.h"
#include "reachability/reachability_places.h"

namespace refhist {

namespace {

constexpr std::size_t kMostChoices = 256;

/// How many the event took: a birth may begin with none.
std::int64_t references_of(const Event& event) {
  constexpr std::int64_t kMost = 8;
  if (event.role == Role::init) return event.after ? std::min(*event.after, kMost) : 1;
  return event.before && event.after ? std::clamp(*event.after - *event.before, std::int64_t{0}, kMost) : 1;
}

/// In one block, or one global variable.
bool lie_together(const NewHolder& one, const NewHolder& other) {
  if (!one.block.empty() || !other.block.empty()) return one.block.begin == other.block.begin;
  const auto variable = [](const NewHolder& word) {
    return word.where.substr(0, word.where.find_first_of("+ "));
  };
  return variable(one) == variable(other);
}

}  // namespace

NamedFrame PutReferences::named(const FollowedStep& step) const {
  for (const LoadedModule* loaded : state_.modules.all()) {
    if (step.pc < loaded->begin || step.pc >= loaded->end) continue;
    for (const NamedFrame& name : state_.namer.name(StackFrame{loaded->id, step.pc - loaded->bias, false})) {
      if (name.function != step.function) continue;
      NamedFrame frame = name;
      frame.file = step.file;  // of the instruction itself, where that has counted
      frame.line = step.line;
      return frame;
    }
  }
  return frame_of(step);
}

CallStack PutReferences::owners(const CallStack& stack, EventId id) {
  const Event event = state_.history.event(id);
  const auto find = [&](const NamedFrame& frame) {
    return std::find_if(stack.begin(), stack.end(), [&](const FollowedStep& step) {
      return step.function == frame.function && (frame.line == 0 || step.line == frame.line);
    });
  };
  const NamedFrame on_stack = state_.namer.owner(event);
  const NamedFrame owner = gives_back(event) ? finder_.owners().of(event).frame : on_stack;
  if (const auto found = find(owner); found != stack.end()) return {found, stack.end()};
  const auto caller = find(on_stack);
  CallStack from(caller == stack.end() ? stack.begin() : caller, stack.end());
  // It has jumped to what it called, and has no frame.
  if (caller != stack.end() && !owner.function.empty() && owner.function != caller->function)
    from.insert(from.begin(), step_of(owner));
  return from;
}

CallStack PutReferences::store_owners(const CallStack& stack) {
  const Event birth = state_.history.event(course_.moments.front().event);
  const auto found = std::find_if(stack.begin(), stack.end(), [&](const FollowedStep& step) {
    return !state_.namer.passes_on(birth, named(step));
  });
  return {found == stack.end() ? stack.begin() : found, stack.end()};
}

/// A word of a stack that another function than the frame's own has stored to: its address was handed out, so
/// that it is part of a structure.
bool PutReferences::passed_out(std::size_t span) const {
  const CallStack& stack = course_.spans[span].stored.steps;
  const Address at = course_.spans[span].word.at;
  // Frames lie one above the other: the innermost that ends above the word has it.
  const auto holder =
      std::find_if(stack.begin(), stack.end(), [at](const FollowedStep& step) { return step.frame > at; });
  if (holder == stack.end()) return false;
  return stack.front().frame != holder->frame;
}

bool PutReferences::may_have(const Put& put, std::size_t span) const {
  const NewHolder& word = course_.spans[span].word;
  if (!is_on_stack(word.where) || passed_out(span)) return true;
  // What its own frame has, and those inside of it, is its own variable.
  return !put.stack.empty() && put.stack.front().frame != 0 && word.at >= put.stack.front().frame;
}

/// At the put, or the last one before.
std::size_t PutReferences::moment_of(const Put& put) const {
  return std::min(put.at, course_.moments.size() - 1);
}

/// Words that pointed at the object at the put, of which the put's own frame has the address, or one a little
/// before it: the nearest.
std::optional<std::size_t> PutReferences::reached(const Put& put) const {
  const std::size_t moment = moment_of(put);
  std::optional<std::size_t> nearest;
  std::uint64_t least = 0;
  if (put.stack.empty()) return nearest;
  const auto& reaches = put.stack.front().reaches;
  for (std::size_t i = 0; i < course_.spans.size(); ++i) {
    const HeldSpan& span = course_.spans[i];
    const auto found = reaches.find(span.word.at);
    if (span.first > moment || span.last < moment || found == reaches.end() || !may_have(put, i)) continue;
    if (nearest && found->second >= least) continue;
    nearest = i;
    least = found->second;
  }
  return nearest;
}

std::optional<PutReferences::Source> PutReferences::loaded(const Put& put, const FollowedWay& way) const {
  if (put.stack.empty()) return std::nullopt;
  if (way.is_result) {
    // What returned it may have cleared a word that had it.
    const bool cleared = std::any_of(course_.spans.begin(), course_.spans.end(), [&](const HeldSpan& span) {
      return span.last + 1 == put.at && !is_on_stack(span.word.where);
    });
    return cleared ? std::nullopt : std::optional(Source());
  }
  if (way.loaded_from == 0) return std::nullopt;
  const std::size_t moment = moment_of(put);
  for (std::size_t i = 0; i < course_.spans.size(); ++i) {
    const HeldSpan& span = course_.spans[i];
    const bool there = span.first <= moment && span.last + 1 >= put.at;
    if (span.word.at != way.loaded_from || !there || moved_[i]) continue;
    if (stores_[i].empty()) return std::nullopt;
    return is_on_stack(span.word.where) && !passed_out(i) ? Source() : Source(i);
  }
  // By its code, it had it from memory before that.
  if (put.held == Held::memory) return std::nullopt;
  return is_of_stack(put.stack, way.loaded_from) ? std::optional(Source()) : std::nullopt;
}

/// What speaks against that the put took the pointer from the span; nothing when it did not.
std::optional<double> PutReferences::cost_of(const Put& put, std::size_t span) const {
  constexpr double kOther = 1;     // it has the address of another word that pointed there
  constexpr double kVariable = 2;  // by its code, the function had it in a variable
  const HeldSpan& held = course_.spans[span];
  const std::size_t last = course_.moments.size() - 1;
  if (moved_[span] || !may_have(put, span) || stores_[span].empty()) return std::nullopt;
  const auto near = reached(put);
  if (is_on_stack(held.word.where) && near != span && !passed_out(span)) return std::nullopt;
  const bool before = put.at <= last && held.last + 1 == put.at;  // cleared first
  const bool after = held.last == moment_of(put);
  const bool stays = near == span && put.held == Held::memory;
  if (!before && !after && !stays) return std::nullopt;
  double cost = near && near != span ? kOther : 0;
  if (put.held == Held::local || put.held == Held::argument) cost += kVariable;
  return cost + (before ? .5 : 0) + (stays && !after ? 1 : 0);
}

double PutReferences::cost_of_variable(const Put& put) {
  constexpr double kFromMemory = 6;
  constexpr double kUnknown = 2.5;
  return put.held == Held::memory ? kFromMemory : put.held == Held::unknown ? kUnknown : 0;
}

bool PutReferences::is_seen(const Put& put, std::size_t span) const {
  return put.loaded ? *put.loaded == span : put.held == Held::memory || reached(put) == span;
}

std::optional<std::size_t> PutReferences::shared_word(const Put& one, const Put& other) const {
  if (!one.loaded || !*one.loaded || other.loaded != one.loaded) return std::nullopt;
  const HeldSpan& span = course_.spans[**one.loaded];
  const bool stays = span.first <= moment_of(one) && span.last >= moment_of(other) && span.kept;
  return stays ? *one.loaded : std::nullopt;
}

PutReferences::Costs PutReferences::source_costs() const {
  const std::size_t spans = course_.spans.size();
  Costs costs;
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    std::vector<double> row(spans + puts_.size(), kImpossible);
    const auto& known = puts_[i].loaded;
    for (std::size_t k = 0; k < spans; ++k)
      row[k] = known ? (*known == k ? 0 : kImpossible) : cost_of(puts_[i], k).value_or(kImpossible);
    row[spans + i] = puts_[i].stack.empty() ? kImpossible / 2 : cost_of_variable(puts_[i]);
    if (known) row[spans + i] = *known ? kImpossible / 2 : 0;
    costs.push_back(std::move(row));
  }
  return costs;
}

/// Puts of one line have all their pointers from memory, or all from a variable.
void PutReferences::prefer_usual_sources(Costs& costs) const {
  constexpr double kOther = 3;
  constexpr int kKnown = 3;
  const std::size_t spans = course_.spans.size();
  const std::vector<std::size_t> columns = cheapest_assignment(costs);
  std::map<std::pair<std::string, unsigned>, int> from_memory;  // votes: below 0 for a variable
  const auto votes = [&](const Put& put) -> int& {
    return from_memory[{put.stack.front().function, put.stack.front().line}];
  };
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    if (puts_[i].stack.empty()) continue;
    const auto& known = puts_[i].loaded;
    const bool memory = known ? known->has_value() : columns[i] < spans;
    votes(puts_[i]) += (known ? kKnown : 1) * (memory ? 1 : -1);
  }
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    if (puts_[i].stack.empty() || puts_[i].loaded) continue;
    const int all = votes(puts_[i]);
    for (std::size_t k = 0; k < spans; ++k) costs[i][k] += all < 0 ? kOther : 0;
    costs[i][spans + i] += all > 0 ? kOther : 0;
  }
}

/// Each put has its word, or none: all of them at the least cost. What the last ones had is left open, where
/// several words still point at the object.
void PutReferences::find_sources() {
  const std::size_t spans = course_.spans.size();
  const std::size_t last = course_.moments.size() - 1;
  Costs costs = source_costs();
  prefer_usual_sources(costs);
  const std::vector<std::size_t> columns = cheapest_assignment(costs);
  const auto chosen = [&](std::size_t put) { return columns[put] < spans ? Source(columns[put]) : Source(); };
  std::set<Source> used;
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    if (puts_[i].at < last) used.insert(chosen(i));
  }
  const auto is_sure = [&](std::size_t put) {
    const Source source = chosen(put);
    const auto& known = puts_[put].loaded;
    return known ? *known == source : source && reached(puts_[put]) == *source;
  };
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    Put& put = puts_[i];
    if (put.at < last || is_sure(i)) {
      put.sources = {chosen(i)};
      continue;
    }
    for (std::size_t k = 0; k < spans; ++k) {
      if (costs[i][k] < kImpossible && !used.contains(k)) put.sources.emplace_back(k);
    }
    if (!put.stack.empty()) put.sources.emplace_back();
  }
  // Of two puts in a row, either may have had the word that was cleared between them.
  for (std::size_t i = 0; i + 1 < puts_.size(); ++i) {
    for (const auto& [one, other] : {std::pair(i, i + 1), std::pair(i + 1, i)}) {
      const Source source = chosen(one);
      const bool open = source && !puts_[one].stack.empty() && !is_sure(one) && !chosen(other) &&
                        puts_[one].sources.size() == 1 && puts_[other].sources.size() == 1 &&
                        costs[other][*source] < kImpossible;
      if (!open) continue;
      puts_[one].sources.emplace_back();
      puts_[other].sources.emplace_back(source);
    }
  }
}

// In an array whose members move up, or whose block grows.
void PutReferences::find_moved() {
  const std::vector<HeldSpan>& spans = course_.spans;
  moved_.assign(spans.size(), false);
  stores_.resize(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const HeldSpan& later = spans[i];
    stores_[i] = store_owners(later.stored.steps);
    for (std::size_t k = 0; k < i; ++k) {
      const HeldSpan& earlier = spans[k];
      const bool open = !moved_[k] && earlier.last + 1 == later.first && !is_on_stack(earlier.word.where);
      if (!open || !puts_from(state_, course_, earlier).empty()) continue;
      const bool in_block = lie_together(earlier.word, later.word);
      const bool grown = !in_block && !earlier.word.block.empty() && !later.word.block.empty() &&
                         later.word.at - later.word.block.begin == earlier.word.at - earlier.word.block.begin;
      const bool put = gives_back(state_.history.event(course_.moments[earlier.last].event)) ||
                       gives_back(state_.history.event(course_.moments[later.first].event));
      if (!(in_block || grown) || (put && !in_block)) continue;
      moved_[k] = true;
      stores_[i] = stores_[k];
      break;
    }
  }
}

void PutReferences::add_failing(const FailingPut& failing) {
  Put put{std::nullopt, failing.stack, course_.moments.size(), failing.usual, failing.held, {}, {}};
  if (course_.behind) {
    const Event event = state_.history.event(course_.behind->event);
    if (CallStack stack = owners(course_.behind->at.steps, course_.behind->event); !stack.empty())
      put.stack = std::move(stack);
    put.usual = finder_.pairs().is_usual_put(event);
    put.held = finder_.pairs().held(event);
    put.loaded = loaded(put, course_.behind->at);
  }
  puts_.push_back(std::move(put));
}

PutReferences::PutReferences(SessionState& state, LeakFinder& finder, const PutCourse& course,
                             const FailingPut* failing)
    : state_(state), finder_(finder), course_(course) {
  const std::size_t count = course_.moments.size();
  find_moved();
  for (std::size_t i = 0; i < count; ++i) {
    const PutMoment& moment = course_.moments[i];
    const Event event = state_.history.event(moment.event);
    CallStack stack = owners(moment.at.steps, moment.event);
    if (stack.empty()) fail("the stack of event #{} is not known", moment.event.value);
    if (acquires(event)) {
      for (std::int64_t k = references_of(event); k > 0; --k)
        taken_.push_back({stack, i, finder_.pairs().held(event) == Held::memory});
      continue;
    }
    EventPairs& pairs = finder_.pairs();
    Put put{moment.event, std::move(stack), i, pairs.is_usual_put(event), pairs.held(event), {}, {}};
    put.loaded = loaded(put, moment.at);
    puts_.push_back(std::move(put));
  }
  if (failing != nullptr) add_failing(*failing);
  if (taken_.empty()) fail("no reference to it was seen being taken");
  if (puts_.size() != taken_.size() + (failing == nullptr ? 0 : 1)) fail("its gets and puts do not add up");
  find_sources();
}

std::vector<std::vector<PutReferences::Source>> PutReferences::choices() const {
  std::vector<std::vector<Source>> all{{}};
  for (const Put& put : puts_) {
    std::vector<std::vector<Source>> more;
    for (const std::vector<Source>& begun : all) {
      for (const Source& source : put.sources) {
        if (source && std::find(begun.begin(), begun.end(), source) != begun.end()) continue;
        more.push_back(begun);
        more.back().push_back(source);
      }
    }
    all = std::move(more);
    if (all.size() > kMostChoices) fail("too many words of memory may have been put from");
  }
  return all;
}

std::vector<GivenReference> PutReferences::given_by(const std::vector<Source>& sources) const {
  constexpr double kUsual = 6;       // that a put which others have as well had no reference
  constexpr double kFromMemory = 3;  // that what came from memory, by the code, came from a variable
  std::vector<GivenReference> given;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Put& put = puts_[i];
    if (const Source& source = sources[i]) {
      const HeldSpan& span = course_.spans[*source];
      given.push_back({stores_[*source], span.first == 0 ? 0 : span.first - 1, true, 0, 0});
    } else {
      given.push_back(
          {put.stack, put.at, false, put.held == Held::memory ? kFromMemory : 0, put.usual ? kUsual : 0});
    }
  }
  return given;
}

FailingPut failing_put(SessionState& state, LeakFinder& finder, EventId put) {
  FailingPut failing;
  const Event event = state.history.event(put);
  const NamedFrame owner = state.namer.owner(event);
  bool begun = false;
  for (const NamedFrame& frame : state.namer.stack(event.stack)) {
    begun |= frame.function == owner.function && frame.line == owner.line;
    if (begun && !frame.function.empty()) failing.stack.push_back(step_of(frame));
  }
  failing.usual = finder.pairs().is_usual_put(event);
  failing.held = finder.pairs().held(event);
  return failing;
}

}  // namespace refhist
