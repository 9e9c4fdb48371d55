#include "reports/leak_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "reports/cycle_path.h"
#include "reports/fold_notes.h"
#include "reports/history_report.h"
#include "reports/listed_leaks.h"

namespace refhist {

namespace {

constexpr std::size_t kListedAddresses = 8;

std::string addresses(SessionState& state, const std::vector<ObjectId>& objects) {
  std::string text;
  for (std::size_t i = 0; i < std::min(objects.size(), kListedAddresses); ++i) {
    text += fmt::format(" {:#x}", state.history.object(objects[i]).address);
    const std::string managed = managed_text(state, objects[i]);
    if (!managed.empty()) text += fmt::format(" ({})", managed);
  }
  if (objects.size() > kListedAddresses)
    text += fmt::format(" and {} more", objects.size() - kListedAddresses);
  return text;
}

std::string headline(SessionState& state, const LeakGroup& group) {
  const std::size_t n = group.objects.size();
  std::string what;
  if (!group.reach_known) {
    what = state.alive ? "outstanding" : "never released";
  } else if (group.reach == Reach::unreachable) {
    what = n == 1 ? "leaked: nothing points at it" : "leaked: nothing points at them";
  } else if (group.reach == Reach::from_leaked) {
    what = group.consequence     ? "held only by leaked objects"
           : group.cycle.empty() ? "leaked: held by lost memory"
                                 : "leaked: in a cycle that nothing else points at";
  } else if (is_held(state, group)) {
    what = "held: not leaked";
  } else {
    what = "outstanding, still reachable: not leaked";
  }
  if (group.verdict == Verdict::undecidable) what = "undecidable";
  return fmt::format("{} {} {}", n, type_title(state, group.family, group.objects), what);
}

std::string born_line(const SessionState& state, const LeakGroup& group) {
  const Object& first = state.history.object(group.objects.front());
  if (!first.born.valid()) return "  born unseen\n";
  const std::string place = FrameNamer::text(group.born);
  return fmt::format("  born in {}{}\n", place,
                     group.born_by.empty() ? "" : fmt::format(" by {}", group.born_by));
}

constexpr std::size_t kMostReferences = 10;  // that are listed without being asked for

std::string some_references(SessionState& state, std::vector<EventId> references, Stacks stacks,
                            const std::string& indent) {
  const std::size_t all = references.size();
  if (stacks == Stacks::none && all > kMostReferences + 1) references.resize(kMostReferences);
  std::string text = reference_lines(state, references, stacks, indent);
  if (references.size() < all)
    text +=
        fmt::format("{}and {} more (refhist leaks --stacks lists all)\n", indent, all - references.size());
  return text;
}

std::string suspect_lines(const std::vector<Suspect>& suspects, const std::string& indent) {
  std::string text;
  for (const Suspect& suspect : suspects)
    text += fmt::format("{}suspect ({}): {}\n", indent, suspect.confidence, suspect.text());
  return text;
}

std::string group_text(SessionState& state, const LeakGroup& group, Stacks stacks) {
  if (group.consequence) return headline(state, group) + "\n" + born_line(state, group);
  std::string text = headline(state, group) + "\n" + born_line(state, group);
  text += suspect_lines(group.suspects, "  ");
  if (!group.why.empty()) text += fmt::format("  {}\n", group.why);
  if (is_held(state, group)) text += fmt::format("  {}\n", held_text(state, group));
  if (!group.references.empty()) {
    text += group.folded_references != 0   ? "  one of these references, or of those that are only counted:\n"
            : group.references.size() == 1 ? "  most likely this reference:\n"
                                           : "  one of these references:\n";
    text += some_references(state, group.references, stacks, "    ");
    text += folded_event_lines(state, group.objects.front(), "    ");
  }
  const bool holder = group.cycle.empty() && !is_held(state, group);
  if (group.reach_known && group.reach != Reach::unreachable && holder) {
    const auto found = state.scan.objects.find(group.objects.front());
    if (found != state.scan.objects.end()) text += fmt::format("  held by {}\n", found->second.where);
  }
  text += cycle_text(state, group.cycle, "  ");
  return text + fmt::format("  {}:{}\n", group.objects.size() == 1 ? "object" : "objects",
                            addresses(state, group.objects));
}

}  // namespace

std::string scan_line(const SessionState& state) {
  const ReachScan& scan = state.scan;
  if (!scan.done && scan.why_not.empty() && state.end.ended) {
    const std::string how =
        state.end.detached
            ? std::string(state.end.status == 0 ? "the debugger detached"
                                                : "the debugger killed the program or detached")
        : state.end.by_signal ? fmt::format("the program was killed by signal {}", state.end.status)
                              : std::string("the program ended");
    return how +
           " before reachability was checked: by the recorded events, what is listed is outstanding, not "
           "necessarily leaked";
  }
  if (!scan.done) {
    return scan.why_not.empty()
               ? "reachability was not checked: what is listed is outstanding, not necessarily leaked"
               : fmt::format(
                     "reachability is not known ({}): what is listed is outstanding, not "
                     "necessarily leaked",
                     scan.why_not);
  }
  std::string text = fmt::format("reachability as it was after {}{}", plural(scan.at_event, "event"),
                                 scan.at_exit ? ", when the program was about to end" : "");
  if (!scan.why_not.empty()) text += "; " + scan.why_not;
  return text;
}

std::string leak_group_text(SessionState& state, const LeakGroup& group) {
  return group_text(state, group, Stacks::none);
}

std::string leak_report(SessionState& state, const LeakReportOptions& options) {
  const ListedLeaks listed = list_leaks(state, options.filter, options.suppressions);
  std::string text;
  for (const LeakGroup& group : listed.groups) text += group_text(state, group, options.stacks) + "\n";
  if (std::all_of(listed.groups.begin(), listed.groups.end(),
                  [&](const LeakGroup& group) { return is_held(state, group); }))
    text += state.history.objects().empty() ? "no objects were seen\n" : "nothing is leaked\n";
  if (listed.reachable != 0 && !options.filter.reachable) {
    text += fmt::format("{} outstanding but reachable: not leaks (--reachable lists them)\n",
                        plural(listed.reachable, "object"));
  }
  if (listed.suppressed != 0) text += fmt::format("{} suppressed\n", plural(listed.suppressed, "object"));
  if (!state.history.objects().empty()) text += scan_line(state) + "\n";
  for (const std::string& line : listed.notes) text += fmt::format("note: {}\n", line);
  for (const std::string& line : caveats(state)) text += fmt::format("note: {}\n", line);
  return text;
}

std::string finding_lines(SessionState& state, const ReportedFinding& finding) {
  std::string text =
      fmt::format("{}: {}", verdict_name(finding.verdict), object_title(state, finding.object));
  if (const std::size_t more = finding.alike.size() - 1 + finding.elsewhere; more != 0)
    text += fmt::format(" and {} alike", more);
  if (const std::string where = processes_text(finding); !where.empty()) text += " in " + where;
  if (!finding.why.empty()) text += fmt::format(": {}", finding.why);
  text += fmt::format(" [{}]\n", finding.fingerprint);
  text += some_references(state, finding.references, Stacks::none, "    ");
  return text + suspect_lines(finding.suspects, "  ");
}

}  // namespace refhist
