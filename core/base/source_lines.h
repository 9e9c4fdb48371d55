// The lines of a source file.
#pragma once

#include <string>
#include <vector>

namespace refhist {

/// Without their ends. Empty when the file is not there, cannot be read or is larger than 32 MiB.
std::vector<std::string> source_lines(const std::string& file);

}  // namespace refhist
