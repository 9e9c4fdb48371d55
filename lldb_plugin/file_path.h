#pragma once

#include <lldb/API/LLDB.h>

#include <string>

namespace refhist {

/// Full path of a file as LLDB knows it; empty when it has none.
std::string path_of(const lldb::SBFileSpec& file);

}  // namespace refhist
