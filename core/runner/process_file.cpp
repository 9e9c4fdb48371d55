#include "runner/process_file.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

namespace refhist {

int open_process(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

void kill_process(int file) {
  if (file >= 0) syscall(SYS_pidfd_send_signal, file, SIGKILL, nullptr, 0);
}

}  // namespace refhist
