// What the stop rules mean for a family's sites in the program.
#pragma once

#include "agent_host/agent_watch.h"
#include "families/family.h"
#include "session/stop_rules.h"

namespace refhist {

AgentWatch watch_for(const StopRules& rules, const Family& family);

}  // namespace refhist
