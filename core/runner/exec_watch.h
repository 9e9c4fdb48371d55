// A child of vfork (posix_spawn, system, popen, many shells) has its parent's memory until it executes a
// program. A debugger would leave its breakpoints there. This lets it go on to that program, and makes it
// wait again there.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "runner/waiting_child.h"

namespace refhist {

class ExecWatch {
 public:
  /// `pipe`: where the child is told of that waits at the beginning of its program, or was lost.
  ExecWatch(WaitingChild child, std::string pipe);
  /// Waits for the child's program, or its end.
  ~ExecWatch();
  ExecWatch(const ExecWatch&) = delete;
  ExecWatch& operator=(const ExecWatch&) = delete;

  [[nodiscard]] bool has_ended() const { return ended_; }
  void end_child() const;

 private:
  void watch();
  /// False when the child ended without it.
  bool wait_for_program() const;

  WaitingChild child_;
  std::string pipe_;
  int process_ = -1;  // pidfd
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // ptrace belongs to a thread
};

}  // namespace refhist
