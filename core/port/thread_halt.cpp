#include "port/thread_halt.h"

#include <fmt/core.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/folder_entries.h"
#include "base/task_status.h"

namespace refhist {

namespace {
constexpr int kLooks = 5000;
constexpr useconds_t kBetween = 200;   // microseconds
constexpr useconds_t kOneStep = 2000;  // in which a thread that the debugger steps has done its instruction

char state_of(long pid, long tid) {
  const std::string state = task_status(pid, "State", tid);
  return state.empty() ? 'X' : state.front();
}

bool has_ended(char state) { return state == 'Z' || state == 'X'; }

/// Neither held by the tracer nor at its end.
bool runs(long pid, long tid) {
  const char state = state_of(pid, tid);
  return state != 't' && !has_ended(state);
}
}  // namespace

std::vector<long> threads_of(long pid) {
  std::vector<long> threads;
  for (const auto& task : entries_of(fmt::format("/proc/{}/task", pid))) {
    const long tid = std::strtol(task.filename().c_str(), nullptr, 10);
    if (!has_ended(state_of(pid, tid))) threads.push_back(tid);
  }
  return threads;
}

ThreadHalt::ThreadHalt(long pid, const std::vector<long>& threads) : pid_(pid) {
  std::vector<long> running = threads;
  const auto keep_running = [&] { std::erase_if(running, [&](long tid) { return !runs(pid, tid); }); };
  keep_running();
  if (running.empty()) return;
  usleep(kOneStep);
  keep_running();
  std::erase_if(running, [&](long tid) { return syscall(SYS_tgkill, pid, tid, SIGSTOP) != 0; });
  for (int look = 0; look < kLooks; ++look) {
    collect(running);
    if (running.empty()) return;
    usleep(kBetween);
  }
  left_over_ = true;
}

// Takes out of `sent` the threads that have stopped since.
void ThreadHalt::collect(std::vector<long>& sent) {
  std::erase_if(sent, [&](long tid) {
    if (has_ended(state_of(pid_, tid))) return true;
    siginfo_t seen{};
    const auto look = [&](int how) {
      seen.si_pid = 0;
      return waitid(P_PID, static_cast<id_t>(tid), &seen, WSTOPPED | WNOHANG | __WALL | how) == 0 &&
             seen.si_pid != 0;
    };
    if (!look(WNOWAIT)) return false;
    if (seen.si_status != SIGSTOP) {
      left_over_ = true;
      return true;
    }
    if (look(0)) halted_.push_back(tid);
    return true;
  });
}

ThreadHalt::~ThreadHalt() {
  for (const long tid : halted_) ptrace(PTRACE_CONT, static_cast<pid_t>(tid), nullptr, nullptr);
}

}  // namespace refhist
