// How a reference was lost: the call that should have given it back, followed line by line in a second run,
// beside another call of the same function that did give it back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/over_put.h"
#include "explain/second_run.h"
#include "session/followed_way.h"
#include "session/session_state.h"

namespace refhist {

struct Explanation {
  ObjectId object;
  EventId taken;         ///< the reference that was lost; invalid when none was followed
  std::string function;  ///< the one that was followed
  FollowedWay lost;
  std::vector<FollowedWay>
      kept;  ///< of calls that gave one back: of the function, and of those that called it
  std::vector<TracedReference> references;  ///< of one that was put too often
  std::optional<Suspect> confirmed;
  std::string why_not;  ///< why nothing is confirmed; empty when something is

  /// For the user, a few lines.
  [[nodiscard]] std::string text(SessionState& state) const;
  std::optional<std::size_t> step = {};      ///< of the lost way: the confirmed one
  std::optional<std::size_t> compared = {};  ///< index of one of `kept`
};

/// Of each of the objects, which hold a reference too many. What is confirmed, reports tell from now on.
/// Throws Error when the program could not be run.
std::vector<Explanation> explain(SessionState& state, const std::vector<ObjectId>& objects,
                                 const SecondRun& second);

/// One object of each leak that can be followed, the largest leaks first, at most so many.
std::vector<ObjectId> explainable(SessionState& state, std::size_t most);

/// Where two ways part.
struct Parting {
  std::size_t step = 0;  ///< of the lost way: its last line that the other one does not have, or the branch
  unsigned line = 0;     ///< the step's, or that of the `return` or `continue` without code behind it
  bool taken_again = false;  ///< it came back to where the reference was taken, and took the next one
};
/// Nothing when that cannot be told: the lost way gives a reference back, or both are the same.
std::optional<Parting> parting(const FollowedWay& lost, const FollowedWay& kept);

}  // namespace refhist
