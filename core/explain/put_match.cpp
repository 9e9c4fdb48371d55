#include "explain/put_match.h"

#include <algorithm>
#include <cstdlib>

#include "analysis/assignment.h"

namespace refhist {

namespace {

constexpr double kImpossible = 1e6;
constexpr double kAfter = 1;  // that a reference is taken just after the pointer is stored
constexpr double kOtherThread = 8;
constexpr double kEvent = .1;  // of an event between

/// Frames that both have, outermost first. Where they are in different lines of one, those inside are other
/// calls.
std::size_t common_frames(const CallStack& one, const CallStack& other) {
  std::size_t common = 0;
  while (common < one.size() && common < other.size()) {
    const FollowedStep& a = one[one.size() - 1 - common];
    const FollowedStep& b = other[other.size() - 1 - common];
    const bool same_frame = a.frame == b.frame || a.frame == 0 || b.frame == 0;
    if (a.function != b.function || !same_frame) break;
    ++common;
    if (a.line != b.line || (a.line == 0 && a.pc != b.pc)) break;
  }
  return common;
}

double cost_of(const TakenReference& taken, const GivenReference& given) {
  const bool right_after = given.stored && taken.at == given.at + 1;
  if (taken.at > given.at && !right_after) return kImpossible;
  if (given.stack.empty()) return kImpossible;
  const std::size_t common = common_frames(taken.stack, given.stack);
  const std::size_t between = taken.stack.size() + given.stack.size() - 2 * common;
  double cost = kFrameCost * static_cast<double>(between) + (right_after ? kAfter : 0);
  if (common == 0) return cost + kOtherThread;
  if (given.at > taken.at) cost += std::min(kEvent * static_cast<double>(given.at - taken.at), 2.0);
  const FollowedStep& a = taken.stack[taken.stack.size() - common];
  const FollowedStep& b = given.stack[given.stack.size() - common];
  const auto lines = std::abs(static_cast<double>(a.line) - static_cast<double>(b.line));
  return cost + std::min(lines / 4, 1.0);
}

}  // namespace

std::size_t depth_inside(const CallStack& inner, const CallStack& other) {
  return inner.size() - common_frames(inner, other);
}

std::optional<PutMatch> match_puts(const std::vector<TakenReference>& taken,
                                   const std::vector<GivenReference>& given,
                                   const std::vector<bool>& forbidden) {
  if (given.size() != taken.size() + 1) return std::nullopt;
  const std::size_t none = taken.size();
  std::vector<std::vector<double>> costs(given.size(), std::vector<double>(given.size()));
  for (std::size_t i = 0; i < given.size(); ++i) {
    for (std::size_t k = 0; k < none; ++k) costs[i][k] = given[i].cost + cost_of(taken[k], given[i]);
    costs[i][none] = forbidden[i] ? kImpossible : given[i].cost + given[i].unlikely;
  }
  PutMatch match;
  match.taken.resize(given.size());
  const std::vector<std::size_t> columns = cheapest_assignment(costs);
  for (std::size_t i = 0; i < given.size(); ++i) {
    match.cost += costs[i][columns[i]];
    if (columns[i] == none) {
      match.unmatched = i;
    } else {
      match.taken[i] = columns[i];
    }
  }
  return match.cost < kImpossible ? std::optional(std::move(match)) : std::nullopt;
}

}  // namespace refhist
