#include "base/printable.h"

#include <fmt/core.h>

#include <algorithm>

namespace refhist {

namespace {

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80;
}

char32_t character_at(std::string_view text, std::size_t at, std::size_t length) {
  if (length == 1) return static_cast<unsigned char>(text[at]);
  char32_t code = static_cast<unsigned char>(text[at]) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i)
    code = code << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  return code;
}

/// Marks of direction, separators of lines, and codes that are no characters.
bool is_unfit(char32_t code) {
  return (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff ||
         (code & 0xfffeU) == 0xfffe;
}

bool is_plain(char c) { return c >= ' ' && c < '\x7f'; }

std::string escaped(std::string_view text, std::string_view allowed) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t length = length_of_character(text, at);
    const char32_t code = length == 0 ? 0 : character_at(text, at, length);
    if (is_plain(c) || allowed.find(c) != std::string_view::npos) {
      result += c;
    } else if (length < 2 && byte != 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (!is_unfit(code)) {
      result += text.substr(at, length);
    } else {
      result += code > 0xffff ? fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(code))
                              : fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
    }
    at += std::max<std::size_t>(length, 1);
  }
  return result;
}

std::string fit(std::string_view text, std::string_view allowed) {
  const bool plain = std::all_of(text.begin(), text.end(), [&](char c) {
    return is_plain(c) || allowed.find(c) != std::string_view::npos;
  });
  return plain ? std::string(text) : escaped(text, allowed);
}

}  // namespace

std::size_t length_of_character(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return 1;
  const std::size_t length = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
  if (length == 0 || byte >= 0xf5) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text, at + i)) return 0;
  }
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const bool overlong = (byte == 0xe0 && second < 0xa0) || (byte == 0xf0 && second < 0x90);
  const bool surrogate = byte == 0xed && second >= 0xa0;
  const bool beyond = byte == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

std::string printable(std::string_view text) { return fit(text, "\n\t"); }

std::string one_line(std::string_view text) { return fit(text, {}); }

}  // namespace refhist
