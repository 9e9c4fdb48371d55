// A breakpoint at the executable's entry point: at its hit the dynamic linker has mapped every library
// of the program and none of their code has run but constructors.
#pragma once

#include <lldb/API/LLDB.h>

#include <string>

namespace refhist {

class LaunchBreakpoint {
 public:
  LaunchBreakpoint(lldb::SBBreakpointHitCallback on_hit, void* baton) : on_hit_(on_hit), baton_(baton) {}

  /// Makes sure that the breakpoint stands at the entry of the target's present executable. It is
  /// section-relative, so it stays right from run to run and for position-independent programs.
  void arm(lldb::SBTarget& target);
  void disarm(lldb::SBTarget& target);

 private:
  lldb::SBBreakpointHitCallback on_hit_;
  void* baton_;
  lldb::SBBreakpoint breakpoint_;
  std::string executable_;  // whose entry it is
};

}  // namespace refhist
