// The general registers of a stopped thread, in as few round trips to the debug server as can be.
//
// At a stop LLDB keeps only pc, sp and fp; asked for the others through its values it fetches them one by
// one: 14 round trips, more than the whole rest of a breakpoint hit. lldb-server gives all of them in one
// answer to qThreadStopInfo, so that is asked first. Other debug servers, core files and answers that do
// not fit what LLDB knows of the thread take the slow way.
#pragma once

#include <lldb/API/LLDB.h>

#include <optional>
#include <vector>

#include "port/registers.h"

namespace refhist {

/// Nothing when the thread is not stopped or one of the registers is not known.
std::optional<Registers> read_registers(lldb::SBDebugger& debugger, lldb::SBThread& thread);

/// Writes those that differ. False when one of them cannot be read or written.
bool write_registers(lldb::SBDebugger& debugger, lldb::SBThread& thread, const Registers& registers);

/// The words of the widest vector registers that LLDB knows of the thread.
std::vector<Address> read_vector_words(lldb::SBThread& thread);

}  // namespace refhist
