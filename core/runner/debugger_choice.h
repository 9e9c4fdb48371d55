// Which debugger runs the program, together with refhist's part for it.
#pragma once

#include <string>

#include "runner/own_files.h"

namespace refhist {

struct DebuggerChoice {
  std::string name;       ///< "gdb" or "lldb"
  std::string path;       ///< its program
  std::string extension;  ///< refhist's part that it loads
  int lldb_version = 0;   ///< LLDB's major version
};

/// `wanted` is "gdb", "lldb", or empty: whichever is there, gdb first. Throws Error that says what is
/// missing.
DebuggerChoice choose_debugger(const std::string& wanted, const OwnFiles& files);

/// Where an LLDB that is installed has its Python modules; empty when they are in none of the usual places.
/// LLDB 14 of Debian 12 looks for them where they are not.
std::string python_modules_of(const std::string& lldb);

}  // namespace refhist
