// Where the parts of refhist lie that refhist-run needs: beside it in the build folder, or installed.
#pragma once

#include <string>
#include <vector>

namespace refhist {

struct LldbPlugin {
  int version = 0;   ///< major version of the LLDB that it is built for
  std::string path;  ///< librefhist_lldb.so
};

struct OwnFiles {
  std::string gdb_extension;             ///< refhist.py
  std::vector<LldbPlugin> lldb_plugins;  ///< the newest first
  std::string shell;                     ///< refhist-exec
};

/// The folder of the shipped families; empty when it is missing.
std::string find_families();

/// Throws Error when the shell is missing; what a debugger needs may be empty.
OwnFiles find_own_files();

/// The file that runs when this program is started: itself, or the interpreter that its first line names.
std::string runs_as(const std::string& program);

/// The program by this name: a path, or found in PATH. Empty when there is none that can be executed.
std::string find_program(const std::string& name);

}  // namespace refhist
