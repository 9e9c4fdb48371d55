#include "reports/junit_report.h"

#include <fmt/core.h>

#include "reports/leak_report.h"
#include "reports/xml_text.h"

namespace refhist {

namespace {

std::string outcome(SessionState& state, const Check& check, const ReportedFinding& finding) {
  if (finding.status == FindingStatus::suppressed)
    return fmt::format("      <skipped message=\"suppressed: {}\"/>\n", xml_text(finding.suppressed_by));
  if (finding.status == FindingStatus::known) return "      <skipped message=\"known from the baseline\"/>\n";
  if (!check.fails(finding))
    return fmt::format("      <skipped message=\"verdict does not fail the check: {}\"/>\n",
                       xml_text(finding.why));
  return fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                     verdict_name(finding.verdict),
                     xml_text(finding.why.empty() ? finding_title(state, finding) : finding.why),
                     xml_text(finding_lines(state, finding)));
}

std::string test_case(const Check& check, const ReportedFinding& finding, const SourcePlaces& places) {
  SessionState& state = check.state_of(finding);
  const std::string family = state.family_name(state.history.object(finding.object).family);
  const NamedFrame place = finding_place(state, finding);
  const std::string where = place.file.empty() ? std::string()
                                               : fmt::format(" file=\"{}\" line=\"{}\"",
                                                             xml_text(places.shown(place.file)), place.line);
  return fmt::format(
      "    <testcase classname=\"refhist.{}\" name=\"{} [{}]\"{} time=\"0\">\n{}    </testcase>\n",
      xml_text(family), xml_text(finding_title(state, finding)), finding.fingerprint, where,
      outcome(state, check, finding));
}

std::string session_case(const CheckedProcess& process) {
  const std::string child = process.parent == 0 ? std::string() : fmt::format(" (process {})", process.pid);
  const std::string begin =
      fmt::format("    <testcase classname=\"refhist\" name=\"session of {}{}\" time=\"0\"",
                  xml_text(process.state->program.executable), child);
  if (process.why_failed.empty()) return begin + "/>\n";
  return fmt::format("{}>\n      <error type=\"session\" message=\"{}\"/>\n    </testcase>\n", begin,
                     xml_text(process.why_failed));
}

}  // namespace

std::string junit_report(const Check& check, const SourcePlaces& places) {
  std::string cases;
  std::size_t failed = 0;
  for (const CheckedProcess& process : check.processes) {
    cases += session_case(process);
    if (!process.why_failed.empty()) ++failed;
  }
  std::size_t skipped = 0;
  for (const ReportedFinding& finding : check.findings) {
    cases += test_case(check, finding, places);
    if (!check.fails(finding)) ++skipped;
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"0\"",
                  check.findings.size() + check.processes.size(), check.failing, failed, skipped);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"refhist\" {0}>\n"
      "  <testsuite name=\"{1}\" {0}>\n{2}  </testsuite>\n</testsuites>\n",
      counts, xml_text(check.program().program.executable), cases);
}

}  // namespace refhist
