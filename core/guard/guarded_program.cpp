#include "guard/guarded_program.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/folder_entries.h"
#include "base/process_file.h"
#include "base/task_status.h"

namespace refhist::guard {

namespace {
/// The kernel names the tracing thread.
long tracer_of(pid_t pid) {
  const long thread = std::atol(task_status(pid, "TracerPid").c_str());
  return thread == 0 ? 0 : std::atol(task_status(thread, "Tgid").c_str());
}

bool awaits_stop(long pid, long tid) {
  constexpr unsigned long long kStop = 1ULL << (SIGSTOP - 1);
  const auto pending = [&](const char* name) {
    return (std::strtoull(task_status(pid, name, tid).c_str(), nullptr, 16) & kStop) != 0;
  };
  return task_status(pid, "State", tid).starts_with('T') || pending("SigPnd") || pending("ShdPnd");
}
}  // namespace

GuardedProgram::GuardedProgram(pid_t pid)
    : pid_(pid), pidfd_(open_process(pid)), tracer_pidfd_(open_process(static_cast<pid_t>(tracer_of(pid)))) {}

bool GuardedProgram::traced() const { return tracer_of(pid_) != 0; }

bool GuardedProgram::stops() const {
  const auto tasks = entries_of("/proc/" + std::to_string(pid_) + "/task");
  return std::any_of(tasks.begin(), tasks.end(), [&](const std::filesystem::path& task) {
    return awaits_stop(pid_, std::atol(task.filename().c_str()));
  });
}

void GuardedProgram::halt_tracer() { signal_process(tracer_pidfd_, SIGSTOP); }

void GuardedProgram::release_tracer() { signal_process(tracer_pidfd_, SIGCONT); }

void GuardedProgram::go_on(NewbornChildren& children) {
  constexpr int kLooks = 20;  // a signal on its way takes a moment to take effect
  constexpr timespec kMoment{0, 5'000'000};
  for (int i = 0; i < kLooks && !traced(); ++i) {
    if (stops()) signal_process(pidfd_, SIGCONT);
    children.mend_fully();
    children.go_on();
    nanosleep(&kMoment, nullptr);
  }
}

}  // namespace refhist::guard
