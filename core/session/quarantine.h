// The setting `quarantine` and the program that is started next: an interpreter that keeps its blocks to
// itself is told not to, in its environment.
#pragma once

#include "port/debugger_port.h"

namespace refhist {

class Quarantine {
 public:
  /// What the user has set in the environment stays. Throws Error.
  void take_all_blocks(bool all, DebuggerPort& port);

 private:
  bool variable_is_ours_ = false;
};

}  // namespace refhist
