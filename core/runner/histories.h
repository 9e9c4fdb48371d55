// What the session and those of its children have left.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "reports/check.h"
#include "runner/run_session.h"
#include "session/session_state.h"

namespace refhist {

class Histories {
 public:
  /// Reads them. One that is not there or damaged is empty, and says why.
  explicit Histories(const RunSession& session);

  [[nodiscard]] const SessionState& program() const { return program_; }
  SessionState& program() { return program_; }
  /// The program and the children that were followed. They live as long as this.
  [[nodiscard]] const std::vector<CheckedProcess>& processes() const { return processes_; }

 private:
  SessionState program_;
  std::deque<SessionState> children_;
  std::vector<CheckedProcess> processes_;
};

/// Of each process a file: `path`, `path`.1234 for a child.
void save_histories(const RunSession& session, const std::string& path);

}  // namespace refhist
