// One session: the debugger runs the program, until both have ended.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/started_process.h"
#include "runner/child_sessions.h"
#include "runner/debugger_script.h"
#include "runner/launch_server.h"

namespace refhist {

class RunSession {
 public:
  /// `folder`: for files that nobody needs afterwards. `inherited`: what the program is to have.
  RunSession(const RunOptions& options, const OwnFiles& files, const Inherited& inherited,
             std::string folder);

  /// Throws Error when the debugger cannot be started.
  void run();

  /// The history, when there is one.
  [[nodiscard]] const std::string& history() const { return history_; }
  /// What the debugger has printed.
  [[nodiscard]] const std::string& log() const { return log_; }
  /// What the debugger was told.
  [[nodiscard]] std::string script() const { return folder_ + "/script.txt"; }
  /// Why the session ended before the program did, or before it began; empty when it did not.
  [[nodiscard]] const std::string& why_cut_short() const { return why_cut_short_; }
  [[nodiscard]] const std::string& debugger() const { return script_.debugger(); }
  /// The sessions of children; none where they were not to be followed.
  [[nodiscard]] const ChildSessions* children() const { return children_ ? &*children_ : nullptr; }
  /// 0: it was not started.
  [[nodiscard]] pid_t pid() const { return server_.pid(); }

 private:
  void wait_for_end();
  void wait_a_moment(int milliseconds);
  [[nodiscard]] bool any_left();
  void look_at_time();
  /// Ends the program, and if that does not end the debugger, that too.
  void end(const std::string& why);

  const RunOptions& options_;
  std::string folder_;
  std::string program_;
  DebuggerScript script_;
  LaunchServer server_;
  std::string history_;
  std::string log_;
  std::optional<ChildSessions> children_;
  std::optional<StartedProcess> debugger_;
  double seconds_ = 0;  // since the debugger was started
  std::optional<double> kill_at_;
  std::string why_cut_short_;
};

}  // namespace refhist
