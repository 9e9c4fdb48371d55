// What is known about the target's process as a whole, so that a breakpoint hit need not ask again.
#pragma once

#include <lldb/API/LLDB.h>

#include "port/debugger_port.h"

namespace refhist {

/// True for the process of a core file: it never runs, stops or ends.
bool has_core_file(lldb::SBProcess& process);

class ProcessAccess {
 public:
  ProcessInfo info(lldb::SBTarget& target, lldb::SBProcess& process);
  /// Reads all of it, or returns false.
  bool read_memory(lldb::SBTarget& target, lldb::SBProcess& process, Address address, void* out,
                   std::size_t size);

 private:
  bool local(lldb::SBTarget& target, lldb::SBProcess& process);

  lldb::pid_t asked_pid_ = 0;        // for which local_ is the answer
  std::uint32_t asked_process_ = 0;  // SBProcess::GetUniqueID of it
  bool local_ = false;
};

}  // namespace refhist
