// Which debugger runs the program, together with refhist's part for it.
#pragma once

#include <string>

#include "runner/own_files.h"

namespace refhist {

struct DebuggerChoice {
  std::string name;       ///< "gdb" or "lldb"
  std::string path;       ///< its program
  std::string extension;  ///< refhist's part that it loads
};

/// `wanted` is "gdb", "lldb", or empty: whichever is there, gdb first. Throws Error that says what is
/// missing.
DebuggerChoice choose_debugger(const std::string& wanted, const OwnFiles& files);

}  // namespace refhist
