// The judgement of a session: what was found, what of it is new, and whether it fails the check.
#pragma once

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
};

struct Check {
  std::vector<ReportedFinding> findings;
  std::vector<Verdict> fatal;
  std::size_t failing = 0;  ///< new findings of a fatal kind
  std::size_t known = 0;
  std::size_t suppressed = 0;
  std::vector<std::string> notes;  ///< about suppressions and the baseline
  std::string why_failed;          ///< why it proves nothing; empty when it proves something

  [[nodiscard]] bool fails(const ReportedFinding& finding) const;
  /// 23 findings, 0 clean, 1 the session failed.
  [[nodiscard]] int status() const { return failing != 0 ? 23 : why_failed.empty() ? 0 : 1; }
  /// "2 findings, 1 of a kind that fails the check; 1 known".
  [[nodiscard]] std::string summary() const;
};

/// Throws Error when a file cannot be read or written.
Check check_session(SessionState& state, const CheckOptions& options);

/// Events that were not recorded, as far as that is known.
std::uint64_t lost_events(const SessionState& state);

std::string_view status_name(FindingStatus status);

}  // namespace refhist
