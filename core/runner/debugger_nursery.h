// A GDB that is ready before there is a child, and of which the debuggers of children are forks
// (gdb/refhist_gdb/nursery.py is the other side).
#pragma once

#include <optional>
#include <string>

#include "base/started_process.h"
#include "runner/debugger_script.h"

namespace refhist {

class DebuggerNursery {
 public:
  /// `folder`: for its pipe, script and log. Throws Error.
  DebuggerNursery(const DebuggerScript& script, const std::string& folder);
  ~DebuggerNursery();
  DebuggerNursery(const DebuggerNursery&) = delete;
  DebuggerNursery& operator=(const DebuggerNursery&) = delete;

  /// Has a debugger of the child run the script. It says that by the pipe of the children; nobody does when
  /// the nursery ends before.
  void order(long child, const std::string& script, const std::string& log) const;
  /// To be waited for, as StartedProcess says.
  [[nodiscard]] int file() const { return process_->file(); }
  bool has_ended() { return process_->has_ended(); }

 private:
  int orders_ = -1;
  std::optional<StartedProcess> process_;
};

}  // namespace refhist
