// Runs system calls in the stopped program without running any of its code: one thread executes one
// instruction for each, all others stay where they are, and its registers are put back afterwards.
#pragma once

#include <span>

#include "base/types.h"
#include "port/system_call.h"

namespace refhist {

/// By ptrace: the calling thread must be the program's tracer. `instruction`: address of a `syscall`
/// instruction in the program. False when a call could not be run; the registers are put back all the same.
bool run_system_calls_by_ptrace(long tid, Address instruction, std::span<SystemCall> calls);

}  // namespace refhist
