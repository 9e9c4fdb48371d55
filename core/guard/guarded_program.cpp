#include "guard/guarded_program.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace refhist::guard {

namespace {
std::string field_of(const std::string& task, const std::string& name) {
  std::ifstream file(task + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

std::string folder_of(long pid) { return "/proc/" + std::to_string(pid); }

/// The kernel names the tracing thread.
long tracer_of(pid_t pid) {
  const long thread = std::atol(field_of(folder_of(pid), "TracerPid").c_str());
  return thread == 0 ? 0 : std::atol(field_of(folder_of(thread), "Tgid").c_str());
}

int open_pidfd(long pid) { return pid == 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

bool awaits_stop(const std::string& task) {
  constexpr unsigned long long kStop = 1ULL << (SIGSTOP - 1);
  const auto pending = [&](const char* name) {
    return (std::strtoull(field_of(task, name).c_str(), nullptr, 16) & kStop) != 0;
  };
  return field_of(task, "State").starts_with('T') || pending("SigPnd") || pending("ShdPnd");
}
}  // namespace

GuardedProgram::GuardedProgram(pid_t pid)
    : pid_(pid), pidfd_(open_pidfd(pid)), tracer_pidfd_(open_pidfd(tracer_of(pid))) {}

bool GuardedProgram::traced() const { return tracer_of(pid_) != 0; }

bool GuardedProgram::stops() const {
  std::error_code none;
  for (const auto& task : std::filesystem::directory_iterator(folder_of(pid_) + "/task", none)) {
    if (awaits_stop(task.path().string())) return true;
  }
  return false;
}

void GuardedProgram::send(int pidfd, int signal) {
  if (pidfd >= 0) syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

void GuardedProgram::halt_tracer() { send(tracer_pidfd_, SIGSTOP); }

void GuardedProgram::release_tracer() { send(tracer_pidfd_, SIGCONT); }

void GuardedProgram::go_on() {
  constexpr int kLooks = 20;  // a signal on its way takes a moment to take effect
  constexpr timespec kMoment{0, 5'000'000};
  for (int i = 0; i < kLooks && !traced(); ++i) {
    if (stops()) send(pidfd_, SIGCONT);
    nanosleep(&kMoment, nullptr);
  }
}

}  // namespace refhist::guard
