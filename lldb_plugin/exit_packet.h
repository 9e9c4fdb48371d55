// How LLDB's server told of a process's end: LLDB itself forgets whether the number is a status or a signal.
#pragma once

#include <lldb/API/LLDB.h>

#include <optional>

namespace refhist {

/// True when the last process that its server reported as ended was ended by a signal, false when it exited;
/// nothing where that cannot be told.
std::optional<bool> ended_by_signal(lldb::SBTarget& target);

}  // namespace refhist
