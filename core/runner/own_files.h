// Where the parts of refhist lie that refhist-run needs: beside it in the build folder, or installed.
#pragma once

#include <string>

namespace refhist {

struct OwnFiles {
  std::string gdb_extension;  ///< refhist.py
  std::string lldb_plugin;    ///< librefhist_lldb.so
  std::string shell;          ///< refhist-exec
};

/// Throws Error when the shell is missing; what a debugger needs may be empty.
OwnFiles find_own_files();

/// The file that runs when this program is started: itself, or the interpreter that its first line names.
std::string runs_as(const std::string& program);

/// The program by this name: a path, or found in PATH. Empty when there is none that can be executed.
std::string find_program(const std::string& name);

}  // namespace refhist
