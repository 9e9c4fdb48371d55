#include "explain/over_put.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/assignment.h"
#include "analysis/frame_module.h"
#include "analysis/owners.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/short_name.h"
#include "reachability/reachability_places.h"

namespace refhist {

namespace {

constexpr std::size_t kMostChoices = 256;
constexpr double kMargin = kFrameCost + 1;  // that the next best explanation must cost more

/// How many the event took: a birth may begin with none.
std::int64_t references_of(const Event& event) {
  constexpr std::int64_t kMost = 8;
  if (event.role == Role::init) return event.after ? std::min(*event.after, kMost) : 1;
  return event.before && event.after ? std::clamp(*event.after - *event.before, std::int64_t{0}, kMost) : 1;
}

class Judge {
 public:
  Judge(SessionState& state, LeakFinder& finder, const PutCourse& course, const FailingPut& failing)
      : state_(state), finder_(finder), course_(course), failing_(failing) {}

  OverPut judge();

 private:
  /// Where it had the pointer: the number of a span; none: in a variable of its function.
  using Source = std::optional<std::size_t>;
  struct Put {
    std::optional<EventId> event;  ///< none: the failing one
    CallStack stack;
    std::size_t at = 0;
    bool usual = false;  ///< objects without a mistake have such ones, too
    Held held = Held::unknown;
    std::vector<Source> sources;
  };

  [[nodiscard]] NamedFrame named(const FollowedStep& step) const;
  CallStack owners(const CallStack& stack, EventId event);
  CallStack store_owners(const CallStack& stack);
  void collect();
  void find_moved();
  [[nodiscard]] bool passed_out(std::size_t span) const;
  [[nodiscard]] bool may_have(const Put& put, std::size_t span) const;
  [[nodiscard]] std::size_t moment_of(const Put& put) const;
  [[nodiscard]] std::optional<std::size_t> reached(const Put& put) const;
  [[nodiscard]] std::optional<double> cost_of(const Put& put, std::size_t span) const;
  [[nodiscard]] static double cost_of_variable(const Put& put);
  void find_sources();
  struct Found {
    PutMatch match;
    std::vector<Source> sources;  ///< of each put
  };
  /// Each possible way, of which the last puts may have several.
  [[nodiscard]] std::vector<std::vector<Source>> choices() const;
  [[nodiscard]] std::vector<GivenReference> given_by(const std::vector<Source>& sources) const;
  void find_all(const std::vector<Source>& sources);
  struct Alike {
    const CallStack& store;
    const CallStack& taken;
  };
  [[nodiscard]] std::vector<Alike> stored_alike(const Found& found, std::size_t span) const;
  [[nodiscard]] static bool taken_for_call(const Alike& one);
  [[nodiscard]] std::size_t blamed_depth(const Found& found, std::size_t span) const;
  [[nodiscard]] const FollowedStep& blamed(const Found& found) const;
  [[nodiscard]] std::string place_of(const Found& found) const;
  [[nodiscard]] std::string why_not(const Found& found);
  [[nodiscard]] bool has_members(const Found& found) const;
  [[nodiscard]] bool takes_beside_birth() const;
  [[nodiscard]] std::string unknown_store() const;
  [[nodiscard]] bool taken_elsewhere(const Found& found, std::size_t span) const;
  [[nodiscard]] std::string why_not_extra(const Found& found);
  [[nodiscard]] std::string taken_text(std::size_t taken) const;
  [[nodiscard]] std::string given_text(const Put& put) const;
  [[nodiscard]] std::vector<TracedReference> references(const Found& found) const;
  [[nodiscard]] Suspect suspect(const Found& found) const;

