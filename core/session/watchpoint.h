// Places hardware watchpoints, where they do something.
#pragma once

#include <string>

#include "port/debugger_port.h"

namespace refhist {

/// DebuggerPort::place_watchpoint. Empty when done, else why not.
std::string place_watchpoint(DebuggerPort& port, const ProcessInfo& process, Address address, unsigned size);

}  // namespace refhist
