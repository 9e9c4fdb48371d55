// Sees the first program of a debugger in which something was tracked before there was a target.
//
// Where a person types, `process launch` gives the occasion to meet the target. lldb-dap and scripts make and
// launch targets through the SB API and give none. But LLDB copies the breakpoints of its dummy target into
// every new one, with their callbacks: one of ours there stands in the dynamic linker, before the program's
// entry point, and, for static programs, in the function that calls main.
#pragma once

#include <lldb/API/LLDB.h>

namespace refhist {

class FirstLaunch {
 public:
  FirstLaunch(lldb::SBBreakpointHitCallback on_hit, void* baton) : on_hit_(on_hit), baton_(baton) {}

  void watch(lldb::SBDebugger& debugger);
  /// Targets that are made from now on get no copy, and `target` loses its own.
  void forget(lldb::SBDebugger& debugger, lldb::SBTarget& target);
  /// In the callback, where no breakpoint may be deleted: only this copy is of no more use.
  static void retire(lldb::SBBreakpointLocation& location) { location.GetBreakpoint().SetEnabled(false); }
  /// The thread that hit the copy has the program's entry point ahead of it.
  [[nodiscard]] static bool is_before_entry(lldb::SBThread& thread);

 private:
  lldb::SBBreakpointHitCallback on_hit_;
  void* baton_;
  lldb::break_id_t id_ = LLDB_INVALID_BREAK_ID;  // in the dummy target
};

}  // namespace refhist
