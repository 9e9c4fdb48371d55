#pragma once

#include <string>
#include <string_view>

namespace refhist {

/// A field of /proc/PID/status ("TracerPid", "SigCgt"), without the blanks before it. Empty when there is no
/// such process or field. `tid`: of this thread instead.
[[nodiscard]] std::string task_status(long pid, std::string_view field, long tid = 0);

[[nodiscard]] bool is_thread_of(long pid, long tid);

/// A thread of the process, or a process of its own that runs in the same memory (clone with CLONE_VM,
/// vfork).
[[nodiscard]] bool runs_in_memory_of(long pid, long tid);

/// Some debugger holds the process. False as well when there is no such process.
[[nodiscard]] bool is_traced(long pid);

}  // namespace refhist
