// System calls run in the program through LLDB: by a few instructions of ours that LLDB's expression
// machinery calls, with all other threads standing still.
#pragma once

#include <lldb/API/LLDB.h>

#include <span>

#include "port/system_call.h"

namespace refhist {

/// False when LLDB could not; then the program is as it was.
bool run_system_calls(lldb::SBProcess& process, lldb::SBThread& thread, std::span<SystemCall> calls);

}  // namespace refhist
