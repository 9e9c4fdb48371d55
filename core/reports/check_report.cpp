#include "reports/check_report.h"

#include <fmt/core.h>

#include "base/text.h"
#include "reports/leak_report.h"

namespace refhist {

namespace {

/// What the children's histories hold; empty where there are none.
std::string children_line(const Check& check) {
  if (check.processes.size() < 2) return {};
  std::size_t events = 0;
  std::size_t objects = 0;
  for (const CheckedProcess& process : check.processes) {
    if (process.parent == 0) continue;
    events += process.state->history.event_count();
    objects += process.state->history.objects().size();
  }
  const std::size_t children = check.processes.size() - 1;
  return fmt::format("{} of the program followed: {} on {}\n",
                     children == 1 ? "1 child" : fmt::format("{} children", children),
                     plural(events, "event"), plural(objects, "object"));
}

}  // namespace

std::string check_report(const Check& check) {
  SessionState& program = check.program();
  std::string text;
  for (const ReportedFinding& finding : check.findings) {
    if (finding.status == FindingStatus::fresh) text += finding_lines(check.state_of(finding), finding);
  }
  text += fmt::format("refhist check: {}\n", check.summary()) + children_line(check);
  if (!program.history.objects().empty()) text += scan_line(program) + "\n";
  for (const std::string& line : check.all_notes()) text += fmt::format("note: {}\n", line);
  if (!check.why_failed.empty()) text += fmt::format("refhist check: failed: {}\n", check.why_failed);
  return text;
}

}  // namespace refhist
