#include "explain/over_put.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analysis/frame_module.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/short_name.h"
#include "base/source_lines.h"
#include "reachability/reachability_places.h"

namespace refhist {

namespace {

constexpr const char* kUnclear = "more than one of its references may be the one that nothing had taken";
constexpr double kMargin = kFrameCost + 1;  // that the next best explanation must cost more

class Judge {
 public:
  Judge(SessionState& state, LeakFinder& finder, const PutCourse& course, const FailingPut& failing,
        const KnownPairs& known)
      : state_(state),
        finder_(finder),
        course_(course),
        seen_(state, finder, course, &failing),
        known_(known) {}

  OverPut judge();

 private:
  using Source = PutReferences::Source;
  using Put = PutReferences::Put;
  struct Found {
    PutMatch match;
    std::vector<Source> sources;  ///< of each put
  };
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
  [[nodiscard]] Suspect confirmed(const FollowedStep& step, const char* what, std::string why) const;
  [[nodiscard]] Suspect suspect(const Found& found) const;
  /// Two puts from one word, with no reference taken between them.
  struct Twice {
    std::size_t first = 0;  ///< puts
    std::size_t second = 0;
    std::size_t span = 0;
  };
  [[nodiscard]] std::optional<Twice> put_twice(const Found& found) const;
  [[nodiscard]] bool explained_otherwise(const Found& found, const std::optional<Twice>& twice) const;
  [[nodiscard]] std::optional<Suspect> suspect(const Twice& twice) const;
  /// A put that seems to have had its pointer from a variable, and others on its line from memory.
  [[nodiscard]] const Put* mixed_source(const Found& found) const;
  [[nodiscard]] const Put* without_its_word(const Found& found) const;
  static std::string not_seen(const Put& put);
  static bool moves_variable(const FollowedStep& step);
  [[nodiscard]] std::string why_not_stored(const Found& found, std::size_t span);

