// What happens at one stop of ours: record, keep the plan in step with the modules, decide whether the
// program stays stopped and why.
#pragma once

#include <string>
#include <unordered_set>

#include "events/repeated_hits.h"
#include "session/session_state.h"
#include "session/tracker.h"

namespace refhist {

class HitHandler {
 public:
  HitHandler(SessionState& state, Tracker& tracker) : state_(state), tracker_(tracker) {}

  /// True: the program stays stopped for `stop_reason()`. Throws Error.
  bool handle(DebuggerPort& port, long tid, Address pc);
  [[nodiscard]] const std::string& stop_reason() const { return reason_; }

  /// The user sees a stop; `signal` is fatal or 0. With break-on-leak, the leaks are told at a fatal signal.
  void judge_stop(DebuggerPort& port, int signal);

 private:
  void check_process(DebuggerPort& port, long tid);
  void judge(const Recorded& recorded, long tid);
  void judge_watched(const PendingCall& call, long tid);
  void judge_exit(DebuggerPort& port);
  void stop_for(StopRule& rule, const std::string& what);
  [[nodiscard]] std::string leak_summary(const StopRule& rule, std::size_t& count);
  [[nodiscard]] std::string place(const Recorded& recorded, long tid);
  [[nodiscard]] bool rule_applies(const StopRule& rule, const Object& object) const;

  SessionState& state_;
  Tracker& tracker_;
  RepeatedHits repeated_;
  std::string reason_;
  std::unordered_set<long> known_threads_;  ///< of `known_process_`: they need no second look whose they are
  long known_process_ = 0;
};

}  // namespace refhist
