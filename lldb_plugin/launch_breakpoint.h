// Breakpoints that report the start of a program, when the dynamic linker has mapped every library of it and
// none of its own code has run but constructors.
//
// One stands at the executable's entry point. LLDB knows that before the launch, and it is section-relative,
// so it stays right from run to run. A static program is launched right onto its entry point, and LLDB never
// hits a breakpoint where the thread stands already: there it is the second instruction.
//
// A program that another one execs has an entry that nobody knows before, and LLDB need not stop at an exec:
// but it most likely uses the same C library, so a second one stands at the function of it that calls main.
#pragma once

#include <lldb/API/LLDB.h>

#include <string>

namespace refhist {

class LaunchBreakpoint {
 public:
  LaunchBreakpoint(lldb::SBBreakpointHitCallback on_hit, void* baton) : on_hit_(on_hit), baton_(baton) {}

  /// Makes sure that the breakpoints are there, for the target's present executable.
  void arm(lldb::SBTarget& target);
  void disarm(lldb::SBTarget& target);
  /// True for the breakpoint at the entry point.
  [[nodiscard]] bool is_entry(lldb::SBBreakpointLocation& location) const;

 private:
  void arm_entry(lldb::SBTarget& target);
  void arm_start(lldb::SBTarget& target);
  void finish(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint);

  lldb::SBBreakpointHitCallback on_hit_;
  void* baton_;
  lldb::SBBreakpoint entry_;
  lldb::SBBreakpoint start_;
  std::string executable_;  // whose entry it is
};

}  // namespace refhist
