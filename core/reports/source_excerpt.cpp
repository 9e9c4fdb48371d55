#include "reports/source_excerpt.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/input_file.h"

namespace refhist {

namespace {
constexpr unsigned kAround = 5;
constexpr std::size_t kLongest = 300;  // characters of a line
constexpr std::uint64_t kLargestSource = std::uint64_t{32} << 20;
}  // namespace

std::optional<SourceExcerpt> source_excerpt(const std::string& file, unsigned line) {
  if (line == 0) return std::nullopt;
  std::istringstream source;
  try {
    source.str(InputFile(file).text(kLargestSource));
  } catch (const Error&) {
    return std::nullopt;
  }
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
