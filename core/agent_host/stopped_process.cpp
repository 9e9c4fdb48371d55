#include "agent_host/stopped_process.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "agent_host/program_calls.h"
#include "port/thread_halt.h"

namespace refhist {

StoppedProcess::StoppedProcess(long pid) : pid_(static_cast<pid_t>(pid)) {
  for (bool found = true; found;) {  // a thread may have started others meanwhile
    found = false;
    for (const long thread : threads_of(pid)) {
      const auto tid = static_cast<pid_t>(thread);
      found = (!held_.contains(tid) && hold(tid)) || found;
    }
  }
}

// The first thread last: it can be waited for once no other is left.
StoppedProcess::~StoppedProcess() {
  for (const auto& [tid, held] : held_) {
    if (tid != pid_) let_go(tid, held.signal);
  }
  if (const auto first = held_.find(pid_); first != held_.end()) let_go(pid_, first->second.signal);
}

// One that has been killed meanwhile is waited for: nobody else may, and its process would never end.
void StoppedProcess::let_go(pid_t tid, int signal) {
  int status = 0;
  while (ptrace(PTRACE_DETACH, tid, nullptr, signal) != 0 && errno == ESRCH) {
    if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) return;
  }
}

bool StoppedProcess::hold(pid_t tid) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
    why_not_ = std::strerror(errno);
    return false;
  }
  Held& held = held_[tid];
  int status = 0;
  ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) return true;
  const int event = status >> 16;
  if (event == 0) {
    held = {Halt::at_signal, WSTOPSIG(status)};
  } else if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP) {
    held.halt = Halt::plain;
  }
  return true;
}

bool StoppedProcess::stands_in(Address begin, Address end) const {
  return std::any_of(held_.begin(), held_.end(), [&](const auto& thread) {
    user_regs_struct registers{};
    if (ptrace(PTRACE_GETREGS, thread.first, nullptr, &registers) != 0) return errno != ESRCH;
    return begin <= registers.rip && registers.rip < end;
  });
}

bool StoppedProcess::call(Address instruction, std::span<SystemCall> calls) const {
  const auto able = std::find_if(held_.begin(), held_.end(),
                                 [](const auto& thread) { return thread.second.halt == Halt::plain; });
  return able != held_.end() && run_system_calls_by_ptrace(able->first, instruction, calls);
}

}  // namespace refhist
