// A program under a debugger, as its guard sees it from outside: who is gone, and whether it stands still.
#pragma once

#include <sys/types.h>

#include <string>

#include "guard/newborn_children.h"

namespace refhist::guard {

class GuardedProgram {
 public:
  explicit GuardedProgram(pid_t pid);

  [[nodiscard]] int pidfd() const { return pidfd_; }
  /// Of the process that traces it (lldb-server, for LLDB).
  [[nodiscard]] int tracer_pidfd() const { return tracer_pidfd_; }
  [[nodiscard]] bool traced() const;
  /// A tracer that outlives the debugger (lldb-server) would let the program go at once: it waits meanwhile.
  void halt_tracer();
  void release_tracer();
  /// A SIGSTOP by which the debugger meant to halt one of its threads outlives the debugger: goes on then.
  /// `children`: so do they.
  void go_on(NewbornChildren& children);

 private:
  [[nodiscard]] bool stops() const;

  pid_t pid_;
  int pidfd_;
  int tracer_pidfd_;
};

}  // namespace refhist::guard
