// Threads of a local process that run while the debugger asks about another one are halted for a while. The
// calling thread must be the tracer.
#pragma once

#include <vector>

namespace refhist {

/// The threads of a local process that have not ended.
[[nodiscard]] std::vector<long> threads_of(long pid);

class ThreadHalt {
 public:
  /// Halts those of `threads` that run: all that the debugger knows, since it waits itself for the first stop
  /// of a thread that is new. One that waits for a disk cannot be halted: a second at most is waited.
  ThreadHalt(long pid, const std::vector<long>& threads);
  /// They run on, and the debugger never knows.
  ~ThreadHalt();
  ThreadHalt(const ThreadHalt&) = delete;
  ThreadHalt& operator=(const ThreadHalt&) = delete;

  [[nodiscard]] bool any() const { return !halted_.empty(); }
  /// Another event has stopped a thread just then: SIGSTOP will reach it when the debugger lets it go on.
  [[nodiscard]] bool signal_on_its_way() const { return left_over_; }

 private:
  void collect(std::vector<long>& sent);

  long pid_;
  std::vector<long> halted_;
  bool left_over_ = false;
};

}  // namespace refhist
