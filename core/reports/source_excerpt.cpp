#include "reports/source_excerpt.h"

#include <algorithm>

#include "base/source_lines.h"

namespace refhist {

namespace {
constexpr unsigned kAround = 5;
constexpr std::size_t kLongest = 300;  // characters of a line
}  // namespace

std::optional<SourceExcerpt> source_excerpt(const std::string& file, unsigned line) {
  const std::vector<std::string> lines = source_lines(file);
  if (line == 0 || line > lines.size()) return std::nullopt;
  SourceExcerpt excerpt;
  excerpt.first = line > kAround ? line - kAround : 1;
  for (std::size_t number = excerpt.first; number <= std::min<std::size_t>(line + kAround, lines.size());
       ++number)
    excerpt.lines.push_back(lines[number - 1].substr(0, kLongest));
  return excerpt;
}

}  // namespace refhist