  SessionState& state_;
  LeakFinder& finder_;
  const PutCourse& course_;
  const PutReferences seen_;
  const KnownPairs& known_;
  std::vector<Found> found_;  ///< the cheapest, for each that may be without a reference
};

void Judge::find_all(const std::vector<Source>& sources) {
  std::vector<std::vector<double>> costs = known_.costs(seen_, sources);
  while (auto match = match_puts(costs, seen_.taken().size())) {
    costs[*match->unmatched].back() = kImpossible;
    found_.push_back({std::move(*match), sources});
  }
}

/// What was stored on the same line as the span's pointer, and had a reference.
std::vector<Judge::Alike> Judge::stored_alike(const Found& found, std::size_t span) const {
  std::vector<Alike> alike;
  const FollowedStep& own = seen_.stored(span).front();
  for (std::size_t i = 0; i < seen_.puts().size(); ++i) {
    const auto taken = found.match.taken[i];
    const Source& source = found.sources[i];
    if (!taken || !source || seen_.stored(*source).empty()) continue;
    const FollowedStep& other = seen_.stored(*source).front();
    if (same_line(other, own)) alike.push_back({seen_.stored(*source), seen_.taken()[*taken].stack});
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
  return std::min(depth, seen_.stored(span).size() - 1);
}

const FollowedStep& Judge::blamed(const Found& found) const {
  const Source& source = found.sources[*found.match.unmatched];
  return source ? seen_.stored(*source)[blamed_depth(found, *source)]
                : seen_.puts()[*found.match.unmatched].stack.front();
}

std::string Judge::place_of(const Found& found) const {
  return fmt::format("{} {}", found.sources[*found.match.unmatched].has_value(), line_key(blamed(found)));
}

/// A structure on a stack may have had the pointer.
bool Judge::has_members(const Found& found) const {
  const Put& put = seen_.puts()[*found.match.unmatched];
  for (std::size_t i = 0; i < course_.spans.size(); ++i) {
    const HeldSpan& span = course_.spans[i];
    const std::size_t moment = seen_.moment_of(put);
    const bool then = span.first <= moment && span.last + 1 >= moment && is_on_stack(span.word.where);
    const bool known = std::find(found.sources.begin(), found.sources.end(), i) != found.sources.end();
    if (then && !known) return true;
  }
  return false;
}

/// What keeps a put from being one too many in its place.
std::string Judge::why_not_extra(const Found& found) {
  const Put& put = seen_.puts()[*found.match.unmatched];
  const std::string name = short_name(put.stack.front().function);
  if (put.usual) return fmt::format("the put in {} is one that correct objects have, too", name);
  if (put.held == Held::memory || has_members(found)) return not_seen(put);
  const FamilyId family = state_.history.object(course_.object).family;
  if (put.held == Held::argument && !finder_.may_keep(seen_.named(put.stack.front()), family))
    return fmt::format("{} gives back what it is given on each path, as far as that is known", name);
  if (put.held != Held::argument && finder_.gets_from_callee(put.stack.front().function, family))
    return fmt::format("{} calls functions that take a reference for it", name);
  const CallStack& ends = seen_.puts()[seen_.puts().size() - 2].stack;
  const bool beside = std::any_of(ends.begin(), ends.end(), [&](const FollowedStep& step) {
    return step.function == put.stack.front().function;
  });
  if (!put.event && !beside) return fmt::format("the put in {} came last", name);
  return {};
}

/// A word that the puts may have been from, and nobody knows who stored the pointer there.
std::string Judge::unknown_store() const {
  for (std::size_t i = 0; i < course_.spans.size(); ++i) {
    if (seen_.stored(i).empty() && !seen_.moved(i) && !is_on_stack(course_.spans[i].word.where))
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
  const std::string& maker = seen_.taken().front().stack.front().function;
  return std::any_of(seen_.taken().begin(), seen_.taken().end(), [&](const TakenReference& taken) {
    return taken.at != 0 && taken.stack.front().function == maker;
  });
}

std::optional<Judge::Twice> Judge::put_twice(const Found& found) const {
  const std::size_t extra = *found.match.unmatched;
  const auto taken_between = [&](const Put& one, const Put& other) {
    return std::any_of(seen_.taken().begin(), seen_.taken().end(),
                       [&](const TakenReference& taken) { return taken.at > one.at && taken.at < other.at; });
  };
  std::optional<Twice> twice;
  for (std::size_t i = 0; i < seen_.puts().size(); ++i) {
    const auto [first, second] = std::minmax(i, extra);
    const auto span =
        first == second ? std::nullopt : seen_.shared_word(seen_.puts()[first], seen_.puts()[second]);
    if (!span) continue;
    // Whoever puts from there again and again does not have the reference that was stored with it.
    if (twice || taken_between(seen_.puts()[first], seen_.puts()[second])) return std::nullopt;
    twice = Twice{first, second, *span};
  }
  return twice;
}

bool Judge::explained_otherwise(const Found& found, const std::optional<Twice>& twice) const {
  const double most = found.match.cost + kMargin;
  const std::string place = place_of(found);
  return std::any_of(found_.begin(), found_.end(), [&](const Found& other) {
    const bool same =
        twice && (other.match.unmatched == twice->first || other.match.unmatched == twice->second);
    return other.match.cost < most && !same && place_of(other) != place;
  });
}

/// Puts of one line have all their pointers from memory, or all from a variable.
const Judge::Put* Judge::mixed_source(const Found& found) const {
  const auto from_memory = [&](const Put& put, std::size_t other) {
    const CallStack& stack = seen_.puts()[other].stack;
    const Source& source = found.sources[other];
    return !stack.empty() && same_line(stack.front(), put.stack.front()) && source &&
           !is_on_stack(course_.spans[*source].word.where);
  };
  for (std::size_t i = 0; i < seen_.puts().size(); ++i) {
    const Put& put = seen_.puts()[i];
    if (found.sources[i] || put.stack.empty() || put.loaded) continue;
    for (std::size_t other = 0; other < seen_.puts().size(); ++other) {
      if (from_memory(put, other)) return &put;
    }
  }
  return nullptr;
}

std::string Judge::not_seen(const Put& put) {
  return fmt::format("from where {} had the pointer was not seen", short_name(put.stack.front().function));
}

/// A put whose word another one has taken.
const Judge::Put* Judge::without_its_word(const Found& found) const {
  for (std::size_t i = 0; i < seen_.puts().size(); ++i) {
    const Put& put = seen_.puts()[i];
    if (put.loaded && *put.loaded && !found.sources[i]) return &put;
  }
  return nullptr;
}

/// What keeps the place from being named.
std::string Judge::why_not(const Found& found) {
  if (explained_otherwise(found, std::nullopt)) return kUnclear;
  if (const Put* put = without_its_word(found)) return not_seen(*put);
  if (const Put* mixed = mixed_source(found)) return not_seen(*mixed);
  if (seen_.puts()[*found.match.unmatched].stack.empty()) return "it was used after its end, and not put";
  if (std::string unknown = unknown_store(); !unknown.empty()) return unknown;
  const Source& source = found.sources[*found.match.unmatched];
  return source ? why_not_stored(found, *source) : why_not_extra(found);
}

/// `slot = std::move(pointer)`: whoever has made that pointer may have had to take the reference.
bool Judge::moves_variable(const FollowedStep& step) {
  const std::vector<std::string> lines = source_lines(step.file);
  return step.line != 0 && step.line <= lines.size() &&
         lines[step.line - 1].find("std::move(") != std::string::npos;
}

/// What keeps the store of the span's pointer from being one without a reference.
std::string Judge::why_not_stored(const Found& found, std::size_t span) {
  const Put& put = seen_.puts()[*found.match.unmatched];
  if (!seen_.is_seen(put, span)) return not_seen(put);
  if (is_on_stack(course_.spans[span].word.where)) return "it was kept in a structure on a stack";
  const std::string& putting = put.stack.front().function;
  if (blamed_depth(found, span) == 0 && finder_.puts_births(course_.moments.front().event, putting) &&
      !takes_beside_birth())
    return fmt::format("{} usually gives back the reference that the object was born with",
                       short_name(putting));
  const std::string& storing = seen_.stored(span).front().function;
  if (finder_.gets_from_callee(storing, state_.history.object(course_.object).family))
    return fmt::format("{} calls functions that take a reference for it", short_name(storing));
  if (taken_elsewhere(found, span))
    return fmt::format("who should have taken the reference that {} stored is not known",
                       short_name(storing));
  const FollowedStep& step = blamed(found);
  if (moves_variable(step))
    return fmt::format("{} moved the pointer there from a variable", short_name(step.function));
  const bool takes =
      std::any_of(seen_.taken().begin(), seen_.taken().end(),
                  [&](const TakenReference& taken) { return same_line(taken.stack.front(), step); });
  return takes ? fmt::format("{} takes references on the line that stored the pointer",
                             short_name(step.function))
               : std::string();
}

std::string Judge::taken_text(std::size_t taken) const {
  const Event event = state_.history.event(course_.moments[seen_.taken()[taken].at].event);
  return fmt::format("{} in {}", role_name(event.role), FrameNamer::text(state_.namer.owner(event)));
}

std::string Judge::given_text(const Put& put) const {
  if (put.stack.empty()) return {};
  const std::string where = FrameNamer::text(seen_.named(put.stack.front()));
  return "put in " + where;
}

std::vector<TracedReference> Judge::references(const Found& found) const {
  std::vector<TracedReference> all;
  for (std::size_t i = 0; i < seen_.puts().size(); ++i) {
    TracedReference reference;
    if (const auto taken = found.match.taken[i]) reference.taken = taken_text(*taken);
    if (const Source& source = found.sources[i])
      reference.stored = fmt::format("{}, stored in {}", course_.spans[*source].word.where,
                                     FrameNamer::text(seen_.named(seen_.stored(*source).front())));
    reference.given = given_text(seen_.puts()[i]);
    all.push_back(std::move(reference));
  }
  return all;
}

Suspect Judge::confirmed(const FollowedStep& step, const char* what, std::string why) const {
  Suspect suspect{seen_.named(step), what, "confirmed", std::move(why)};
  if (suspect.frame.line == 0 && !suspect.frame.function.empty())
    suspect.frame.offset = offset_in_function(state_.modules, suspect.frame);
  return suspect;
}

Suspect Judge::suspect(const Found& found) const {
  const Source& source = found.sources[*found.match.unmatched];
  if (!source)
    return confirmed(blamed(found), "extra put",
                     "in another run, each reference was given back by what had it, and none was left for "
                     "this put");
  const std::string put = given_text(seen_.puts()[*found.match.unmatched]);
  return confirmed(
      blamed(found), "missing get",
      fmt::format("in another run, the pointer was stored in {} here without a reference of its own{}",
                  course_.spans[*source].word.where,
                  put.empty() ? "" : fmt::format(", and the {} gives one back", put)));
}

std::optional<Suspect> Judge::suspect(const Twice& twice) const {
  const Put& put = seen_.puts()[twice.first];
  if (!put.event) return std::nullopt;
  // Whatever has called the family's put had the word, and did not clear it.
  const CallStack& steps = course_.moments[put.at].at.steps;
  const auto caller = std::find_if(steps.begin(), steps.end(), [&](const FollowedStep& step) {
    return !state_.namer.is_put(step.function);
  });
  if (caller == steps.end()) return std::nullopt;
  return confirmed(
      *caller, "extra put",
      fmt::format(
          "in another run, the pointer stayed in {} after this put, and the {} gave it back once more",
          course_.spans[twice.span].word.where, given_text(seen_.puts()[twice.second])));
}

OverPut Judge::judge() {
  for (const std::vector<Source>& sources : seen_.choices()) {
    Interruption::check([] { return std::string("matching references with puts"); });
    find_all(sources);
  }
  const auto best = std::min_element(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
    return a.match.cost < b.match.cost;
  });
  if (best == found_.end()) fail("no way was found to match its references");
  OverPut result;
  result.references = references(*best);
  if (const auto twice = put_twice(*best); twice && !explained_otherwise(*best, twice))
    result.suspect = suspect(*twice);
  if (result.suspect) return result;
  result.why_not = why_not(*best);
  result.unclear = result.why_not == kUnclear;
  if (result.why_not.empty()) result.suspect = suspect(*best);
  return result;
}

}  // namespace

void learn_from(SessionState& state, LeakFinder& finder, const PutCourse& correct, KnownPairs& known) {
  if (!correct.why_not.empty()) return;
  try {
    known.learn(PutReferences(state, finder, correct, nullptr));
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {  // its references are not known
  }
}

OverPut judge_over_put(SessionState& state, LeakFinder& finder, const PutCourse& course,
                       const FailingPut& failing, const KnownPairs& known) {
  OverPut result;
  result.why_not = course.why_not;
  if (!result.why_not.empty()) return result;
  try {
    return Judge(state, finder, course, failing, known).judge();
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    result.why_not = error.what();
    return result;
  }
}

}  // namespace refhist
