// Line numbers that make a debugger step through code, and finish into it, without showing it to the user.
// There is no source: each debugger has a kind of line of its own where it does not stop.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.h"
#include "port/debugger_port.h"

namespace refhist {

/// Contents of the sections of the same names, DWARF 4.
struct CodeLines {
  std::vector<std::uint8_t> debug_abbrev;
  std::vector<std::uint8_t> debug_info;
  std::vector<std::uint8_t> debug_line;
};

/// Of the code in [begin, end), addresses in the file.
CodeLines make_code_lines(Address begin, Address end, DebuggerPort::PassedLine line);

}  // namespace refhist
