// Outstanding references as people read them, grouped, with the suspect put.
#pragma once

#include <string>

#include "analysis/leaks.h"
#include "reports/findings.h"
#include "reports/history_report.h"
#include "session/session_state.h"

namespace refhist {

struct LeakReportOptions {
  FindingFilter filter;
  Stacks stacks = Stacks::none;
  std::string suppressions;  ///< a file, or empty
};

std::string leak_report(SessionState& state, const LeakReportOptions& options);
/// What that says of one group.
std::string leak_group_text(SessionState& state, const LeakGroup& group);

/// One line for each finding, with its suspects: what `check` prints.
std::string finding_lines(SessionState& state, const ReportedFinding& finding);

/// What is known about reachability, in one line: scanned when, or why not.
std::string scan_line(const SessionState& state);

}  // namespace refhist
