// `refhist snapshot`, `diff`, `balance` and `usage`.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/birthplaces.h"
#include "analysis/lifetime.h"
#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "reports/analysis_report.h"

namespace refhist {

namespace {

constexpr std::size_t kTimeSteps = 10;
constexpr std::int64_t kPlaces = 20;

std::string snapshot_list(const SessionState& state) {
  std::string text;
  for (const Snapshot& snapshot : state.snapshots)
    text += fmt::format("{}: after {}\n", snapshot.name, plural(snapshot.moment.value, "event"));
  return text.empty() ? "no snapshot was taken\n" : text;
}

std::string snapshots_json(const SessionState& state) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Snapshot& snapshot : state.snapshots)
    list.push_back({{"name", snapshot.name}, {"seq", snapshot.moment.value}});
  return nlohmann::ordered_json{{"schema", "refhist/1"}, {"snapshots", std::move(list)}}.dump(
             2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

const Snapshot& snapshot_named(const SessionState& state, const std::string& name) {
  std::vector<std::string> names;
  for (const Snapshot& snapshot : state.snapshots) {
    if (snapshot.name == name) return snapshot;
    names.push_back(snapshot.name);
  }
  fail("no snapshot {}{}: {}", name, suggestion(name, names),
       names.empty() ? "refhist snapshot takes one" : join(names, ", "));
}

Comparison between(const CommandContext& context) {
  const SessionState& state = context.state;
  const auto& words = context.arguments.words();
  if (state.snapshots.empty()) fail("no snapshot was taken: refhist snapshot first, diff later");
  const Snapshot& from = words.empty() ? state.snapshots.back() : snapshot_named(state, words[0]);
  Comparison comparison{{from.moment, EventId(state.history.event_count())}, {from.name, "now"}};
  if (words.size() > 1) {
    const Snapshot& to = snapshot_named(state, words[1]);
    comparison.moments[1] = to.moment;
    comparison.names[1] = to.name;
  }
  if (comparison.moments[1] < comparison.moments[0]) fail("{} is later than {}", words[0], words[1]);
  return comparison;
}

Comparison repeated(const CommandContext& context) {
  const SessionState& state = context.state;
  const std::int64_t settle = context.arguments.number("--settle", 0);
  const std::int64_t repeat = context.arguments.number("--repeat", 0);
  if (settle < 0 || repeat < 1) fail("--repeat must be the number of steps that show growth, 1 or more");
  if (!context.arguments.words().empty()) fail("--repeat compares all snapshots: do not name any");
  const auto needed = static_cast<std::size_t>(settle + repeat + 1);
  if (state.snapshots.size() < needed)
    fail("{} needed for {} to settle and {}, {} taken", plural(needed, "snapshot"), settle,
         plural(static_cast<std::size_t>(repeat), "step"), state.snapshots.size());
  Comparison comparison;
  comparison.repeated = true;
  for (auto i = static_cast<std::size_t>(settle); i < needed; ++i) {
    comparison.moments.push_back(state.snapshots[i].moment);
    comparison.names.push_back(state.snapshots[i].name);
  }
  return comparison;
}

bool worth_telling(const PlaceGrowth& growth, bool repeated) {
  if (!repeated) return growth.live.front() != growth.live.back() || !growth.fresh.empty();
  return std::adjacent_find(growth.live.begin(), growth.live.end(), std::greater_equal<>()) ==
         growth.live.end();
}

std::vector<MoreReferences> held_more(const SessionState& state, const Comparison& comparison,
                                      const FindingFilter& filter) {
  std::vector<MoreReferences> held;
  for (const auto& [id, object] : state.history.objects()) {
    const Lifetime life = lifetime_of(object);
    const bool both = object.events != 0 && life.covers(comparison.moments.front()) &&
                      life.covers(comparison.moments.back()) &&
                      object.last_event >= comparison.moments.front();
    if (!both || !filter.wants(state.family_name(object.family))) continue;
    const Count before = count_at(state.history, id, comparison.moments.front());
    const Count after = count_at(state.history, id, comparison.moments.back());
    if (before && after && *after > *before) held.push_back({id, *before, *after});
  }
  return held;
}

std::vector<ObjectId> objects_of_family(const CommandContext& context, const std::string& glob) {
  std::vector<ObjectId> objects;
  const History& history = context.state.history;
  for (const auto& [id, object] : history.objects()) {
    const bool wanted = context.arguments.has("--all") || object.state == ObjectState::live;
    if (wanted && glob_match(glob, context.state.family_name(object.family))) objects.push_back(id);
  }
  return objects;
}

bool is_family(const SessionState& state, const std::string& word) {
  return std::any_of(state.families.begin(), state.families.end(), [&](const TrackedFamily& tracked) {
    return state.shows(tracked) && glob_match(word, tracked.family.name);
  });
}

}  // namespace

void run_snapshot(CommandContext& context) {
  SessionState& state = context.state;
  context.arguments.expect_words(1, "snapshot");
  const auto& words = context.arguments.words();
  if (context.arguments.has("--list")) {
    context.text = context.arguments.has("--json") ? snapshots_json(state) : snapshot_list(state);
    return;
  }
  const std::string name = words.empty() ? std::to_string(state.snapshots.size() + 1) : words.front();
  const bool taken = std::any_of(state.snapshots.begin(), state.snapshots.end(),
                                 [&](const Snapshot& snapshot) { return snapshot.name == name; });
  if (taken) fail("there is already a snapshot {}: refhist snapshot --list", name);
  state.snapshots.push_back(Snapshot{name, EventId(state.history.event_count())});
  context.text = context.arguments.has("--json") ? snapshots_json(state)
                                                 : fmt::format("snapshot {} after {}\n", name,
                                                               plural(state.history.event_count(), "event"));
}

void run_diff(CommandContext& context) {
  SessionState& state = context.state;
  context.arguments.expect_words(2, "diff");
  const bool settles = context.arguments.has("--settle") || context.arguments.has("--repeat");
  const Comparison comparison = settles ? repeated(context) : between(context);
  const FindingFilter filter = finding_filter(context.arguments);
  Birthplaces places(state.history, state.sites, state.namer);
  Difference difference{growth_between(state.history, places, state.folded, comparison.moments), {}};
  std::erase_if(difference.places, [&](const PlaceGrowth& growth) {
    return !filter.wants(state.family_name(growth.place->family)) ||
           !worth_telling(growth, comparison.repeated);
  });
  if (!comparison.repeated) difference.held = held_more(state, comparison, filter);
  context.text = context.arguments.has("--json") ? difference_json(state, comparison, difference)
                                                 : difference_report(state, comparison, difference);
}

void run_balance(CommandContext& context) {
  const auto& words = context.arguments.words();
  if (words.empty()) fail("usage: refhist balance FAMILY|ADDR|EXPR");
  const bool family = words.size() == 1 && is_family(context.state, words.front());
  const std::vector<ObjectId> objects =
      family ? objects_of_family(context, words.front()) : objects_named(context);
  BalanceTree tree(context.state.history, context.state.namer);
  for (const ObjectId id : objects) tree.add(id);
  const BalanceTree::Node& root = tree.pruned();
  context.text = context.arguments.has("--json") ? balance_json(context.state, root, objects.size())
                                                 : balance_report(context.state, root, objects.size());
}

void run_usage(CommandContext& context) {
  SessionState& state = context.state;
  context.arguments.expect_words(0, "usage");
  const std::int64_t top = context.arguments.number("--top", kPlaces);
  if (top < 1) fail("--top must be 1 or more");
  const FindingFilter filter = finding_filter(context.arguments);
  Birthplaces places(state.history, state.sites, state.namer);
  std::vector<PlaceUsage> usage = usage_of(state.history, places, state.folded, kTimeSteps);
  std::erase_if(
      usage, [&](const PlaceUsage& entry) { return !filter.wants(state.family_name(entry.place->family)); });
  context.text = context.arguments.has("--json") ? usage_json(state, usage)
                                                 : usage_report(state, usage, static_cast<std::size_t>(top));
}

}  // namespace refhist
