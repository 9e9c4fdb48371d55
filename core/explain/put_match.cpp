#include "explain/put_match.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/assignment.h"

namespace refhist {

namespace {

constexpr double kAfter = 1;  // that a reference is taken just after the pointer is stored
constexpr double kOtherThread = 8;
constexpr double kEvent = .1;        // of an event between
constexpr double kFromVariable = 3;  // that what is put into memory comes from a variable
constexpr std::size_t kNear = 2;     // events between what one statement does
constexpr double kCallCost = 1;      // of a frame between, where one statement calls both

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
    if (!same_line(a, b)) break;
  }
  return common;
}

}  // namespace

bool same_line(const FollowedStep& one, const FollowedStep& other) {
  return one.function == other.function && one.line == other.line && (one.line != 0 || one.pc == other.pc);
}

std::string line_key(const FollowedStep& step) {
  return fmt::format("{}:{} {:x}", step.function, step.line, step.line == 0 ? step.pc : 0);
}

std::size_t depth_inside(const CallStack& inner, const CallStack& other) {
  return inner.size() - common_frames(inner, other);
}

double pair_cost(const TakenReference& taken, const GivenReference& given) {
  const bool right_after = given.stored && taken.at == given.at + 1;
  if (taken.at > given.at && !right_after) return kImpossible;
  if (given.stack.empty()) return kImpossible;
  const std::size_t common = common_frames(taken.stack, given.stack);
  const std::size_t between = taken.stack.size() + given.stack.size() - 2 * common;
  const auto apart = given.at > taken.at ? given.at - taken.at : taken.at - given.at;
  const bool together =
      common != 0 && apart <= kNear &&
      same_line(taken.stack[taken.stack.size() - common], given.stack[given.stack.size() - common]);
  double cost =
      (together ? kCallCost : kFrameCost) * static_cast<double>(between) + (right_after ? kAfter : 0);
  if (taken.is_stored && !given.stored) cost += kFromVariable;
  if (common == 0) return cost + kOtherThread;
  if (given.at > taken.at) cost += std::min(kEvent * static_cast<double>(given.at - taken.at), 2.0);
  const FollowedStep& a = taken.stack[taken.stack.size() - common];
  const FollowedStep& b = given.stack[given.stack.size() - common];
  const auto lines = std::abs(static_cast<double>(a.line) - static_cast<double>(b.line));
  return cost + std::min(lines / 4, 1.0);
}

std::optional<PutMatch> match_puts(const std::vector<std::vector<double>>& costs, std::size_t taken) {
  PutMatch match;
  match.taken.resize(costs.size());
  const std::vector<std::size_t> columns = cheapest_assignment(costs);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    match.cost += costs[i][columns[i]];
    if (columns[i] < taken) {
      match.taken[i] = columns[i];
    } else {
      match.unmatched = i;
    }
  }
  return match.cost < kImpossible ? std::optional(std::move(match)) : std::nullopt;
}

}  // namespace refhist
