// Which program a history is of.
#pragma once

#include "session/session_state.h"

namespace refhist {

/// Its arguments are known where the process is local.
ProgramIdentity identify(const ProcessInfo& process);

/// The regular file that a process's standard input is ("self" or a number); empty when it is none.
std::string input_of(const std::string& process);

/// What belongs to the history that ends here: the file that it was opened from, and what was marked in it.
void close_history(SessionState& state);

}  // namespace refhist