  SessionState& state_;
  LeakFinder& finder_;
  const PutCourse& course_;
  const FailingPut& failing_;
  std::vector<bool> moved_;  ///< of each span: another one has taken its pointer over
  std::vector<TakenReference> taken_;
  std::vector<Put> puts_;
  std::vector<CallStack> stores_;  ///< of each span
  std::vector<Found> found_;       ///< the cheapest, for each that may be without a reference
};

NamedFrame Judge::named(const FollowedStep& step) const {
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

CallStack Judge::owners(const CallStack& stack, EventId id) {
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

CallStack Judge::store_owners(const CallStack& stack) {
  const Event birth = state_.history.event(course_.moments.front().event);
  const auto found = std::find_if(stack.begin(), stack.end(), [&](const FollowedStep& step) {
    return !state_.namer.passes_on(birth, named(step));
  });
  return {found == stack.end() ? stack.begin() : found, stack.end()};
}

/// A word of a stack that another function than the frame's own has stored to: its address was handed out, so
/// that it is part of a structure.
bool Judge::passed_out(std::size_t span) const {
  const CallStack& stack = course_.spans[span].stored.steps;
  const Address at = course_.spans[span].word.at;
  // Frames lie one above the other: the innermost that ends above the word has it.
  const auto holder =
      std::find_if(stack.begin(), stack.end(), [at](const FollowedStep& step) { return step.frame > at; });
  if (holder == stack.end()) return false;
  auto function = holder;  // of the frame; before it, what was inlined into that
  while (std::next(function) != stack.end() && std::next(function)->frame == holder->frame) ++function;
  return stack.front().function != function->function;
}

bool Judge::may_have(const Put& put, std::size_t span) const {
  const NewHolder& word = course_.spans[span].word;
  if (!is_on_stack(word.where) || passed_out(span)) return true;
  // What its own frame has, and those inside of it, is its own variable.
  return !put.stack.empty() && put.stack.front().frame != 0 && word.at >= put.stack.front().frame;
}

/// At the put, or the last one before.
std::size_t Judge::moment_of(const Put& put) const { return std::min(put.at, course_.moments.size() - 1); }

/// Words that pointed at the object at the put, of which the put's own frame has the address, or one a little
/// before it: the nearest.
std::optional<std::size_t> Judge::reached(const Put& put) const {
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

/// What speaks against that the put took the pointer from the span; nothing when it did not.
std::optional<double> Judge::cost_of(const Put& put, std::size_t span) const {
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

double Judge::cost_of_variable(const Put& put) {
  constexpr double kFromMemory = 6;
  constexpr double kUnknown = 2.5;
  return put.held == Held::memory ? kFromMemory : put.held == Held::unknown ? kUnknown : 0;
}

/// Each put has its word, or none: all of them at the least cost. What the last ones had is left open, where
/// several words still point at the object.
void Judge::find_sources() {
  constexpr double kNever = 1e6;
  const std::size_t spans = course_.spans.size();
  const std::size_t last = course_.moments.size() - 1;
  std::vector<std::vector<double>> costs;
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    std::vector<double> row(spans + puts_.size(), kNever);
    for (std::size_t k = 0; k < spans; ++k) row[k] = cost_of(puts_[i], k).value_or(kNever);
    row[spans + i] = puts_[i].stack.empty() ? kNever / 2 : cost_of_variable(puts_[i]);
    costs.push_back(std::move(row));
  }
  const std::vector<std::size_t> columns = cheapest_assignment(costs);
  const auto chosen = [&](std::size_t put) { return columns[put] < spans ? Source(columns[put]) : Source(); };
  std::set<Source> used;
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    if (puts_[i].at < last) used.insert(chosen(i));
  }
  const auto is_sure = [&](std::size_t put) {
    const Source source = chosen(put);
    return source && reached(puts_[put]) == *source;
  };
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    Put& put = puts_[i];
    if (put.at < last || is_sure(i)) {
      put.sources = {chosen(i)};
      continue;
    }
    for (std::size_t k = 0; k < spans; ++k) {
      if (costs[i][k] < kNever && !used.contains(k)) put.sources.emplace_back(k);
    }
    if (!put.stack.empty()) put.sources.emplace_back();
  }
  // Of two puts in a row, either may have had the word that was cleared between them.
  for (std::size_t i = 0; i + 1 < puts_.size(); ++i) {
    for (const auto& [one, other] : {std::pair(i, i + 1), std::pair(i + 1, i)}) {
      const Source source = chosen(one);
      const bool open = source && !puts_[one].stack.empty() && !is_sure(one) && !chosen(other) &&
                        puts_[one].sources.size() == 1 && puts_[other].sources.size() == 1 &&
                        costs[other][*source] < kNever;
      if (!open) continue;
      puts_[one].sources.emplace_back();
      puts_[other].sources.emplace_back(source);
    }
  }
}

// In an array whose members move up, or whose block grows.
void Judge::find_moved() {
  const std::vector<HeldSpan>& spans = course_.spans;
  moved_.assign(spans.size(), false);
  stores_.resize(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const HeldSpan& later = spans[i];
    stores_[i] = store_owners(later.stored.steps);
    for (std::size_t k = 0; k < i; ++k) {
      const HeldSpan& earlier = spans[k];
      if (moved_[k] || earlier.last + 1 != later.first || earlier.word.block.empty()) continue;
      const bool in_block = earlier.word.block.begin == later.word.block.begin;
      const bool grown = !in_block && !later.word.block.empty() &&
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

void Judge::collect() {
  const std::size_t count = course_.moments.size();
  find_moved();
  for (std::size_t i = 0; i < count; ++i) {
    const PutMoment& moment = course_.moments[i];
    const Event event = state_.history.event(moment.event);
    CallStack stack = owners(moment.at.steps, moment.event);
    if (stack.empty()) fail("the stack of event #{} is not known", moment.event.value);
    if (acquires(event)) {
      for (std::int64_t k = references_of(event); k > 0; --k) taken_.push_back({stack, i});
      continue;
    }
    puts_.push_back({moment.event,
                     std::move(stack),
                     i,
                     finder_.pairs().is_usual_put(event),
                     finder_.pairs().held(event),
                     {}});
  }
  Put failing{std::nullopt, failing_.stack, count, failing_.usual, failing_.held, {}};
  if (course_.behind) {
    const Event event = state_.history.event(course_.behind->event);
    if (CallStack stack = owners(course_.behind->at.steps, course_.behind->event); !stack.empty())
      failing.stack = std::move(stack);
    failing.usual = finder_.pairs().is_usual_put(event);
    failing.held = finder_.pairs().held(event);
  }
  puts_.push_back(std::move(failing));
  if (taken_.empty()) fail("no reference to it was seen being taken");
  if (puts_.size() != taken_.size() + 1) fail("its gets and puts do not add up");
  find_sources();
}

std::vector<std::vector<Judge::Source>> Judge::choices() const {
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

std::vector<GivenReference> Judge::given_by(const std::vector<Source>& sources) const {
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

void Judge::find_all(const std::vector<Source>& sources) {
  const std::vector<GivenReference> given = given_by(sources);
  std::vector<bool> forbidden(given.size());
  while (auto match = match_puts(taken_, given, forbidden)) {
    forbidden[match->unmatched] = true;
    found_.push_back({std::move(*match), sources});
  }
}

/// What was stored on the same line as the span's pointer, and had a reference.
std::vector<Judge::Alike> Judge::stored_alike(const Found& found, std::size_t span) const {
  std::vector<Alike> alike;
  const FollowedStep& own = stores_[span].front();
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    const auto taken = found.match.taken[i];
    const Source& source = found.sources[i];
    if (!taken || !source || stores_[*source].empty()) continue;
    const FollowedStep& other = stores_[*source].front();
    if (other.function == own.function && other.line == own.line && own.line != 0)
      alike.push_back({stores_[*source], taken_[*taken].stack});
  }
  return alike;
}

/// The reference was taken on the line of the call that stored the pointer.
bool Judge::taken_for_call(const Alike& one) {
  const std::size_t inside = depth_inside(one.store, one.taken);
  const std::size_t behind = depth_inside(one.taken, one.store);
  return inside > 0 && inside < one.store.size() && behind < one.taken.size() &&
         one.store[inside].line == one.taken[behind].line;
}

/// How many frames around the store take the reference for it, as others that were stored there show.
std::size_t Judge::blamed_depth(const Found& found, std::size_t span) const {
  std::size_t depth = 0;
  for (const Alike& one : stored_alike(found, span)) {
    if (taken_for_call(one)) depth = std::max(depth, depth_inside(one.store, one.taken));
  }
  return std::min(depth, stores_[span].size() - 1);
}

const FollowedStep& Judge::blamed(const Found& found) const {
  const Source& source = found.sources[found.match.unmatched];
  return source ? stores_[*source][blamed_depth(found, *source)] : puts_[found.match.unmatched].stack.front();
}

std::string Judge::place_of(const Found& found) const {
  const FollowedStep& step = blamed(found);
  return fmt::format("{} {}:{} {:x}", found.sources[found.match.unmatched].has_value(), step.function,
                     step.line, step.line == 0 ? step.pc : 0);
}

/// A structure on a stack may have had the pointer.
bool Judge::has_members(const Found& found) const {
  const Put& put = puts_[found.match.unmatched];
  for (std::size_t i = 0; i < course_.spans.size(); ++i) {
    const HeldSpan& span = course_.spans[i];
    const std::size_t moment = moment_of(put);
    const bool then = span.first <= moment && span.last + 1 >= moment && is_on_stack(span.word.where);
    const bool known = std::find(found.sources.begin(), found.sources.end(), i) != found.sources.end();
    if (then && !known) return true;
  }
  return false;
}

/// What keeps a put from being one too many in its place.
std::string Judge::why_not_extra(const Found& found) {
  const Put& put = puts_[found.match.unmatched];
  const std::string name = short_name(put.stack.front().function);
  if (put.usual) return fmt::format("the put in {} is one that correct objects have, too", name);
  if (put.held == Held::memory || has_members(found))
    return fmt::format("from where {} had the pointer was not seen", name);
  const FamilyId family = state_.history.object(course_.object).family;
  if (put.held == Held::argument && !finder_.may_keep(named(put.stack.front()), family))
    return fmt::format("{} gives back what it is given on each path, as far as that is known", name);
  if (put.held != Held::argument && finder_.gets_from_callee(put.stack.front().function, family))
    return fmt::format("{} calls functions that take a reference for it", name);
  const CallStack& ends = puts_[puts_.size() - 2].stack;
  const bool beside = std::any_of(ends.begin(), ends.end(), [&](const FollowedStep& step) {
    return step.function == put.stack.front().function;
  });
  if (!put.event && !beside) return fmt::format("the put in {} came last", name);
  return {};
}

/// A word that the puts may have been from, and nobody knows who stored the pointer there.
std::string Judge::unknown_store() const {
  for (std::size_t i = 0; i < course_.spans.size(); ++i) {
    if (stores_[i].empty() && !moved_[i] && !is_on_stack(course_.spans[i].word.where))
      return fmt::format("what stored the pointer in {} was not seen", course_.spans[i].word.where);
  }
  return {};
}

/// What others stored on the same line had a reference that was taken elsewhere: inside of a call before, or
/// by who called for it.
bool Judge::taken_elsewhere(const Found& found, std::size_t span) const {
  const std::vector<Alike> alike = stored_alike(found, span);
  return std::any_of(alike.begin(), alike.end(), [](const Alike& one) {
    return depth_inside(one.taken, one.store) > 0 ||
           (depth_inside(one.store, one.taken) > 0 && !taken_for_call(one));
  });
}

/// The function that has made the object has taken other references to it, too.
bool Judge::takes_beside_birth() const {
  const std::string& maker = taken_.front().stack.front().function;
  return std::any_of(taken_.begin(), taken_.end(), [&](const TakenReference& taken) {
    return taken.at != 0 && taken.stack.front().function == maker;
  });
}

/// What keeps the place from being named.
std::string Judge::why_not(const Found& found) {
  const double most = found.match.cost + kMargin;
  const std::string place = place_of(found);
  const bool others = std::any_of(found_.begin(), found_.end(), [&](const Found& other) {
    return other.match.cost < most && place_of(other) != place;
  });
  if (others) return "more than one of its references may be the one that nothing had taken";
  const Put& put = puts_[found.match.unmatched];
  if (put.stack.empty()) return "it was used after its end, and not put";
  if (const std::string unknown = unknown_store(); !unknown.empty()) return unknown;
  if (!found.sources[found.match.unmatched]) return why_not_extra(found);
  const std::size_t span = *found.sources[found.match.unmatched];
  if (is_on_stack(course_.spans[span].word.where)) return "it was kept in a structure on a stack";
  const std::string& putting = put.stack.front().function;
  if (blamed_depth(found, span) == 0 && finder_.puts_births(course_.moments.front().event, putting) &&
      !takes_beside_birth())
    return fmt::format("{} usually gives back the reference that the object was born with",
                       short_name(putting));
  const FollowedStep& step = blamed(found);
  if (taken_elsewhere(found, span))
    return fmt::format("who should have taken the reference that {} stored is not known",
                       short_name(stores_[span].front().function));
  const bool takes = std::any_of(taken_.begin(), taken_.end(), [&](const TakenReference& taken) {
    return taken.stack.front().function == step.function && taken.stack.front().line == step.line;
  });
  return takes ? fmt::format("{} takes references on the line that stored the pointer",
                             short_name(step.function))
               : std::string();
}

std::string Judge::taken_text(std::size_t taken) const {
  const Event event = state_.history.event(course_.moments[taken_[taken].at].event);
  return fmt::format("{} in {}", role_name(event.role), FrameNamer::text(state_.namer.owner(event)));
}

std::string Judge::given_text(const Put& put) const {
  if (put.stack.empty()) return {};
  const std::string where = FrameNamer::text(named(put.stack.front()));
  return "put in " + where;
}

std::vector<TracedReference> Judge::references(const Found& found) const {
  std::vector<TracedReference> all;
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    TracedReference reference;
    if (const auto taken = found.match.taken[i]) reference.taken = taken_text(*taken);
    if (const Source& source = found.sources[i])
      reference.stored = fmt::format("{}, stored in {}", course_.spans[*source].word.where,
                                     FrameNamer::text(named(stores_[*source].front())));
    reference.given = given_text(puts_[i]);
    all.push_back(std::move(reference));
  }
  return all;
}

Suspect Judge::suspect(const Found& found) const {
  const Source& source = found.sources[found.match.unmatched];
  const std::string put = given_text(puts_[found.match.unmatched]);
  Suspect suspect;
  suspect.frame = named(blamed(found));
  suspect.confidence = "confirmed";
  suspect.what = source ? "missing get" : "extra put";
  suspect.why =
      source
          ? fmt::format("in another run, the pointer was stored in {} here without a reference of its own{}",
                        course_.spans[*source].word.where,
                        put.empty() ? "" : fmt::format(", and the {} gives one back", put))
          : "in another run, each reference was given back by what had it, and none was left for this put";
  if (suspect.frame.line == 0 && !suspect.frame.function.empty())
    suspect.frame.offset = offset_in_function(state_.modules, suspect.frame);
  return suspect;
}

OverPut Judge::judge() {
  collect();
  for (const std::vector<Source>& sources : choices()) {
    Interruption::check([] { return std::string("matching references with puts"); });
    find_all(sources);
  }
  const auto best = std::min_element(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
    return a.match.cost < b.match.cost;
  });
  if (best == found_.end()) fail("no way was found to match its references");
  OverPut result;
  result.references = references(*best);
  result.why_not = why_not(*best);
  if (result.why_not.empty()) result.suspect = suspect(*best);
  return result;
}

}  // namespace

OverPut judge_over_put(SessionState& state, LeakFinder& finder, const PutCourse& course,
                       const FailingPut& failing) {
  OverPut result;
  result.why_not = course.why_not;
  if (!result.why_not.empty()) return result;
  try {
    return Judge(state, finder, course, failing).judge();
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    result.why_not = error.what();
    return result;
  }
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
