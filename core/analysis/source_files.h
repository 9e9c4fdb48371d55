// Source files, each read once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/source_lines.h"

namespace refhist {

class SourceFiles {
 public:
  /// As source_lines has them. Valid as long as this object.
  const std::vector<std::string>& lines_of(const std::string& file) {
    const auto [entry, added] = files_.try_emplace(file);
    if (added) entry->second = source_lines(file);
    return entry->second;
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace refhist
