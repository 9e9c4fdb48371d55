// At the last call of a process the exit machinery (_exit, exit, ...) stands on the stack. Its frames, and
// what main left in registers and stack memory below them, hold nothing any more.
#pragma once

#include <vector>

#include "port/registers.h"
#include "symbols/module_map.h"
#include "symbols/unwinder.h"

namespace refhist {

struct ExitCut {
  bool cut = false;     ///< false: the thread does not stand in the exit machinery
  Registers registers;  ///< callee-saved ones and rsp as they were in the frame that called it
};

ExitCut cut_exit_frames(const ModuleMap& modules, Unwinder& unwinder, const Registers& registers,
                        const MemoryReader& read);

}  // namespace refhist
