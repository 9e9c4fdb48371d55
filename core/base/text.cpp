#include "base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/error.h"

namespace refhist {

bool is_glob(std::string_view pattern) { return pattern.find_first_of("*?") != std::string_view::npos; }

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<std::size_t> before_last(a.size() + 1);
  std::vector<std::size_t> last(a.size() + 1);
  std::vector<std::size_t> row(a.size() + 1);
  for (std::size_t i = 0; i <= a.size(); ++i) row[i] = i;
  for (std::size_t j = 1; j <= b.size(); ++j) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      const std::size_t substituted = last[i - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[i] = std::min({row[i - 1] + 1, last[i] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[i] = std::min(row[i], before_last[i - 2] + 1);
    }
  }
  return std::min(row[a.size()], limit + 1);
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::size_t best = limit + 1;
  std::optional<std::string> result;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate, limit);
    if (distance < best) {
      best = distance;
      result = candidate;
    }
  }
  return result;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const auto found = nearest(word, candidates);
  return found ? fmt::format(" (did you mean {}?)", *found) : std::string();
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) fail("unclosed {} in the command: close it or put a backslash before it", quote);
  if (in_word) words.push_back(std::move(word));
  return words;
}

bool is_identifier_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool has_whole_word(std::string_view text, std::string_view word) {
  const auto is_part = [&](std::size_t at) { return at < text.size() && is_identifier_character(text[at]); };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + word.size())) return true;
  }
  return false;
}

std::string quoted_word(const std::string& text) { return "'" + replace_all(text, "'", "'\\''") + "'"; }

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string some_of(std::vector<std::string> words, std::size_t most) {
  const std::size_t all = words.size();
  if (all <= most) return join(words, ", ");
  words.resize(most);
  return fmt::format("{} and {} more", join(words, ", "), all - most);
}

std::string replace_all(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string plural(std::size_t n, std::string_view noun) {
  if (n == 1) return fmt::format("1 {}", noun);
  const bool hissing = noun.ends_with('s') || noun.ends_with("ch") || noun.ends_with('x');
  if (noun.ends_with('y') && !noun.ends_with("ey")) {
    return fmt::format("{} {}ies", n, noun.substr(0, noun.size() - 1));
  }
  return fmt::format("{} {}{}", n, noun, hissing ? "es" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 10240) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (!unit.empty() && kUnits.find(unit.front()) != std::string_view::npos) {
    shift = 10 * static_cast<unsigned>(kUnits.find(unit.front()) + 1);
    unit.remove_prefix(1);
  }
  if (!(unit.empty() || unit == "B" || unit == "iB")) return std::nullopt;
  const double bytes = number * static_cast<double>(std::uint64_t{1} << shift);
  if (!(bytes < 9e18)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace refhist
