// What nobody could see of a family's functions.
#pragma once

#include <string>
#include <vector>

#include "session/session_state.h"

namespace refhist {

/// A line each: families of which no function was found, and functions of the program itself that were never
/// called where nothing would tell of inlined copies. Empty before there was a process.
std::vector<std::string> blind_spots(const SessionState& state);

}  // namespace refhist
