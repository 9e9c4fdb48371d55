// A child that waits for a debugger where it begins, in a jump to itself (gdb/refhist_gdb/children.py).
#pragma once

#include <string>

#include "base/types.h"

namespace refhist {

struct WaitingChild {
  long pid = 0;
  long parent = 0;
  Address pc = 0;    ///< where it waits
  std::string code;  ///< what was there, in hex
};

/// Lets it go on. `process`: its pidfd. False when it has ended, its memory cannot be written, or nothing
/// waits there.
bool put_code_back(const WaitingChild& child, int process);

/// Makes a stopped process wait at its pc, in memory of its own. Throws Error.
WaitingChild make_wait(long pid, long parent, Address pc);

}  // namespace refhist
