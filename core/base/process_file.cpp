#include "base/process_file.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace refhist {

int open_process(pid_t pid) { return pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1; }

bool process_has_ended(int file) {
  pollfd end{file, POLLIN, 0};
  return file < 0 || poll(&end, 1, 0) == 1;
}

void signal_process(int file, int signal) {
  if (file >= 0) syscall(SYS_pidfd_send_signal, file, signal, nullptr, 0);
}

}  // namespace refhist
