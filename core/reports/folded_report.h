// Stacks with a number, a line each, for flame graphs: "main;open;conn_new 3".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reports/findings.h"
#include "session/session_state.h"

namespace refhist {

/// What is counted: objects by the stack of their birth, or events by theirs.
enum class Folded { leaked, live, events };
std::optional<Folded> folded_from_name(std::string_view name);

std::string folded_report(SessionState& state, const FindingFilter& filter, Folded what);

}  // namespace refhist
