#include "analysis/jump_statement.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"

namespace refhist {

namespace {

constexpr unsigned kFarthest = 20;  // lines

template <std::size_t N>
bool begins_with_word(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.starts_with(word) &&
           (text.size() == word.size() || !is_identifier_character(text[word.size()]));
  });
}

constexpr std::array<std::string_view, 4> kJumps{"continue", "break", "goto", "return"};

bool jumps(std::string_view text) { return begins_with_word(text, kJumps); }

/// Anywhere in the line: `if (full) return -1;`
bool has_jump(std::string_view text) {
  return std::any_of(kJumps.begin(), kJumps.end(),
                     [&](std::string_view word) { return has_whole_word(text, word); });
}

/// It ends the statements that follow on each other.
bool parts(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kWords{"if",   "else",    "for",    "while",
                                                          "case", "default", "switch", "do"};
  return text.starts_with('}') || text.starts_with('{') || begins_with_word(text, kWords);
}

/// Blank lines and comments, over several lines too.
bool says_nothing(std::string_view text, bool& comment) {
  if (comment) {
    comment = text.find("*/") == std::string_view::npos;
    return true;
  }
  if (text.starts_with("/*")) {
    const std::size_t end = text.find("*/", 2);
    comment = end == std::string_view::npos;
    return comment || trim(text.substr(end + 2)).empty();
  }
  return text.empty() || text.starts_with("//");
}

}  // namespace

bool has_way_out(std::string_view line) { return has_jump(line) || has_whole_word(line, "throw"); }

std::optional<unsigned> JumpStatements::behind(const std::string& file, unsigned line,
                                               const std::set<unsigned>& compiled) {
  const std::vector<std::string>& lines = files_.lines_of(file);
  if (line == 0 || line > lines.size() || has_jump(lines[line - 1])) return std::nullopt;
  bool comment = false;
  bool first = true;
  int left_out = 0;                    // how deep in #if: what has no code there was not compiled
  bool either = false;                 // an #else: one of both was compiled
  std::optional<unsigned> uncompiled;  // the first jump there
  for (unsigned at = line + 1; at <= lines.size() && at <= line + kFarthest; ++at) {
    const std::string_view text = trim(lines[at - 1]);
    if (says_nothing(text, comment)) continue;
    if (text.starts_with('#')) {
      const std::string_view directive = trim(text.substr(1));
      if (directive.starts_with("if")) ++left_out;
      if (directive.starts_with("endif")) --left_out;
      either |= directive.starts_with("el");
      continue;
    }
    if (std::exchange(first, false) && text == "{") continue;  // of the line's own `if`
    if (jumps(text) && (left_out == 0 || compiled.contains(at))) return at;
    // Code that another way has too stands there, under the other one's line.
    const bool none = !compiled.empty() && !compiled.contains(at);
    if (jumps(text) && !uncompiled) uncompiled = at;
    if (!none) return std::nullopt;
    if (left_out == 0 && parts(text)) return either ? uncompiled : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace refhist
