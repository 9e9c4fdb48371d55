// Pointers that a program has given to the kernel to get them back with an event: nothing in its memory need
// point at the object meanwhile. Read from /proc: epoll's data (proc(5), fdinfo) and the values of POSIX
// timers.
#pragma once

#include <vector>

#include "port/debugger_port.h"
#include "reachability/reachability_roots.h"

namespace refhist {

/// None of a process that /proc does not show. "epoll data for descriptor 5", "value of timer 1".
std::vector<RegisterRoot> kernel_pointers(const ProcessInfo& process);

}  // namespace refhist
