// What is to be known of a family before its sites are armed: that nobody else claims its functions, that
// they exist, and where its counter is.
#pragma once

#include <string>
#include <vector>

#include "session/session_state.h"

namespace refhist {

/// Throws Error when a family of that name is tracked, or one that has one of its functions.
void check_conflicts(const SessionState& state, const Family& family);
/// Throws Error for a function typed on the command line that is misspelt; else appends a line for those that
/// no loaded module has.
void check_functions(const SessionState& state, const TrackedFamily& tracked, bool libraries_there,
                     std::vector<std::string>& notes);
/// Finds the counter in the modules that are loaded, or says in the family why it cannot be read. Throws
/// Interrupted.
void resolve_family(const SessionState& state, TrackedFamily& tracked);
/// The same where no command can fail: a counter that was not found because of Ctrl-C is noted.
void resolve_again(const SessionState& state, TrackedFamily& tracked);

}  // namespace refhist
