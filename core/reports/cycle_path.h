// The way of a lost cycle in words.
#pragma once

#include <string>
#include <vector>

#include "session/session_state.h"

namespace refhist {

/// Where each pointer of the way lies: "Parent.children" where debug information tells, else "conn
/// 0x5555…+0x10" or "heap block 0x5555…+0x10". Left out: pointers of a control block to what it manages, and
/// of blocks that a named member leads to, such as a vector's.
std::vector<std::string> cycle_path(SessionState& state, const std::vector<LostStep>& way);

/// Two lines: the way by names, as far as there are any, and by addresses. Empty when there is no way.
std::string cycle_text(SessionState& state, const std::vector<LostStep>& way, const std::string& indent);

}  // namespace refhist
