// Which function of which thread a word on a stack belongs to.
#pragma once

#include <string>
#include <vector>

#include "analysis/frame_namer.h"
#include "port/debugger_port.h"
#include "symbols/module_map.h"
#include "symbols/unwinder.h"

namespace refhist {

class StackPlaces {
 public:
  /// Walks the stacks of all threads, which stand still as long as this is asked.
  StackPlaces(DebuggerPort& port, const MemoryReader& read, const ModuleMap& modules, Unwinder& unwinder,
              FrameNamer& namer);

  /// "frame 2, worker (a.c:31)"; empty when the word lies in no frame that could be walked to.
  [[nodiscard]] std::string of(Address word) const;

 private:
  struct Frame {
    Address begin = 0;
    Address end = 0;
    std::size_t number = 0;  ///< 0: innermost
    StackFrame place;
  };
  void add_thread(const Registers& registers, const MemoryReader& read, Unwinder& unwinder);

  const ModuleMap& modules_;
  FrameNamer& namer_;
  std::vector<Frame> frames_;
};

}  // namespace refhist
