// Which program a history is of.
#pragma once

#include "session/session_state.h"

namespace refhist {

/// Its arguments are known where the process is local.
ProgramIdentity identify(const ProcessInfo& process);

/// The history that was opened makes room for another one.
void close_file(SessionState& state);

}  // namespace refhist
