#include "base/source_lines.h"

#include <cstdint>
#include <sstream>

#include "base/error.h"
#include "base/input_file.h"

namespace refhist {

std::vector<std::string> source_lines(const std::string& file) {
  constexpr std::uint64_t kLargest = std::uint64_t{32} << 20;
  std::vector<std::string> lines;
  std::istringstream source;
  try {
    source.str(InputFile(file).text(kLargest));
  } catch (const Error&) {
    return lines;
  }
  for (std::string line; std::getline(source, line);) lines.push_back(std::move(line));
  return lines;
}

}  // namespace refhist
