// File names as users type them.
#pragma once

#include <string>

namespace refhist {

/// The absolute path: "~/" is the home folder, other names are relative to the debugger's working folder.
std::string user_path(const std::string& path);

}  // namespace refhist
