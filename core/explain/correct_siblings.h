// Objects without a mistake that show how an object like them is kept.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/leaks.h"
#include "session/session_state.h"

namespace refhist {

/// Up to `most` that were released clean and got or put at places where the object was, too: together at as
/// many of its places as possible, each with few gets and puts.
std::vector<ObjectId> correct_siblings(SessionState& state, LeakFinder& finder, ObjectId object,
                                       std::size_t most);

}  // namespace refhist
