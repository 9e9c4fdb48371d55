// A Linux kernel that is debugged from outside, through the remote port of what runs it. Only memory and
// registers of the guest are asked for, through the debugger: nothing of this is a process of this machine.
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel_tasks.h"
#include "port/debugger_port.h"
#include "symbols/module.h"

namespace refhist {

class Kernel {
 public:
  /// `module` is a kernel's; `told` is where the debugger takes it to lie. Throws Error, in one line: the
  /// guest has none, or another build.
  Kernel(DebuggerPort& port, const Module& module, Address told);

  [[nodiscard]] Address bias() const { return bias_; }
  [[nodiscard]] const std::string& release() const { return release_; }
  [[nodiscard]] KernelTasks& tasks() { return tasks_; }
  /// In memory: where a stack is at its end.
  [[nodiscard]] const std::vector<FileRange>& stack_ends() const { return stack_ends_; }

  /// "Linux 6.1.0-56-cloud-amd64 in QEMU, 1 CPU".
  [[nodiscard]] std::string title() const;
  /// What to know of it, a line each: KASLR with the debugger's own command, tasks that cannot be told apart.
  [[nodiscard]] std::vector<std::string> notes(DebuggerPort& port) const;

  /// It is not the kernel any more that it was: the guest was started again.
  [[nodiscard]] bool started_again(DebuggerPort& port);

 private:
  [[nodiscard]] std::string vendor(DebuggerPort& port) const;

  std::string path_;
  Address bias_ = 0;
  std::string release_;
  std::string machine_;  // "QEMU"; empty when it does not say
  bool own_debug_info_ = false;
  std::string no_tasks_;
  Address init_task_ = 0;
  Address vendor_ = 0;  // of the pointer to its name
  KernelTasks tasks_;
  std::vector<FileRange> stack_ends_;
  std::uint64_t boot_ = 0;
};

}  // namespace refhist
