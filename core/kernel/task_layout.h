// Where a kernel keeps what tells its tasks apart, by the debug information of its vmlinux.
#pragma once

#include <string>

#include "port/debugger_port.h"
#include "symbols/module.h"

namespace refhist {

struct TaskLayout {
  Address per_cpu_offsets = 0;  ///< in memory: an array with an entry for each processor
  Address current = 0;          ///< per-CPU: the task that runs
  Address preempt_count = 0;    ///< per-CPU: whether an interrupt runs instead
  MemberPlace pid;              ///< of struct task_struct, like the rest
  MemberPlace name;
  MemberPlace stack;
  MemberPlace stack_pointer;  ///< of a task that does not run
  MemberPlace canary;         ///< a random number since its birth
  /// Why tasks cannot be told apart; empty when they can.
  std::string why_not;

  static TaskLayout read(const Module& module, Address bias);
};

}  // namespace refhist
