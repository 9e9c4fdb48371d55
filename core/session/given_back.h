// Whether a reference that is followed may have been given back meanwhile, by who does not hold it.
#pragma once

#include <optional>
#include <string>

#include "session/session_state.h"

namespace refhist {

/// How deep in a stack the function's frame is, its own or what it was inlined into.
std::optional<std::size_t> depth_of(FrameNamer& namer, const std::vector<StackFrame>& frames,
                                    const std::string& function);

/// Since the event `begin`, more references to the object were given back than taken, but for those that are
/// another's: a put by the call that had taken one gives that one back. `followed`: what took the one that is
/// followed.
bool given_back_since(SessionState& state, ObjectId object, EventId followed, EventId begin);

}  // namespace refhist
