#include "port/traced_registers.h"

#include <sys/ptrace.h>
#include <sys/user.h>

namespace refhist {

std::optional<Registers> traced_registers(long tid) {
  user_regs_struct r{};
  if (ptrace(PTRACE_GETREGS, static_cast<pid_t>(tid), nullptr, &r) != 0) return std::nullopt;
  Registers out;
  out.value = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
               r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
  return out;
}

}  // namespace refhist
