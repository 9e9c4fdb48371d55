#include "port/watchpoint_check.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace refhist {

namespace {

volatile std::uint64_t watched_word = 0;

constexpr std::uint64_t kFirstOnWrite = 0x1;             // of DR7: the first one, for this process
constexpr std::uint64_t kEightBytesOnWrite = 0x9 << 16;  // and what it waits for

[[noreturn]] void be_watched() {
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  raise(SIGSTOP);
  watched_word = 1;
  _exit(0);
}

bool set_debug_register(pid_t pid, unsigned number, std::uint64_t value) {
  const std::size_t place = offsetof(struct user, u_debugreg) + number * sizeof(std::uint64_t);
  return ptrace(PTRACE_POKEUSER, pid, place, value) == 0;
}

bool stopped_by(pid_t pid, int signal) {
  int status = 0;
  return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == signal;
}

/// True when it stops at the store, or cannot be asked.
bool stops_at_store(pid_t pid) {
  const auto address = reinterpret_cast<std::uintptr_t>(&watched_word);
  if (!set_debug_register(pid, 0, address) ||
      !set_debug_register(pid, 7, kFirstOnWrite | kEightBytesOnWrite) ||
      ptrace(PTRACE_CONT, pid, nullptr, nullptr) != 0)
    return true;
  return stopped_by(pid, SIGTRAP);
}

bool try_one() {
  const pid_t pid = fork();
  if (pid < 0) return true;
  if (pid == 0) be_watched();
  const bool triggered = !stopped_by(pid, SIGSTOP) || stops_at_store(pid);
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, __WALL) == pid) {
  }
  return triggered;
}

}  // namespace

bool watchpoints_trigger() {
  static const bool trigger = try_one();
  return trigger;
}

}  // namespace refhist
