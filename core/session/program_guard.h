// Starts and dismisses the guard (guard/guard_main.cpp): a process beside the debugger that takes the
// breakpoints out of the program once the debugger has been killed and cannot do it any more.
#pragma once

namespace refhist {

class ProgramGuard {
 public:
  ProgramGuard() = default;
  ProgramGuard(const ProgramGuard&) = delete;
  ProgramGuard& operator=(const ProgramGuard&) = delete;
  /// The guard finds out by itself what has become of the program.
  ~ProgramGuard();

  /// Of this local process from now on, of no other one any more. Returns why there is none; empty: there is.
  const char* watch(long pid);
  /// The debugger has let go of the process in good order, or it is gone: only files are guarded from here
  /// on.
  void dismiss();

 private:
  void close_pipe();

  int pipe_ = -1;  // the writing end
};

}  // namespace refhist
