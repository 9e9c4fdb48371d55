// What a command that may take long tells meanwhile, and how it is stopped.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "port/debugger_port.h"

namespace refhist {

class LongWork {
 public:
  /// Work that a command was given for can be stopped in every debugger; elsewhere Ctrl-C may go to the
  /// program.
  enum class For { command, program };
  /// `every_step`: print each step, not only one every two seconds.
  LongWork(DebuggerPort& port, bool every_step, For purpose)
      : port_(port), every_step_(every_step), purpose_(purpose) {}

  /// To be called often: prints what is being done. False once the user has pressed Ctrl-C.
  bool go_on(const std::function<std::string()>& what);

 private:
  DebuggerPort& port_;
  bool every_step_;
  For purpose_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

}  // namespace refhist
