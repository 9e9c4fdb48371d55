#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "base/user_path.h"
#include "commands/command.h"
#include "reports/json_report.h"

namespace refhist {

namespace {

std::string list_rules(const SessionState& state, RuleKind kind) {
  std::string text;
  for (const StopRule& rule : state.rules.all()) {
    if (rule.kind != kind) continue;
    text += fmt::format("{:<3} {}\n", rule.number, rule.status());
  }
  return text.empty() ? fmt::format("no {} rules\n", rule_verb(kind)) : text;
}

int rule_number(const std::vector<std::string>& words) {
  int number = 0;
  const std::string text = words.size() > 1 ? words[1] : std::string();
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) {
    fail("{} needs the number of a rule: refhist status lists them", words[0]);
  }
  return number;
}

/// Brings what the debugger catches in line with the rules. False when it refused.
bool keep_exit_catch(CommandContext& context) {
  if (!context.port.can_catch_raw_exit()) return true;
  const bool wanted = context.state.rules.any_for_raw_exit();
  return context.port.catch_raw_exit(wanted) || !wanted;
}

void change_rule(CommandContext& context, const std::vector<std::string>& words, RuleKind kind) {
  const std::string& action = words.front();
  if (action == "list") {
    context.arguments.expect_words(1, std::string(rule_verb(kind)));
    context.text =
        context.arguments.has("--json") ? rules_json(context.state, kind) : list_rules(context.state, kind);
    return;
  }
  if (action != "delete" && action != "disable" && action != "enable") {
    fail("{} does not take \"{}\": list, delete N, disable N, enable N, or options", rule_verb(kind), action);
  }
  context.arguments.expect_words(2, std::string(rule_verb(kind)));
  const int number = rule_number(words);
  StopRule& rule = context.state.rules.get(number);
  if (rule.kind != kind)
    fail("rule {} is a {}: refhist {} {} {}", number, rule_verb(rule.kind), rule_verb(rule.kind), action,
         number);
  if (action == "delete") {
    context.state.rules.remove(number);
    context.text = fmt::format("rule {} deleted\n", number);
  } else {
    rule.enabled = action == "enable";
    context.text = fmt::format("rule {} {}d\n", number, action);
  }
  if (!keep_exit_catch(context)) fail("{} refused the catchpoint for raw exits", context.port.name());
}

void watch_raw_exit(CommandContext& context, int number) {
  if (!context.port.can_catch_raw_exit()) {
    context.text += fmt::format(
        "  {} cannot stop at a system call: after a raw exit, whatever is outstanding by the recorded events "
        "counts as leaked\n",
        context.port.name());
  } else if (!keep_exit_catch(context)) {
    context.state.rules.remove(number);
    context.text.clear();
    fail("{} refused the catchpoint for raw exits", context.port.name());
  }
}

/// The options that belong to one kind of rule.
void read_own_options(const Arguments& arguments, StopRule& rule) {
  if (rule.kind == RuleKind::count) {
    if (!arguments.has("--above"))
      fail("break-on-count needs --above N: the highest count that is no problem");
    rule.above = arguments.number("--above", 0);
    if (rule.above < 1) fail("--above must be 1 or more, not {}", rule.above);
  }
  if (rule.names_event()) {
    rule.number_of_event = arguments.number("--number", 0);
    rule.generation = arguments.number("--generation", 0);
    if (!rule.object || rule.number_of_event < 1)
      fail(
          "{} needs #NUMBER from a history, or --object ADDR and --number N: the Nth line of that object's "
          "history",
          rule_verb(rule.kind));
    if (rule.generation < 0) fail("--generation must be 1 or more, not {}", rule.generation);
  }
}

/// "0x1000-0x1040" each.
std::vector<AddressRange> blocks_named(CommandContext& context) {
  std::vector<AddressRange> blocks;
  for (const std::string& word : context.arguments.all("--through")) {
    const std::vector<std::string> ends = split(word, '-');
    if (ends.size() != 2) fail("--through needs FIRST-END, two addresses, not {}", word);
    blocks.push_back({address_named(context, ends[0]), address_named(context, ends[1])});
    if (blocks.back().begin >= blocks.back().end) fail("--through {}: the block is empty", word);
  }
  return blocks;
}

FollowOrder follow_order(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  FollowOrder order;
  order.function = arguments.value("--in");
  order.through = blocks_named(context);
  order.expect = arguments.value("--sum");
  order.file = user_path(arguments.value("--save"));
  for (const Follow what : kAllFollows) {
    if (what == Follow::call || !arguments.has(std::string(follow_option(what)))) continue;
    if (order.what != Follow::call)
      fail("{} and {} exclude each other", follow_option(order.what), follow_option(what));
    order.what = what;
  }
  if (order.what == Follow::store) order.word = address_named(context, arguments.value("--stored"));
  if (order.what != Follow::loss && !order.through.empty()) fail("--through needs --lost");
  return order;
}

/// "#352", as a history prints it: the same event of the same object in the next run.
void read_event(const CommandContext& context, const std::string& word, StopRule& rule) {
  const History& history = context.state.history;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size())
    fail("{} is not an event: expected # and an event number from a history", word);
  if (number >= history.event_count())
    fail("there is no event {} yet: refhist ADDR lists those of an object", word);
  const EventId id(static_cast<std::uint32_t>(number));
  if (!history.log().contains(id)) fail("event {} has been summarized: refhist show keep says why", word);
  const ObjectId object = history.event(id).object;
  if (history.folded_events(object) != nullptr)
    fail("some events of the object of {} have been summarized: which of them it is can no longer be told",
         word);
  rule.object = history.object(object).address;
  rule.generation = history.object(object).generation;
  rule.number_of_event = number_in_history(context.state, id);
  rule.families = {context.state.family_name(history.object(object).family)};
  if (rule.follow) {
    rule.follow->expect = history_sum(context.state, object, id);
    if (rule.follow->function.empty())
      rule.follow->function = context.state.namer.owner(history.event(id)).function;
  }
}

