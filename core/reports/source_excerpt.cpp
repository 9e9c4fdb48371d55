#include "reports/source_excerpt.h"

#include <algorithm>
#include <fstream>

namespace refhist {

namespace {
constexpr unsigned kAround = 5;
constexpr std::size_t kLongest = 300;  // characters of a line
}  // namespace

std::optional<SourceExcerpt> source_excerpt(const std::string& file, unsigned line) {
  std::ifstream source(file);
  if (!source || line == 0) return std::nullopt;
  SourceExcerpt excerpt;
  excerpt.first = line > kAround ? line - kAround : 1;
  std::string text;
  for (unsigned number = 1; number <= line + kAround && std::getline(source, text); ++number) {
    if (number >= excerpt.first) excerpt.lines.push_back(text.substr(0, kLongest));
  }
  const bool reaches = excerpt.first + excerpt.lines.size() > line;
  return reaches ? std::optional(excerpt) : std::nullopt;
}

}  // namespace refhist
