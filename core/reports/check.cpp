#include "reports/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "reports/baseline.h"
#include "reports/suppressions.h"

namespace refhist {

namespace {

bool is_armed(const SessionState& state) {
  const auto& sites = state.sites.all();
  return std::any_of(sites.begin(), sites.end(), [&](const Site& site) {
    const bool asked_for = !state.families[site.family.index()].by_default;
    return asked_for && site.current && (site.why_not.empty() || site.hits != 0);
  });
}

std::string why_failed(const SessionState& state) {
  if (!state.cut_short.empty()) return state.cut_short;
  if (!state.opened && !state.tracks_any()) return "nothing is tracked";
  if (!state.opened && state.runs == 0) return "no program ran";
  return {};
}

/// Of the program and its children it is enough that one uses the families.
void set_why_failed(Check& check, bool allow_unarmed) {
  const bool armed =
      allow_unarmed || std::any_of(check.processes.begin(), check.processes.end(),
                                   [](const CheckedProcess& process) { return is_armed(*process.state); });
  for (CheckedProcess& process : check.processes) {
    process.why_failed = why_failed(*process.state);
    if (process.why_failed.empty() && process.parent == 0 && !armed)
      process.why_failed = "no function of the tracked families was ever armed";
    if (process.why_failed.empty() && process.state->agent.damaged().any())
      process.why_failed = "the program has damaged refhist's memory";
    if (process.why_failed.empty() && process.state->lost_events() != 0)
      process.why_failed = "events were lost";
    if (process.why_failed.empty() || !check.why_failed.empty()) continue;
    check.why_failed = process.parent == 0 ? process.why_failed
                                           : fmt::format("process {}: {}", process.pid, process.why_failed);
  }
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

/// Of one process, or of all.
using Findings = std::vector<ReportedFinding>;

Findings findings_of(const Check& check, std::size_t process, const CheckOptions& options,
                     Suppressions& suppressions, const Baseline& baseline) {
  SessionState& state = *check.processes[process].state;
  Findings findings = collect_findings(state, options.filter);
  for (ReportedFinding& finding : findings) {
    finding.process = process;
    if (check.processes.size() > 1) finding.pids = {check.processes[process].pid};
    set_status(state, suppressions, baseline, finding);
  }
  return findings;
}

/// What has the same fingerprint, and the same was said of, is one finding.
void add_findings(Findings& all, Findings more) {
  if (all.empty()) return all.swap(more);
  for (ReportedFinding& finding : more) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const ReportedFinding& one) {
      return one.process != finding.process && one.fingerprint == finding.fingerprint &&
             one.status == finding.status && one.suppressed_by == finding.suppressed_by;
    });
    if (same == all.end()) {
      all.push_back(std::move(finding));
      continue;
    }
    same->pids.push_back(finding.pids.front());
    same->elsewhere += finding.alike.size();
  }
}

/// Returns whether the baseline has to say it.
bool set_known_by_others(Check& check, const CheckOptions& options) {
  std::vector<std::string> fresh;
  for (const ReportedFinding& finding : check.findings) {
    if (finding.status == FindingStatus::fresh) fresh.push_back(finding.fingerprint);
  }
  try {
    const std::vector<std::string> known = options.ask_known(fresh);
    for (ReportedFinding& finding : check.findings) {
      const bool is_known = std::find(known.begin(), known.end(), finding.fingerprint) != known.end();
      if (is_known && finding.status == FindingStatus::fresh) finding.status = FindingStatus::known;
    }
    check.known_by = options.known_by;
    return false;
  } catch (const Error& error) {
    const std::string why = fmt::format("what {} has is not known: {}", options.known_by, error.what());
    if (!options.baseline.empty()) {
      check.notes.push_back(fmt::format("{}; {} is taken instead", why, options.baseline));
      return true;
    }
    if (check.why_failed.empty()) check.why_failed = why;
    check.unjudged = true;
    return false;
  }
}

void set_known(Check& check, const Baseline& baseline) {
  for (ReportedFinding& finding : check.findings) {
    if (finding.status == FindingStatus::fresh && baseline.knows(finding.fingerprint))
      finding.status = FindingStatus::known;
  }
}

