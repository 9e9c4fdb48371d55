// SB API classes are laid out for one major version: the plugin runs only in the LLDB it was built for.
#pragma once

#include <string>

namespace refhist {

/// One line that says why this LLDB cannot run the plugin, and what to do; empty when it can.
/// `host_version` is what SBDebugger::GetVersionString() says.
std::string version_problem(const std::string& host_version);

}  // namespace refhist