void run_rule(CommandContext& context, RuleKind kind) {
  const Arguments& arguments = context.arguments;
  StopRule rule;
  rule.kind = kind;
  const bool names_event =
      rule.names_event() && arguments.words().size() == 1 && arguments.words().front().starts_with('#');
  if (!arguments.words().empty() && !names_event) return change_rule(context, arguments.words(), kind);
  if (context.port.process().state == ProcessState::running)
    fail("the program is running: interrupt it first");
  rule.families = arguments.all("--family");
  for (const std::string& glob : rule.families) {
    const std::vector<std::string> names = context.state.tracked_names();
    const bool known = is_glob(glob) || std::find(names.begin(), names.end(), glob) != names.end();
    if (!known && !names.empty()) fail("{} is not tracked{}", glob, suggestion(glob, names));
  }
  if (arguments.has("--object")) rule.object = address_named(context, arguments.value("--object"));
  rule.after = arguments.value("--after");
  rule.reachable = arguments.has("--reachable");
  rule.raw_exit = arguments.has("--raw-exit");
  if (rule.raw_exit && !rule.after.empty())
    fail("--raw-exit is about the end of the program: leave out --after");
  rule.expect = arguments.number("--expect", 0);
  if (arguments.has("--expect") && rule.after.empty())
    fail("--expect needs --after FN: it is the net change of one call");
  if (kind == RuleKind::follow) rule.follow = follow_order(context);
  if (names_event) {
    read_event(context, arguments.words().front(), rule);
  } else {
    read_own_options(arguments, rule);
  }
  if (rule.follow && rule.follow->function.empty())
    fail("follow needs --in FUNCTION: the function on the event's stack whose call is followed");
  const StopRule& added = context.state.rules.add(rule);
  context.text = fmt::format("rule {}: {}\n", added.number, added.describe());
  if (added.raw_exit) return watch_raw_exit(context, added.number);
  if (added.after.empty()) return;
  if (!context.state.alive) context.state.modules.update(context.port);
  const std::string unseen = context.tracker.watch_functions(context.port);
  if (unseen == added.after && context.state.alive) {
    const int number = added.number;
    const std::string near = context.tracker.nearest_function(unseen);
    context.state.rules.remove(number);
    context.text.clear();
    fail("no function {} in the loaded modules{}", unseen, near);
  }
  if (unseen == added.after)
    context.text +=
        fmt::format("  {} is not loaded yet: checked once a module that has it is loaded\n", unseen);
}

}  // namespace

void run_break_on_leak(CommandContext& context) { run_rule(context, RuleKind::leak); }

void run_break_on_imbalance(CommandContext& context) {
  run_rule(context, RuleKind::imbalance);
  context.tracker.apply_rules(context.port);
}

void run_break_on_count(CommandContext& context) {
  run_rule(context, RuleKind::count);
  context.tracker.apply_rules(context.port);
}

void run_break_on_event(CommandContext& context) {
  run_rule(context, RuleKind::event);
  context.tracker.apply_rules(context.port);
}

void run_follow(CommandContext& context) {
  run_rule(context, RuleKind::follow);
  context.tracker.apply_rules(context.port);
}

void run_break_on_put_to_zero(CommandContext& context) {
  run_rule(context, RuleKind::put_to_zero);
  context.tracker.apply_rules(context.port);
}

}  // namespace refhist
