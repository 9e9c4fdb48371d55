// Runs the program again to find where the pointer of a lost reference went: from the events on that took
// one, an event of each object in each run.
#pragma once

#include <functional>
#include <vector>

#include "analysis/leaks.h"
#include "explain/second_run.h"
#include "session/followed_way.h"
#include "session/session_state.h"

namespace refhist {

/// `begun`: the event that it was followed from. True: that tells it, and no more is to be followed.
using JudgeLoss = std::function<bool(std::size_t object, EventId begun, const FollowedWay& way)>;

/// Throws Error when the program could not be run.
void follow_losses(SessionState& state, LeakFinder& finder, const std::vector<ObjectId>& objects,
                   const SecondRun& second, const JudgeLoss& judge);

}  // namespace refhist
