#include "reports/check_report.h"

#include <fmt/core.h>

#include "reports/leak_report.h"

namespace refhist {

std::string check_report(const Check& check) {
  SessionState& program = check.program();
  std::string text;
  for (const ReportedFinding& finding : check.findings) {
    if (finding.status == FindingStatus::fresh) text += finding_lines(check.state_of(finding), finding);
  }
  text += fmt::format("refhist check: {}\n", check.summary());
  if (const std::string children = check.children_summary(); !children.empty()) text += children + "\n";
  if (!program.history.objects().empty()) text += scan_line(program) + "\n";
  for (const std::string& line : check.all_notes()) text += fmt::format("note: {}\n", line);
  if (!check.why_failed.empty()) text += fmt::format("refhist check: failed: {}\n", check.why_failed);
  return text;
}

}  // namespace refhist
