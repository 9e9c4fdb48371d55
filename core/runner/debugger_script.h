// The debugger that runs the program, and what it is told to do.
#pragma once

#include <string>
#include <vector>

#include "runner/own_files.h"
#include "runner/run_options.h"

namespace refhist {

class DebuggerScript {
 public:
  /// Chooses the debugger. Throws Error when there is none.
  DebuggerScript(const RunOptions& options, OwnFiles files);

  /// "gdb" or "lldb".
  [[nodiscard]] const std::string& debugger() const { return debugger_; }
  /// Commands that run the program at this path and save its history in a file.
  [[nodiscard]] std::string text(const std::string& program, const std::string& history) const;
  /// How to start the debugger with the script in a file, its program's path first.
  [[nodiscard]] std::vector<std::string> command(const std::string& script) const;
  /// Its environment: the one here without what is meant for the program, "NAME=VALUE" each.
  [[nodiscard]] std::vector<std::string> environment(const std::string& socket) const;

 private:
  [[nodiscard]] bool choose(const std::string& debugger, const std::vector<std::string>& names,
                            const char* variable, const std::string& extension);
  [[nodiscard]] std::string gdb_text(const std::string& program, const std::string& orders) const;
  [[nodiscard]] std::string lldb_text(const std::string& orders) const;
  [[nodiscard]] std::string orders(const std::string& history) const;

  const RunOptions& options_;
  OwnFiles files_;
  std::string debugger_;
  std::string path_;
};

}  // namespace refhist
