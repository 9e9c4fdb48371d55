// What is tracked, armed, seen and lost.
#pragma once

#include <string>

#include "port/debugger_port.h"
#include "session/session_state.h"

namespace refhist {

std::string status_report(SessionState& state, DebuggerPort& port, bool all_sites);

}  // namespace refhist
