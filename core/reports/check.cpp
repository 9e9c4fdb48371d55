#include "reports/check.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "reports/baseline.h"
#include "reports/suppressions.h"

namespace refhist {

namespace {

std::string why_failed(const SessionState& state, bool allow_unarmed) {
  if (!state.cut_short.empty()) return state.cut_short;
  if (!state.opened && !state.tracks_any()) return "nothing is tracked";
  if (!state.opened && state.runs == 0) return "no program ran";
  const auto& sites = state.sites.all();
  const bool armed = std::any_of(sites.begin(), sites.end(), [&](const Site& site) {
    const bool asked_for = !state.families[site.family.index()].by_default;
    return asked_for && site.current && (site.why_not.empty() || site.hits != 0);
  });
  if (!armed && !allow_unarmed) return "no function of the tracked families was ever armed";
  if (lost_events(state) != 0) return "events were lost";
  return {};
}

void set_status(SessionState& state, Suppressions& suppressions, const Baseline& baseline,
                ReportedFinding& finding) {
  finding.suppressed_by = suppressions.match(state, finding);
  if (!finding.suppressed_by.empty()) {
    finding.status = FindingStatus::suppressed;
  } else if (baseline.knows(finding.fingerprint)) {
    finding.status = FindingStatus::known;
  }
}

bool is_fatal(const std::vector<Verdict>& fatal, const ReportedFinding& finding) {
  return std::find(fatal.begin(), fatal.end(), finding.verdict) != fatal.end();
}

/// What is not suppressed and of a fatal kind is accepted from now on. Returns what is to be told.
std::string accept_all(SessionState& state, const CheckOptions& options, Check& check) {
  std::vector<ReportedFinding> accepted;
  for (ReportedFinding& finding : check.findings) {
    if (finding.status == FindingStatus::suppressed || !is_fatal(options.fatal, finding)) continue;
    finding.status = FindingStatus::known;
    accepted.push_back(finding);
  }
  Baseline::write(options.baseline, state, accepted);
  return fmt::format("baseline {} has {} now", options.baseline, plural(accepted.size(), "finding"));
}

}  // namespace

std::uint64_t lost_events(const SessionState& state) { return state.lost_hits + state.agent.lost(); }

std::string_view status_name(FindingStatus status) {
  switch (status) {
    case FindingStatus::fresh:
      return "new";
    case FindingStatus::known:
      return "known";
    case FindingStatus::suppressed:
      return "suppressed";
  }
  return {};
}

bool Check::fails(const ReportedFinding& finding) const {
  return finding.status == FindingStatus::fresh && is_fatal(fatal, finding);
}

std::string Check::summary() const {
  std::string text =
      fmt::format("{}, {} of a kind that fails the check", plural(findings.size(), "finding"), failing);
  if (known != 0) text += fmt::format("; {} known by the baseline", known);
  if (suppressed != 0) text += fmt::format("; {} suppressed", suppressed);
  return text;
}

Check check_session(SessionState& state, const CheckOptions& options) {
  Suppressions suppressions;
  if (!options.suppressions.empty()) suppressions = Suppressions::read(options.suppressions);
  Baseline baseline;
  if (!options.baseline.empty() && !options.update_baseline) baseline = Baseline::read(options.baseline);

  Check check;
  check.fatal = options.fatal;
  check.why_failed = why_failed(state, options.allow_unarmed);
  check.findings = collect_findings(state, options.filter);
  for (ReportedFinding& finding : check.findings) set_status(state, suppressions, baseline, finding);
  // A session that failed may have missed what was accepted before.
  if (options.update_baseline && check.why_failed.empty())
    check.notes.push_back(accept_all(state, options, check));
  for (const ReportedFinding& finding : check.findings) {
    if (check.fails(finding)) ++check.failing;
    if (finding.status == FindingStatus::known) ++check.known;
    if (finding.status == FindingStatus::suppressed) ++check.suppressed;
  }
  for (const std::string& line : suppressions.unused())
    check.notes.push_back(fmt::format("suppression {} has matched nothing", line));
  if (check.why_failed.empty()) {
    for (const std::string& gone : baseline.gone(check.findings))
      check.notes.push_back(fmt::format("of the baseline, not found any more: {}", gone));
  }
  return check;
}

}  // namespace refhist
