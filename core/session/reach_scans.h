// Looks at what the program can still reach, kept in the session's state.
#pragma once

#include <memory>

#include "port/debugger_port.h"
#include "port/thread_halt.h"
#include "session/session_state.h"

namespace refhist {

/// What counted objects manage can be seen while there is a process.
void look_at_managed(SessionState& state, DebuggerPort& port);

/// Of this program, for every scan.
ReachOptions reach_options(const SessionState& state);

/// GDB lets the other threads run on while it asks about one that stands at a breakpoint: they stand still as
/// long as what this returns. Null where that cannot be.
std::unique_ptr<ThreadHalt> halt_others(SessionState& state, DebuggerPort& port);

/// Looks at what a stopped program can still reach, unless that is known; does nothing when there is none.
/// Throws Error when it runs.
void scan_if_alive(SessionState& state, DebuggerPort& port);

/// Looks at what the program can still reach and keeps the result in the state. `exiting_thread` makes a raw
/// exit system call. At exit, threads that run are halted first where the debugger has not done so.
void scan_now(SessionState& state, DebuggerPort& port, bool at_exit, long exiting_thread = 0);

/// The process has ended after the look at its exit. What its other threads have made or used since then was
/// not looked at, or somebody had it still: none of it is lost.
void settle_scan_at_exit(SessionState& state);

}  // namespace refhist
