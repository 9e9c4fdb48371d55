// Memory that lists objects without holding them, as GLib's list of signal handlers does: Family::listed_by.
#pragma once

#include <utility>
#include <vector>

#include "session/session_state.h"

namespace refhist {

/// [begin, end) of what the functions have allocated, by address. A block belongs to the innermost function
/// that has a name in the library of the family.
std::vector<std::pair<Address, Address>> find_object_lists(SessionState& state);

}  // namespace refhist