/// What is not suppressed and of a fatal kind is accepted from now on. Returns what is to be told.
std::string accept_all(const CheckOptions& options, Check& check) {
  std::map<std::string, Baseline::Entry> accepted;
  for (ReportedFinding& finding : check.findings) {
    if (finding.status == FindingStatus::suppressed || !is_fatal(options.fatal, finding)) continue;
    finding.status = FindingStatus::known;
    accepted[finding.fingerprint] = {finding.verdict, finding_title(check.state_of(finding), finding)};
  }
  Baseline::write(options.baseline, accepted);
  return fmt::format("baseline {} now has {}", options.baseline, plural(accepted.size(), "finding"));
}

}  // namespace

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
  std::string text = fmt::format("{}, {} failing the check", plural(findings.size(), "finding"), failing);
  if (known != 0) text += fmt::format("; {} known from {}", known, known_by);
  if (suppressed != 0) text += fmt::format("; {} suppressed", suppressed);
  // Without findings this would read as if all was well.
  const ProcessEnd& end = program().end;
  if (end.ended && end.by_signal && !end.detached)
    text += fmt::format("; the program was killed by {}", signal_name(end.status));
  return text;
}

std::string Check::children_summary() const {
  std::size_t events = 0;
  std::size_t objects = 0;
  std::size_t children = 0;
  for (const CheckedProcess& process : processes) {
    if (process.parent == 0) continue;
    ++children;
    events += process.state->history.event_count();
    objects += process.state->history.objects().size();
  }
  if (children == 0) return {};
  return fmt::format("{} of the program followed: {} on {}",
                     children == 1 ? "1 child" : fmt::format("{} children", children),
                     plural(events, "event"), plural(objects, "object"));
}

std::vector<std::string> Check::all_notes() const {
  std::vector<std::string> all = notes;
  for (std::string& line : caveats(program())) all.push_back(std::move(line));
  std::map<std::string, std::vector<long>> of_children;
  for (const CheckedProcess& process : processes) {
    if (process.parent == 0) continue;
    for (std::string& line : caveats(*process.state)) of_children[std::move(line)].push_back(process.pid);
  }
  for (const auto& [line, pids] : of_children) {
    all.push_back(pids.size() == 1 ? fmt::format("process {}: {}", pids.front(), line)
                                   : fmt::format("{} processes: {}", pids.size(), line));
  }
  return all;
}

Check check_session(SessionState& state, const CheckOptions& options) {
  return check_processes({CheckedProcess{&state, 0, 0, {}}}, options);
}

Check check_processes(std::vector<CheckedProcess> processes, const CheckOptions& options) {
  Suppressions suppressions;
  if (!options.suppressions.empty()) suppressions = Suppressions::read(options.suppressions);
  Baseline baseline;
  if (!options.baseline.empty() && !options.update_baseline) baseline = Baseline::read(options.baseline);

  Check check;
  check.processes = std::move(processes);
  check.fatal = options.fatal;
  set_why_failed(check, options.allow_unarmed);
  const bool by_others = options.ask_known != nullptr && !options.update_baseline;
  for (std::size_t i = 0; i < check.processes.size(); ++i)
    add_findings(check.findings,
                 findings_of(check, i, options, suppressions, by_others ? Baseline() : baseline));
  const bool by_baseline = !by_others || set_known_by_others(check, options);
  if (by_others && by_baseline) set_known(check, baseline);
  // A session that failed may have missed what was accepted before.
  if (options.update_baseline && check.why_failed.empty()) check.notes.push_back(accept_all(options, check));
  for (const ReportedFinding& finding : check.findings) {
    if (check.fails(finding)) ++check.failing;
    if (finding.status == FindingStatus::known) ++check.known;
    if (finding.status == FindingStatus::suppressed) ++check.suppressed;
  }
  for (const std::string& line : suppressions.unused())
    check.notes.push_back(fmt::format("suppression {} matched nothing", line));
  if (check.why_failed.empty() && by_baseline) {
    for (const std::string& gone : baseline.gone(check.findings))
      check.notes.push_back(fmt::format("in the baseline, but no longer found: {}", gone));
  }
  return check;
}

}  // namespace refhist
