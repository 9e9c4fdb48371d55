// Leaves a local process that the debugger has let go of without our patches and without the memory that the
// agent had there: all its threads are stopped for that moment, by this thread.
#pragma once

#include <string>
#include <vector>

#include "agent_host/agent_loader.h"
#include "port/code_bytes.h"

namespace refhist {

/// Empty when done or when the process has ended, else why not.
std::string write_code_of_detached(long pid, const std::vector<CodeBytes>& code);

/// Unmaps the agent's memory, once no thread is in the agent; its pieces are switched off. What stays is
/// small: stubs that calls return to, and what a thread looks at that a signal handler keeps from leaving the
/// agent. Empty when done or when the process has ended, else why not.
std::string release_memory_of_detached(long pid, const LoadedAgent& agent);

}  // namespace refhist
