// The judgement of a session: what was found, what of it is new, and whether it fails the check.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/findings.h"
#include "session/session_state.h"

namespace refhist {

struct CheckOptions {
  std::vector<Verdict> fatal;
  FindingFilter filter;
  std::string suppressions;  ///< file; empty: none
  std::string baseline;      ///< file; empty: none
  bool update_baseline = false;
  bool allow_unarmed = false;  ///< a session in which nothing could be armed proves that nothing is wrong
  /// Which of these fingerprints are known, by somebody who answers instead of the baseline; the baseline
  /// stands in where that throws Error. Empty: nobody.
  std::function<std::vector<std::string>(const std::vector<std::string>& fingerprints)> ask_known = {};
  std::string known_by = "the baseline";  ///< who that is, in words
};

/// A process that is looked at: the program, or a child of it that has a history of its own.
struct CheckedProcess {
  SessionState* state = nullptr;
  long pid = 0;            ///< 0: not known, and the only one
  long parent = 0;         ///< 0: it is the program
  std::string why_failed;  ///< why its session proves nothing; empty when it proves something
};

struct Check {
  std::vector<CheckedProcess> processes;  ///< the program first
  std::vector<ReportedFinding> findings;  ///< one for all processes that have it
  std::vector<Verdict> fatal;
  std::size_t failing = 0;  ///< new findings of a fatal kind
  std::size_t known = 0;
  std::size_t suppressed = 0;
  std::vector<std::string> notes;  ///< about suppressions and the baseline
  std::string why_failed;          ///< why it proves nothing; empty when it proves something
  std::string known_by = "the baseline";
  bool unjudged = false;  ///< nobody could say what is known

  [[nodiscard]] SessionState& program() const { return *processes.front().state; }
  [[nodiscard]] SessionState& state_of(const ReportedFinding& finding) const {
    return *processes[finding.process].state;
  }
  /// `notes`, and what every report says of each process: once, however many it is said of.
  [[nodiscard]] std::vector<std::string> all_notes() const;
  [[nodiscard]] bool fails(const ReportedFinding& finding) const;
  /// 23 findings, 0 clean, 1 the session failed.
  [[nodiscard]] int status() const { return failing != 0 && !unjudged ? 23 : why_failed.empty() ? 0 : 1; }
  /// "2 findings, 1 of a kind that fails the check; 1 known".
  [[nodiscard]] std::string summary() const;
  /// "3 children of the program followed: 12 events on 2 objects"; empty where there are none.
  [[nodiscard]] std::string children_summary() const;
};

/// Throws Error when a file cannot be read or written.
Check check_session(SessionState& state, const CheckOptions& options);
/// One judgement of several processes, the program first. They live as long as what is returned.
Check check_processes(std::vector<CheckedProcess> processes, const CheckOptions& options);

std::string_view status_name(FindingStatus status);

}  // namespace refhist
