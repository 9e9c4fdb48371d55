// The debugger that runs the program, and what it is told to do.
#pragma once

#include <string>
#include <vector>

#include "runner/debugger_choice.h"
#include "runner/run_options.h"
#include "runner/waiting_child.h"

namespace refhist {

class DebuggerScript {
 public:
  /// Chooses the debugger. `pipe`: where it tells of children of fork, if they are to be followed. Throws
  /// Error when there is none.
  DebuggerScript(const RunOptions& options, const OwnFiles& files, std::string pipe);

  /// LLDB follows one side of a fork only.
  [[nodiscard]] bool follows_children() const { return options_.children && choice_.name == "gdb"; }
  /// "gdb" or "lldb".
  [[nodiscard]] const std::string& debugger() const { return choice_.name; }
  /// Commands that run the program at this path and save its history in a file.
  [[nodiscard]] std::string text(const std::string& program, const std::string& history) const;
  /// Commands that take over a child of fork that waits for it, and save its history in a file.
  [[nodiscard]] std::string child_text(const WaitingChild& child, const std::string& history) const;
  /// The same for a fork of the nursery, which has read nursery_text.
  [[nodiscard]] std::string born_text(const WaitingChild& child, const std::string& history) const;
  /// Commands of the nursery that takes orders from this pipe.
  [[nodiscard]] std::string nursery_text(const std::string& pipe) const;
  /// Where the debugger of a child writes what it prints: beside the file that was asked for, or `otherwise`.
  [[nodiscard]] std::string child_log(long child, const std::string& otherwise) const;
  /// How to start the debugger with the script in a file, its program's path first.
  [[nodiscard]] std::vector<std::string> command(const std::string& script) const;
  /// Of a child: see child_text.
  [[nodiscard]] std::vector<std::string> child_command(const std::string& script) const;
  /// Its environment: the one here without what is meant for the program, "NAME=VALUE" each. `socket`: of the
  /// launch; empty where no program is launched.
  [[nodiscard]] std::vector<std::string> environment(const std::string& socket) const;

 private:
  [[nodiscard]] std::string gdb_begin() const;
  [[nodiscard]] std::string gdb_text(const std::string& program, const std::string& orders) const;
  [[nodiscard]] std::string lldb_text(const std::string& orders) const;
  [[nodiscard]] std::string orders(const std::string& history) const;
  [[nodiscard]] std::string orders_of_all() const;

  const RunOptions& options_;
  DebuggerChoice choice_;
  std::string shell_;  ///< refhist-exec
  std::string pipe_;
};

}  // namespace refhist
