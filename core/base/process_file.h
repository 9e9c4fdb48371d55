// A file that means a process even when its number has come to mean another one (a pidfd).
#pragma once

#include <sys/types.h>

namespace refhist {

/// Readable when the process has ended. -1 when it is gone.
int open_process(pid_t pid);
/// `file` may be -1: it had ended before it could be opened.
[[nodiscard]] bool process_has_ended(int file);
/// Nothing when it has ended; `file` may be -1.
void signal_process(int file, int signal);

}  // namespace refhist
