#pragma once

#include <string>
#include <string_view>

namespace refhist {

/// A field of /proc/PID/status ("TracerPid", "SigCgt"), without the blanks before it. Empty when there is no
/// such process or field. `tid`: of this thread instead.
[[nodiscard]] std::string task_status(long pid, std::string_view field, long tid = 0);

/// Some debugger holds the process. False as well when there is no such process.
[[nodiscard]] bool is_traced(long pid);

}  // namespace refhist
