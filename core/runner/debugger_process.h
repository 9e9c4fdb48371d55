// A debugger that runs on its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace refhist {

class DebuggerProcess {
 public:
  /// Starts it: no input, what it prints goes to the file `log`. `environment`: "NAME=VALUE" each. Throws
  /// Error.
  DebuggerProcess(std::vector<std::string> command, std::vector<std::string> environment,
                  const std::string& log);
  ~DebuggerProcess();
  DebuggerProcess(const DebuggerProcess&) = delete;
  DebuggerProcess& operator=(const DebuggerProcess&) = delete;

  /// To be waited for: readable when it has ended.
  [[nodiscard]] int file() const { return file_; }
  bool has_ended();
  /// With what it has started, but for its program.
  void kill() const;

 private:
  pid_t pid_ = 0;
  int file_ = -1;
  bool ended_ = false;
};

}  // namespace refhist
