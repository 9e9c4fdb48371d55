// What the debugger did not take of the script that refhist-run gives it.
#pragma once

#include <optional>
#include <string>

namespace refhist {

/// "--track FOO: no family is named FOO", when the user's own words in the script were refused. `log`: what
/// the debugger printed.
std::optional<std::string> refused_order(const std::string& script, const std::string& log);

}  // namespace refhist
