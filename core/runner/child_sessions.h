// The processes that the program makes, each followed by a debugger of its own (gdb/refhist_gdb/children.py
// is the other side).
#pragma once

#include <poll.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/started_process.h"
#include "runner/debugger_nursery.h"
#include "runner/debugger_script.h"
#include "runner/exec_watch.h"
#include "runner/waiting_child.h"

namespace refhist {

/// A child, and what is known of its session.
struct ChildSession {
  WaitingChild child;
  std::string history;    ///< path; there is a file when the session has left one
  std::string cut_short;  ///< why it was ended before the child was; empty when it was not
  std::string log;        ///< path
  std::string script;     ///< path
  int process = -1;       ///< pidfd: means the child even when the number means another process
  bool attached = false;
  bool let_go = false;         ///< at its exit
  bool ended_waiting = false;  ///< it was ended before it did anything
  bool ordered = false;        ///< the nursery has yet to tell of its debugger
  std::optional<StartedProcess> debugger;

  [[nodiscard]] bool runs() const { return ordered || debugger; }
};

class ChildSessions {
 public:
  /// `folder`: for the pipe and what the sessions leave. Throws Error.
  ChildSessions(const DebuggerScript& script, std::string folder, std::string pipe);
  ~ChildSessions();
  ChildSessions(const ChildSessions&) = delete;
  ChildSessions& operator=(const ChildSessions&) = delete;

  /// What is to be waited for.
  void add_files(std::vector<pollfd>& files) const;
  /// Something of it may have happened.
  void serve();
  /// A debugger has not ended, or a child has not begun its program.
  [[nodiscard]] bool any_left() const { return running() != 0 || !watches_.empty(); }
  /// Ends the children; their debuggers see it and save.
  void end_programs(const std::string& why);
  void kill_debuggers(const std::string& why);

  [[nodiscard]] const std::deque<ChildSession>& all() const { return all_; }
  /// "process 12 is not followed: …" for each child that runs on unseen.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  void hear(const std::string& line);
  void hear_of_session(const std::string& what, std::istringstream& words);
  void begin(const WaitingChild& child);
  void start_debugger(ChildSession& session);
  /// Once it has ended, debuggers are started one by one.
  void look_at_nursery();
  void finish(ChildSession& session);
  [[nodiscard]] std::size_t running() const;

  const DebuggerScript& script_;
  std::string folder_;
  std::string pipe_path_;
  int pipe_ = -1;
  std::string heard_;  // of a line that has not come whole
  std::optional<DebuggerNursery> nursery_;
  std::deque<ChildSession> all_;
  std::vector<std::unique_ptr<ExecWatch>> watches_;
  std::map<std::string, std::vector<long>> left_;  // why, which
  std::string ending_;                             // why the programs were ended, when they were
};

}  // namespace refhist
