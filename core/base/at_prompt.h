// Is somebody there who types commands?
#pragma once

#include <string>
#include <vector>

namespace refhist {

/// This process, a debugger, serves a person at a terminal or an editor: nobody expects it to end with a
/// status. Not so when it runs a script and ends (-batch of GDB, -b of LLDB), or reads commands from a pipe.
bool at_prompt();
/// The same by its arguments, the program's name first, and whether its input is a terminal.
bool at_prompt(const std::vector<std::string>& arguments, bool terminal);

}  // namespace refhist
