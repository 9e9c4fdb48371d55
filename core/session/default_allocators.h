// Which allocators are followed without being named: those of the heap, once something is tracked that is
// recorded inside the program.
#pragma once

#include <vector>

#include "session/session_state.h"

namespace refhist {

/// Those of them whose functions nobody tracks; none where the setting `allocators` is off. Not settled.
std::vector<TrackedFamily> missing_allocators(SessionState& state);

/// Does a probe of one stand at a function that the other has a probe at?
bool share_function(const Family& one, const Family& other);

}  // namespace refhist
