#include "runner/exec_watch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/process_file.h"

namespace refhist {

namespace {

constexpr int kTries = 2000;  // milliseconds that the parent's debugger has to let go of the child
constexpr int kEventShift = 16;

void seize(pid_t pid) {
  for (int tries = 0; ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXEC) != 0; ++tries) {
    if (errno != EPERM || tries == kTries) fail("it cannot be traced: {}", std::strerror(errno));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void go_on(pid_t pid, int signal) {
  ptrace(PTRACE_CONT, pid, nullptr,
         reinterpret_cast<void*>(static_cast<long>(signal)));  // NOLINT: its interface
}

void tell(const std::string& pipe, const std::string& line) {
  const int file = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t written = write(file, line.data(), line.size());
  static_cast<void>(written);  // refhist-run has the other end open; there is nobody else to tell
  close(file);
}

}  // namespace

ExecWatch::ExecWatch(WaitingChild child, std::string pipe)
    : child_(std::move(child)),
      pipe_(std::move(pipe)),
      process_(open_process(static_cast<pid_t>(child_.pid))),
      thread_([this] { watch(); }) {}

ExecWatch::~ExecWatch() {
  thread_.join();
  if (process_ >= 0) close(process_);
}

void ExecWatch::end_child() const {
  if (!ended_) signal_process(process_, SIGKILL);
}

void ExecWatch::watch() {
  const auto pid = static_cast<pid_t>(child_.pid);
  try {
    seize(pid);
    if (wait_for_program()) {
      user_regs_struct registers{};
      if (ptrace(PTRACE_GETREGS, pid, nullptr, &registers) != 0) fail("its registers could not be read");
      const WaitingChild child = make_wait(child_.pid, child_.parent, registers.rip);
      ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
      tell(pipe_, fmt::format("child {} {} {:x} {}\n", child.parent, child.pid, child.pc, child.code));
    }
  } catch (const Error& error) {
    put_code_back(child_, process_);
    ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    tell(pipe_, fmt::format("refused {} {} {}\n", child_.parent, child_.pid, error.what()));
  }
  ended_ = true;
}

bool ExecWatch::wait_for_program() const {
  const auto pid = static_cast<pid_t>(child_.pid);
  ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
  bool waits = true;
  for (int status = 0; waitpid(pid, &status, __WALL) == pid;) {
    if (!WIFSTOPPED(status)) return false;
    const int event = status >> kEventShift;
    if (event == PTRACE_EVENT_EXEC) return true;
    if (waits && !put_code_back(child_, process_))
      fail("its code cannot be written: {}", std::strerror(errno));
    waits = false;
    go_on(pid, event == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status));
  }
  return false;
}

}  // namespace refhist
