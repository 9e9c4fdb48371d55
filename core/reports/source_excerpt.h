// A few lines of a source file around one of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace refhist {

struct SourceExcerpt {
  unsigned first = 0;  ///< number of the first line
  std::vector<std::string> lines;
};

/// Nothing when the file is not there or is shorter than that.
std::optional<SourceExcerpt> source_excerpt(const std::string& file, unsigned line);

}  // namespace refhist
