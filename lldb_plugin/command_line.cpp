#include "command_line.h"

#include <string_view>

namespace refhist {

namespace {
std::string quoted(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

bool needs_quotes(std::string_view word) {
  return word.empty() || word.find_first_of(" \t\n\"'\\") != std::string_view::npos;
}
}  // namespace

std::string join_words(const char* const* words) {
  std::string line;
  for (; words != nullptr && *words != nullptr; ++words) {
    if (!line.empty()) line += ' ';
    line += needs_quotes(*words) ? quoted(*words) : *words;
  }
  return line;
}

}  // namespace refhist
