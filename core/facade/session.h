// One debugging session: what is tracked, what is armed, what was seen. The door that both front ends use.
//
// Threading: every member may be called from any thread; calls are serialised inside. `hit` is called
// while the thread is stopped at a breakpoint of ours; it never throws and never runs the program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/code_bytes.h"
#include "port/debugger_port.h"

namespace refhist {

struct SessionOptions {
  std::string families_folder;  ///< shipped TOML files
};

/// What a command gives back. `text` ends with a newline unless empty.
struct CommandResult {
  bool ok = true;
  std::string text;      ///< output, or the one-line error when !ok
  int quit_status = -1;  ///< 0 or more: the front end ends the debugger with this exit status
};

enum class Notice {
  started,      ///< a process exists and is stopped: launch or attach; plan and arm
  modules,      ///< libraries may have come or gone
  stopped,      ///< the user sees a stop (detail: signal number or 0)
  exited,       ///< detail: exit status
  signalled,    ///< ended by a signal (detail: its number)
  detached,     ///< detail 1: the debugger cannot tell whether it has detached or killed
  executed,     ///< exec: another program in the same process
  breakpoints,  ///< the user may have set or removed some
  leaving,      ///< the debugger is about to let go of the stopped process
  quitting,     ///< the debugger itself is about to end
  handed_over,  ///< a debugger of its own follows a child that the process has just made (detail: its number)
};

class Session {
 public:
  explicit Session(SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// `line` is what the user typed after "refhist". Never throws.
  CommandResult execute(DebuggerPort& port, std::string_view line);

  /// A thread stands at a breakpoint of ours. True: stop the program and show `stop_reason()`.
  bool hit(DebuggerPort& port, long tid, Address pc);
  /// A thread is about to make a raw exit system call, for the whole process or for itself. As for hit.
  bool raw_exit(DebuggerPort& port, long tid, bool whole_process);
  /// A thread has just changed what a watchpoint of ours watches. The program goes on.
  void changed(DebuggerPort& port, long tid, Address address);
  /// One line: what stopped the program on our account and why; empty when nothing did.
  [[nodiscard]] std::string stop_reason() const;

  void notify(DebuggerPort& port, Notice notice, std::int64_t detail);

  /// What the front end knows to be doubtful in this run: said by every report. A line that was said is not
  /// repeated.
  void note(const std::string& line);

  /// Words that may stand at the end of `line`.
  [[nodiscard]] std::vector<std::string> complete(std::string_view line) const;

  [[nodiscard]] std::vector<std::string> verbs() const;
  /// Help of one verb; of everything when `verb` is empty.
  [[nodiscard]] std::string help(std::string_view verb) const;

  /// True when something is tracked (the front end then watches for the next launch).
  [[nodiscard]] bool tracking() const;
  /// The ledger of the live object at the address; -1 when none. For $refhist_count.
  [[nodiscard]] std::int64_t count_of(Address address) const;

  /// What stands of ours in the program's code in [begin, end), in place of the program's own bytes.
  [[nodiscard]] std::vector<CodeBytes> covered_code(Address begin, Address end) const;
  /// Puts the program's own into bytes that were read there. True when that changed them.
  bool put_own_code(Address address, std::span<std::uint8_t> bytes) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace refhist
