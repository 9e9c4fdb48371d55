#pragma once

#include <lldb/API/LLDB.h>

#include <string_view>

namespace refhist {

/// Writes the text, with a newline behind it unless it has one, and flushes.
void write_line(lldb::SBFile file, std::string_view text);

}  // namespace refhist
