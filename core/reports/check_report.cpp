#include "reports/check_report.h"

#include <fmt/core.h>

#include "reports/leak_report.h"

namespace refhist {

std::string check_report(SessionState& state, const Check& check) {
  std::string text;
  for (const ReportedFinding& finding : check.findings) {
    if (finding.status == FindingStatus::fresh) text += finding_lines(state, finding);
  }
  text += fmt::format("refhist check: {}\n", check.summary());
  if (!state.history.objects().empty()) text += scan_line(state) + "\n";
  for (const std::string& line : check.notes) text += fmt::format("note: {}\n", line);
  for (const std::string& line : caveats(state)) text += fmt::format("note: {}\n", line);
  if (!check.why_failed.empty()) text += fmt::format("refhist check: failed: {}\n", check.why_failed);
  return text;
}

}  // namespace refhist
