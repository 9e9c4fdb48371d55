// One target of LLDB with the core's session for it, and our breakpoints in it.
#pragma once

#include <lldb/API/LLDB.h>

#include <mutex>
#include <string>

#include "counter_watchpoints.h"
#include "detach_watch.h"
#include "expression_leftovers.h"
#include "facade/session.h"
#include "launch_breakpoint.h"
#include "lldb_port.h"
#include "process_access.h"
#include "process_observer.h"
#include "site_breakpoints.h"
#include "stop_text.h"

namespace refhist {

class TargetSession {
 public:
  /// Without a target at first: families can be chosen before there is a program.
  explicit TargetSession(const SessionOptions& options);
  ~TargetSession();
  TargetSession(const TargetSession&) = delete;
  TargetSession& operator=(const TargetSession&) = delete;

  void adopt(const lldb::SBTarget& target);
  /// The target's program begins: it has its entry point ahead of it or, if not, just behind it.
  void launched(bool before_entry);
  [[nodiscard]] bool tracking() const { return session_.tracking(); }
  [[nodiscard]] bool waits_for_target() const { return !adopted_; }
  [[nodiscard]] bool lost_target() const { return adopted_ && !target_.IsValid(); }
  [[nodiscard]] bool is_for(const lldb::SBTarget& target) const { return adopted_ && target_ == target; }

  CommandResult execute(lldb::SBDebugger& debugger, const std::string& line);
  [[nodiscard]] bool runs(std::uint32_t process_id) const {
    return adopted_ && target_.IsValid() && target_.GetProcess().GetUniqueID() == process_id;
  }
  /// A thread has just changed what a watchpoint of ours watches.
  void changed(lldb::tid_t tid, Address address);
  /// Tells the core what became of the process since the last time, and prepares for the next launch.
  void catch_up(ProcessObserver::Occasion occasion);
  /// The user has the program go on, or steps the selected thread.
  void expect_run();
  void expect_step();
  /// LLDB is about to let go of the process.
  void expect_detach();
  /// LLDB itself is about to end.
  void quitting();
  /// LLDB is about to end the process.
  void expect_kill() { observer_.expect_kill(); }
  /// The user is about to look at code.
  void show_own_code();
  /// The user is about to have an expression evaluated.
  void expect_leftovers() { leftovers_.expect(); }

 private:
  static bool on_site(void* self, lldb::SBProcess& process, lldb::SBThread& thread,
                      lldb::SBBreakpointLocation& location);
  static bool on_launch(void* self, lldb::SBProcess& process, lldb::SBThread& thread,
                        lldb::SBBreakpointLocation& location);
  bool hit(lldb::SBProcess& process, lldb::SBThread& thread, lldb::SBBreakpointLocation& location);
  void erase_leftovers();
  [[nodiscard]] bool is_stepped_out(lldb::SBThread& thread) const;
  template <class Work>
  bool guarded(Work&& work);
  LldbPort port() { return {target_.GetDebugger(), target_, access_, sites_, watchpoints_}; }

  // In asynchronous mode breakpoints are hit on LLDB's event thread while the user types commands.
  std::recursive_mutex mutex_;
  // No SBDebugger is kept: it would own the debugger that owns this object.
  mutable lldb::SBTarget target_;
  bool adopted_ = false;
  ProcessAccess access_;
  ProcessObserver observer_;
  SiteBreakpoints sites_;
  CounterWatchpoints watchpoints_;
  ExpressionLeftovers leftovers_;
  LaunchBreakpoint launch_;
  StopText stop_text_{access_};
  struct Step {
    lldb::tid_t tid = 0;
    Address sp = 0;
  };
  std::vector<CodeBytes> shown_;  // for forget_own_code
  Step stepping_;                 // what the user's last step began with; no thread when it was none
  Session session_;
  DetachWatch detach_watch_;  // the last one: it uses all the others
};

}  // namespace refhist
