// The sessions of one debugger: one for each target that refhist was used with.
#pragma once

#include <lldb/API/LLDB.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "facade/session.h"
#include "first_launch.h"
#include "target_session.h"

namespace refhist {

class DebuggerSessions {
 public:
  explicit DebuggerSessions(lldb::SBDebugger& debugger);
  ~DebuggerSessions();
  DebuggerSessions(const DebuggerSessions&) = delete;
  DebuggerSessions& operator=(const DebuggerSessions&) = delete;

  /// True when the plugin is at home in this debugger already.
  static bool exist(lldb::SBDebugger& debugger);

  CommandResult execute(lldb::SBDebugger& debugger, const std::string& line);
  /// A thread of the process has changed what a watchpoint of ours watches.
  static void changed(lldb::user_id_t debugger_id, std::uint32_t process_id, lldb::tid_t tid,
                      Address address);

 private:
  /// Has LLDB's own commands that run or end a process look here first: what happened to the process
  /// since the last look must be known to the core, and acted on, before the program goes on.
  void watch_commands(lldb::SBDebugger& debugger);
  static bool before_resume(void* debugger_id, const char** words);
  static bool before_step(void* debugger_id, const char** words);
  static bool before_detach(void* debugger_id, const char** words);
  static bool before_kill(void* debugger_id, const char** words);
  /// LLDB is about to end.
  static void before_end(lldb::user_id_t debugger_id, void* baton);
  static bool before_showing_code(void* debugger_id, const char** words);
  static bool before_expression(void* debugger_id, const char** words);
  /// Looks at the process, and then does the work for the selected target's session.
  template <class Work>
  static void at_command(void* debugger_id, Work&& work);

  /// The first program of this debugger is being launched, and nobody has met its target yet.
  static bool on_first_launch(void* debugger_id, lldb::SBProcess& process, lldb::SBThread& thread,
                              lldb::SBBreakpointLocation& location);

  /// The session of the selected target.
  TargetSession& selected(lldb::SBDebugger& debugger);
  /// The session of this target. The first target takes over what was said before there was one.
  TargetSession& session_of(const lldb::SBTarget& target);

  lldb::user_id_t debugger_id_;
  SessionOptions options_;
  FirstLaunch first_launch_;
  std::mutex mutex_;  // of the list: a launch may be seen on LLDB's event thread
  std::vector<std::unique_ptr<TargetSession>> sessions_;
};

}  // namespace refhist
