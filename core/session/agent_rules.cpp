#include "session/agent_rules.h"

#include <algorithm>
#include <cstdint>

#include "agent/agent_abi.h"

namespace refhist {

namespace {

void add_watch(AgentWatch& watch, const StopRule& rule) {
  switch (rule.kind) {
    case RuleKind::imbalance:
      watch.flags |= agent::kWatchBalance;
      break;
    case RuleKind::put_to_zero:
      watch.flags |= agent::kWatchZero;
      break;
    case RuleKind::count: {
      const auto above = static_cast<std::int32_t>(std::min<std::int64_t>(rule.above, INT32_MAX));
      watch.above = (watch.flags & agent::kWatchCount) != 0 ? std::min(watch.above, above) : above;
      watch.flags |= agent::kWatchCount;
      break;
    }
    case RuleKind::event:
    case RuleKind::follow: {
      const bool other = watch.each != 0 && watch.each != *rule.object;
      watch.each = other ? agent::kEveryObject : *rule.object;
      watch.flags |= agent::kWatchEach;
      break;
    }
    case RuleKind::leak:
      break;
  }
}

}  // namespace

AgentWatch watch_for(const StopRules& rules, const Family& family) {
  AgentWatch watch;
  bool every_object = false;
  for (const StopRule& rule : rules.all()) {
    if (!rule.enabled || rule.kind == RuleKind::leak || !rule.after.empty()) continue;
    // Memory that is given back may hold objects of any family.
    const bool about_memory = rule.kind == RuleKind::imbalance || rule.names_event();
    if (family.allocator ? !about_memory : !rule.wants_family(family.name)) continue;
    add_watch(watch, rule);
    if (rule.names_event()) continue;
    every_object = every_object || !rule.object || (watch.only != 0 && watch.only != *rule.object);
    watch.only = rule.object.value_or(0);
  }
  if (every_object || family.allocator) watch.only = 0;
  return watch;
}

}  // namespace refhist
