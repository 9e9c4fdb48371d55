// `refhist explain`.
#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "explain/explanation.h"
#include "explain/explanation_json.h"
#include "explain/second_run.h"
#include "reports/findings.h"
#include "session/reach_scans.h"

namespace refhist {

namespace {

bool is_fingerprint(const std::string& word) {
  constexpr std::size_t kDigits = 16;
  return word.size() == kDigits && word.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Objects with this fingerprint. Throws Error when no finding has it.
std::vector<ObjectId> found_as(SessionState& state, const std::string& fingerprint) {
  for (const ReportedFinding& finding : collect_findings(state, {})) {
    if (finding.fingerprint == fingerprint) return {finding.object};
  }
  fail("no finding has the fingerprint {}: refhist check --stay lists them", fingerprint);
}

std::vector<ObjectId> wanted(CommandContext& context) {
  const std::vector<std::string>& words = context.arguments.words();
  if (words.empty()) return explainable(context.state, kMostExplained);
  return words.size() == 1 && is_fingerprint(words.front()) ? found_as(context.state, words.front())
                                                            : objects_named(context);
}

/// Throws Error where the program cannot be run again as it was.
void expect_repeatable(const SessionState& state) {
  if (state.history.event_count() == 0) fail("nothing was recorded: refhist track, then run");
  if (state.opened)
    fail("explain runs the program again, and a saved history does not say how: use refhist-run --explain");
  if (state.orders.empty()) fail("nothing is tracked");
  if (state.program.folder.empty()) fail("the program runs on another machine: it cannot be run again here");
  const bool late = std::any_of(state.families.begin(), state.families.end(), [&](const auto& tracked) {
    return state.shows(tracked) && !tracked.untracked && !tracked.by_default && !tracked.from_start;
  });
  if (late)
    fail(
        "explain runs the program again from its start, and this run was not tracked from there: refhist "
        "track before run");
}

}  // namespace

void run_explain(CommandContext& context) {
  SessionState& state = context.state;
  expect_repeatable(state);
  SecondRun second{runner_beside(state.families_folder), std::string(context.port.name()),
                   recording_settings(state), state.orders, state.program};
  if (context.arguments.has("--timeout")) {
    second.seconds = static_cast<double>(context.arguments.number("--timeout", 0));
    if (second.seconds < 1) fail("--timeout must be 1 second or more");
  }
  scan_if_alive(state, context.port);
  const std::vector<ObjectId> objects = wanted(context);
  if (objects.empty()) fail("there is nothing to explain: refhist check --stay lists the findings");
  const std::vector<Explanation> all = explain(state, objects, second);
  if (context.arguments.has("--json")) {
    context.text = explanations_json(state, all);
    return;
  }
  for (const Explanation& explanation : all) context.text += explanation.text(state);
}

}  // namespace refhist
