#include "agent_host/program_calls.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <vector>

namespace refhist {

namespace {
constexpr unsigned kTries = 16;  // signals that may come before the step is done

// Steps over the instruction. A signal that comes first is kept for later.
bool step(pid_t tid, std::vector<int>& signals) {
  if (ptrace(PTRACE_SINGLESTEP, tid, nullptr, nullptr) != 0) return false;
  int status = 0;
  if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) return false;
  if (WSTOPSIG(status) == SIGTRAP) return true;
  signals.push_back(WSTOPSIG(status));
  return true;
}

// No signal but the step's own comes in between: sent on, it would have lost what came with it.
class BlockedSignals {
 public:
  explicit BlockedSignals(pid_t tid) : tid_(tid) {
    if (ptrace(PTRACE_GETSIGMASK, tid_, sizeof mask_, &mask_) != 0) return;
    std::uint64_t none_but_the_step = ~(std::uint64_t{1} << (SIGTRAP - 1U)) | mask_;
    blocked_ = ptrace(PTRACE_SETSIGMASK, tid_, sizeof none_but_the_step, &none_but_the_step) == 0;
  }
  ~BlockedSignals() {
    if (blocked_) ptrace(PTRACE_SETSIGMASK, tid_, sizeof mask_, &mask_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  [[nodiscard]] bool all() const { return blocked_; }

 private:
  pid_t tid_;
  std::uint64_t mask_ = 0;
  bool blocked_ = false;
};

// A thread that was stepped last goes on stepping when its debugger is killed, and dies of it. It runs as far
// as the signal that waits for it: no instruction. Called with all others blocked.
void end_stepping(pid_t tid) {
  int status = 0;
  if (syscall(SYS_tkill, tid, SIGTRAP) == 0 && ptrace(PTRACE_CONT, tid, nullptr, nullptr) == 0)
    waitpid(tid, &status, __WALL);
}

bool run_one(pid_t tid, const user_regs_struct& saved, Address instruction, SystemCall& call,
             std::vector<int>& signals) {
  for (unsigned i = 0; i < kTries; ++i) {
    user_regs_struct registers = saved;
    registers.rip = instruction;
    registers.rax = call.number;
    registers.orig_rax = ~0ULL;  // else the kernel might restart the call that the thread was stopped in
    registers.rdi = call.arguments[0];
    registers.rsi = call.arguments[1];
    registers.rdx = call.arguments[2];
    registers.r10 = call.arguments[3];
    registers.r8 = call.arguments[4];
    registers.r9 = call.arguments[5];
    if (ptrace(PTRACE_SETREGS, tid, nullptr, &registers) != 0 || !step(tid, signals)) return false;
    if (ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) return false;
    if (registers.rip == instruction) continue;  // a signal came first
    call.result = static_cast<std::int64_t>(registers.rax);
    return true;
  }
  return false;
}
}  // namespace

bool run_system_calls_by_ptrace(long tid, Address instruction, std::span<SystemCall> calls) {
  const auto thread = static_cast<pid_t>(tid);
  user_regs_struct saved{};
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &saved) != 0) return false;
  const BlockedSignals blocked(thread);
  std::vector<int> signals;
  bool done = true;
  for (SystemCall& call : calls) done = done && run_one(thread, saved, instruction, call, signals);
  if (blocked.all()) end_stepping(thread);
  ptrace(PTRACE_SETREGS, thread, nullptr, &saved);
  for (const int signal : signals) syscall(SYS_tkill, thread, signal);
  return done;
}

}  // namespace refhist
