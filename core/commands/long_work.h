// What a command that may take long tells meanwhile, and how it is stopped.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "port/debugger_port.h"

namespace refhist {

class LongWork {
 public:
  explicit LongWork(DebuggerPort& port) : port_(port) {}

  /// To be called often: prints what is being done every two seconds. False once the user has pressed Ctrl-C.
  bool go_on(const std::function<std::string()>& what);

 private:
  DebuggerPort& port_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

}  // namespace refhist
