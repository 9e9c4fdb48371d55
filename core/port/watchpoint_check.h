// Whether this machine's hardware watchpoints stop a program. Some virtual machines accept them, and nothing
// ever happens.
#pragma once

namespace refhist {

/// Tried once, in a process made for it. True as well when that cannot be tried.
bool watchpoints_trigger();

}  // namespace refhist
