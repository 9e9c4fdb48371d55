#include "reports/listed_leaks.h"

#include <fmt/core.h>

#include "reports/suppressions.h"

namespace refhist {

namespace {
ReportedFinding finding_of(const LeakGroup& group) {
  ReportedFinding finding;
  finding.verdict = group.verdict;
  finding.object = group.objects.front();
  finding.references = group.references;
  finding.alike = group.objects;
  return finding;
}
}  // namespace

ListedLeaks list_leaks(SessionState& state, const FindingFilter& filter, const std::string& suppressions) {
  ListedLeaks listed;
  Suppressions left_out;
  if (!suppressions.empty()) left_out = Suppressions::read(suppressions);
  LeakFinder finder = state.leak_finder();
  for (LeakGroup& group : finder.find(state.scan.objects)) {
    if (!filter.wants(state.family_name(group.family))) continue;
    const bool reachable = group.reach_known && group.reach == Reach::reachable;
    if (reachable) listed.reachable += group.objects.size();
    if (reachable && !filter.reachable && !is_held(state, group)) continue;
    if (!left_out.match(state, finding_of(group)).empty()) {
      listed.suppressed += group.objects.size();
      continue;
    }
    listed.groups.push_back(std::move(group));
  }
  for (const std::string& line : left_out.unused())
    listed.notes.push_back(fmt::format("suppression {} matched nothing", line));
  return listed;
}

}  // namespace refhist
