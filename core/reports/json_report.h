// The same reports as JSON, schema refhist/1 (docs/json.md). Addresses are "0x…" strings.
#pragma once

#include <string>
#include <vector>

#include "port/debugger_port.h"
#include "reports/findings.h"
#include "session/session_state.h"

namespace refhist {

std::string objects_json(SessionState& state, const std::vector<ObjectId>& objects);
std::string findings_json(SessionState& state, const std::vector<ReportedFinding>& findings);
std::string leaks_json(SessionState& state, const FindingFilter& filter);
std::string status_json(SessionState& state, DebuggerPort& port);
std::string rules_json(const SessionState& state, RuleKind kind);

}  // namespace refhist
