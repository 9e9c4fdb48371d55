// A local process that no debugger holds: every thread of it stands still as long as this lives, by this
// thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <span>
#include <string>

#include "base/types.h"
#include "port/system_call.h"

namespace refhist {

class StoppedProcess {
 public:
  explicit StoppedProcess(long pid);
  /// The threads go on as they were: with the signals that were about to reach them.
  ~StoppedProcess();
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;

  [[nodiscard]] bool any() const { return !held_.empty(); }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// Does a thread stand in [begin, end)? True where that cannot be told.
  [[nodiscard]] bool stands_in(Address begin, Address end) const;
  /// By one of the threads; `instruction`: a `syscall` in the program. False when no thread can make them.
  bool call(Address instruction, std::span<SystemCall> calls) const;

 private:
  enum class Halt { plain, at_signal, other };
  struct Held {
    Halt halt = Halt::other;
    int signal = 0;  ///< that is about to be delivered
  };
  bool hold(pid_t tid);
  static void let_go(pid_t tid, int signal);

  pid_t pid_;
  std::map<pid_t, Held> held_;
  std::string why_not_;
};

}  // namespace refhist
