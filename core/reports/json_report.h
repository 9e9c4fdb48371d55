// The same reports as JSON, schema refhist/1 (docs/json.md). Addresses are "0x…" strings.
#pragma once

#include <string>
#include <vector>

#include "port/debugger_port.h"
#include "reports/check.h"
#include "session/session_state.h"

namespace refhist {

inline constexpr const char* kJsonSchema = "refhist/1";

struct ObjectsJsonOptions {
  std::size_t most;  ///< events of each that are listed
  EventId moment;    ///< as they stood when all events before this one had happened; invalid: as they are
  bool references = false;  ///< of each, its references as well
};
std::string objects_json(SessionState& state, const std::vector<ObjectId>& objects,
                         const ObjectsJsonOptions& options);
std::string check_json(const Check& check);
/// The whole session: the program, what was armed, the findings; its last key says whether it is complete.
std::string session_json(const Check& check);
std::string leaks_json(SessionState& state, const FindingFilter& filter, const std::string& suppressions);
std::string status_json(SessionState& state, DebuggerPort& port);
std::string rules_json(const SessionState& state, RuleKind kind);

}  // namespace refhist
