#include "runner/coloured.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "history/history.h"

namespace refhist {

namespace {

constexpr const char* kRed = "\x1b[1;31m";
constexpr const char* kGrey = "\x1b[2m";
constexpr const char* kPlain = "\x1b[0m";

std::string coloured_line(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon != std::string::npos && verdict_from_name(line.substr(0, colon)))
    return kRed + line.substr(0, colon) + kPlain + line.substr(colon);
  if (line.starts_with("refhist check: failed")) return kRed + line + kPlain;
  return line.starts_with("note: ") ? kGrey + line + kPlain : line;
}

}  // namespace

std::string coloured(const std::string& report) {
  std::vector<std::string> lines;
  for (const std::string& line : split(report, '\n')) lines.push_back(coloured_line(line));
  return join(lines, "\n");
}

bool wants_colour(int file) {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (none != nullptr && *none != '\0') return false;
  return isatty(file) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace refhist
