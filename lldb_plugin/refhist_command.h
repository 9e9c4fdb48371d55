// `refhist …` in LLDB: hands the line to the core, and what comes back to LLDB.
//
// One flat command: a multiword one would reject `refhist 0x1234`.
#pragma once

#include <lldb/API/LLDB.h>

#include "debugger_sessions.h"

namespace refhist {

class RefhistCommand : public lldb::SBCommandPluginInterface {
 public:
  explicit RefhistCommand(lldb::SBDebugger& debugger) : sessions_(debugger) {}

  bool DoExecute(lldb::SBDebugger debugger, char** words, lldb::SBCommandReturnObject& result) override;

 private:
  CommandResult run(lldb::SBDebugger& debugger, char** words);

  DebuggerSessions sessions_;
};

}  // namespace refhist
