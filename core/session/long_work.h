// What a command that may take long tells meanwhile, and how it is stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "port/debugger_port.h"

namespace refhist {

/// When long work says what it does. Beside JSON it says nothing: whoever reads that gets all that is
/// printed.
enum class Telling : std::uint8_t { seldom, every_step, nothing };

class LongWork {
 public:
  /// Work that a command was given for can be stopped in every debugger; elsewhere Ctrl-C may go to the
  /// program.
  enum class For { command, program };
  LongWork(DebuggerPort& port, Telling telling, For purpose)
      : port_(port), telling_(telling), purpose_(purpose) {}

  /// To be called often: prints what is being done. False once the user has pressed Ctrl-C.
  bool go_on(const std::function<std::string()>& what);

 private:
  DebuggerPort& port_;
  Telling telling_;
  For purpose_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

}  // namespace refhist
