// Who frees memory: a thread in the allocator, and functions that do nothing else for their callers.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "analysis/helper_frames.h"
#include "events/program_access.h"
#include "session/session_state.h"

namespace refhist {

/// Frees memory; also by the C library's own names, which a stack has where its debug information is there.
bool is_in_free(std::string_view function);

/// The thread is in the allocator, where it frees memory.
bool frees_memory(SessionState& state, const ProgramAccess& access, const Registers& registers);

/// xfree(void *memory), and what the C++ library frees memory with.
bool frees_for_others(const HelperFrames& helpers, const NamedFrame& frame);

/// The owners of puts of the object's family.
std::set<std::string> functions_giving_back(SessionState& state, ObjectId object);

}  // namespace refhist
