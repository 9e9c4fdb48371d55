// Why the program was stopped, as the text of LLDB's own stop: for lldb-dap, whose clients show that text.
//
// LLDB says "breakpoint 3.14" of every stop at a breakpoint. Of a thread plan that has completed it says what
// the plan says. So the thread gets a plan that executes one instruction and stops: a nop that lies somewhere
// in the program, from where it is put back, because the instruction in front of it may be the very put that
// is to be seen before it runs.
#pragma once

#include <lldb/API/LLDB.h>

#include <string>

#include "base/types.h"
#include "process_access.h"

namespace refhist {

class StopText {
 public:
  explicit StopText(ProcessAccess& access) : access_(access) {}

  /// The thread stands at a breakpoint of ours and is to stop there. True when it will, with this text,
  /// though the breakpoint lets it go on.
  bool give(lldb::SBTarget& target, lldb::SBProcess& process, lldb::SBThread& thread,
            const std::string& text);

 private:
  /// A byte of code that is a nop now; 0 when none is found.
  Address nop(lldb::SBTarget& target, lldb::SBProcess& process, Address near);

  ProcessAccess& access_;
  Address nop_ = 0;
};

}  // namespace refhist
