// Where a block of memory was obtained.
#pragma once

#include <string>

#include "events/allocations.h"
#include "session/session_state.h"

namespace refhist {

/// The first frame outside of the allocator's own library: "open_conn (a.c:3)". Empty when nothing is known.
std::string allocation_place(SessionState& state, const Block& block);

}  // namespace refhist
