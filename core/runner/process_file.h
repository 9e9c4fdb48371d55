// A file that means a process even when its number has come to mean another one (a pidfd).
#pragma once

#include <sys/types.h>

namespace refhist {

/// Readable when the process has ended. -1 when it is gone.
int open_process(pid_t pid);
/// Nothing when it has ended; `file` may be -1.
void kill_process(int file);

}  // namespace refhist
