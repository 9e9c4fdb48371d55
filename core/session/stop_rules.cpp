#include "session/stop_rules.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace refhist {

std::string_view rule_verb(RuleKind kind) {
  switch (kind) {
    case RuleKind::leak:
      return "break-on-leak";
    case RuleKind::imbalance:
      return "break-on-imbalance";
    case RuleKind::put_to_zero:
      return "break-on-put-to-zero";
    case RuleKind::count:
      return "break-on-count";
    case RuleKind::event:
      return "break-on-event";
    case RuleKind::follow:
      return "follow";
  }
  return {};
}

bool StopRule::wants_family(const std::string& name) const {
  return families.empty() || std::any_of(families.begin(), families.end(),
                                         [&](const std::string& glob) { return glob_match(glob, name); });
}

std::string StopRule::describe() const {
  std::string text(rule_verb(kind));
  for (const std::string& family : families) text += fmt::format(" --family {}", family);
  if (object) text += fmt::format(" --object {:#x}", *object);
  if (kind == RuleKind::count) text += fmt::format(" --above {}", above);
  if (names_event()) text += fmt::format(" --number {}", number_of_event);
  if (generation != 0) text += fmt::format(" --generation {}", generation);
  if (!after.empty()) text += fmt::format(" --after {}", after);
  if (expect != 0) text += fmt::format(" --expect {}", expect);
  if (reachable) text += " --reachable";
  if (raw_exit) text += " --raw-exit";
  if (follow) text += fmt::format(" --in {}", follow->function);
  if (follow && follow->what != Follow::call) text += fmt::format(" {}", follow_option(follow->what));
  if (follow && follow->what == Follow::store) text += fmt::format(" {:#x}", follow->word);
  return text;
}

std::string StopRule::status() const {
  std::string text = fmt::format("{}, {}", describe(), plural(hits, "hit"));
  if (undecided != 0)
    text += fmt::format(", {} not checked: events were lost meanwhile", plural(undecided, "call"));
  return text + (enabled ? "" : " (disabled)");
}

StopRule& StopRules::add(StopRule rule) {
  rule.number = next_++;
  rules_.push_back(std::move(rule));
  return rules_.back();
}

StopRule& StopRules::get(int number) {
  for (StopRule& rule : rules_) {
    if (rule.number == number) return rule;
  }
  fail("no stop rule {}: refhist status lists them", number);
}

void StopRules::remove(int number) {
  get(number);
  std::erase_if(rules_, [&](const StopRule& rule) { return rule.number == number; });
}

bool StopRules::any_enabled(RuleKind kind) const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const StopRule& rule) { return rule.enabled && rule.kind == kind; });
}

bool StopRules::any_for_raw_exit() const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [](const StopRule& rule) { return rule.enabled && rule.raw_exit; });
}

}  // namespace refhist
